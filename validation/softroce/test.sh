#!/usr/bin/env bash
# test.sh [FILTER]: builds the verbs tests and runs them on Soft-RoCE, both sides in one guest, and one side in each of two guests.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need cargo=cargo
"$here/image.sh" >/dev/null
cd "$root"
program=$(cargo test --quiet -p validation --features verbs --test verbs --no-run --message-format=json |
  sed -n 's/.*"name":"verbs".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
[ -n "$program" ] || die "cargo made no test program"
cp "$program" "$cache/verbs-tests"
filter=${1:-}

printf '== one guest\n'
"$here/run.sh" -n 1 -t 240 -f "$cache/verbs-tests" "./verbs-tests $filter"
printf '== two guests\n'
# shellcheck disable=SC2016 # for the guest's shell
"$here/run.sh" -n 2 -t 240 -f "$cache/verbs-tests" \
  'if [ $NODE = 0 ]; then ./verbs-tests --listen 7100 '"$filter"'; else ./verbs-tests --connect $PEER:7100 '"$filter"'; fi'
