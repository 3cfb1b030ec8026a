#!/usr/bin/env bash
# apps.sh [-d] [one|two]...
#
# Runs programs over verbs on Soft-RoCE, as a user would on real adapters: `apps/ring`, and `apps/conformance`, the tests that are the same on every
# device, whose lines must be those of a simulation. `apps/verbs-pingpong` uses queue pairs itself. In one guest `simrun measure`,
# `simrun compare` and `simrun fuzz` are run, too.
#
#   one   all ranks in one guest, which the launcher there starts
#   two   in two guests, of which the launcher in the first one starts ranks in both, by ssh; then as ranks of an allocation, which each guest starts
#         by itself (both without an argument)
#   -d    programs as built for tests: that takes less time to build, and more to run
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
profile=release
while getopts d option; do
  case $option in
    d) profile=dev ;;
    *) die "see the head of $0" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- one two
need cargo=cargo strip=binutils cc=gcc
"$here/image.sh" >/dev/null
cd "$root"
cargo build --quiet --profile "$profile" -p simrun-cli -p simrun-tools -p ring -p conformance -p verbs-pingpong --features simrun/verbs,simrun-tools/verbs
built=${CARGO_TARGET_DIR:-target}/${profile/dev/debug}

# In the guest the script of the job has that name.
job=$cache/apps
rm -rf "$job"
mkdir -p "$job"
cp "$here/apps-guest.sh" "$job/job"
# A guest has its programs in its memory.
for program in simrun simrun-tools ring conformance verbs-pingpong; do strip -o "$job/$program" "$built/$program"; done

# Interactions of endpoints and programs of work requests as C programs against libibverbs; the last one expects a wrong byte.
interactions=(fence-ignored remote-offset-ignored stale-remote-handle deregistration-ignored bytes-not-copied buffer-not-posted message-before-data)
for name in "${interactions[@]}"; do
  "$built/simrun-tools" fuzz --replay "crates/fuzz/regressions/interactions/$name.toml" --export "$job/$name.c" >/dev/null
done
for name in all-kinds wrong-rkey; do
  "$built/simrun-tools" fuzz --layer verbs --replay "crates/fuzz/requests/$name.toml" --export "$job/$name.c" >/dev/null
done
sed 's/(const unsigned char\[\]){[0-9]*/&+1/' "$job/remote-offset-ignored.c" >"$job/wrong.c"
exported=()
for name in "${interactions[@]}" all-kinds wrong-rkey wrong; do
  cc -O1 -Wall -Wextra -Werror -Wno-missing-field-initializers -o "$job/c-$name" "$job/$name.c" -libverbs
  exported+=(-f "$job/c-$name")
done

for where in "$@"; do
  case $where in
    one) printf '== programs in one guest\n' && nodes=1 ;;
    two) printf '== programs in two guests\n' && nodes=2 ;;
    *) die "$where: one or two" ;;
  esac
  rm -rf "$job/shared"
  mkdir "$job/shared"
  "$here/run.sh" -n "$nodes" -t 240 -s "$job/shared" -f "$job/simrun" -f "$job/simrun-tools" -f "$job/ring" -f "$job/verbs-pingpong" -f "$job/conformance" "${exported[@]}" -f platforms/cluster.toml -f "$job/job" '. ./job'
done
