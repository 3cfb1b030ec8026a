#!/usr/bin/env bash
# test.sh [FILTER]: builds the verbs tests and runs them on Soft-RoCE, both sides in one guest, and one side in each of two guests.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need cargo=cargo
"$here/image.sh" >/dev/null
cd "$root"
program=$(cargo test --quiet -p simrun-real --features verbs --test real-verbs --no-run --message-format=json |
  sed -n 's/.*"name":"real-verbs".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
[ -n "$program" ] || die "cargo made no test program"
cp "$program" "$cache/verbs-tests"
filter=${1:-}

printf '== the harness\n'
status=0
said=$("$here/run.sh" -t 60 'echo "$NODE of $NODES"; exit 3') || status=$?
[ "$said, $status" = '0 of 1, 3' ] || die "a guest that should say '0 of 1' and exit 3: $said, $status"
status=0
"$here/run.sh" -t 5 'sleep 100' >/dev/null 2>&1 || status=$?
[ "$status" = 124 ] || die "a guest that should be stopped after 5 s: $status"

printf '== one guest\n'
"$here/run.sh" -n 1 -t 240 -f "$cache/verbs-tests" "./verbs-tests $filter"
printf '== two guests\n'
# shellcheck disable=SC2016 # for the guest's shell
"$here/run.sh" -n 2 -t 240 -f "$cache/verbs-tests" \
  'if [ $NODE = 0 ]; then ./verbs-tests --listen 7100 '"$filter"'; else ./verbs-tests --connect $PEER:7100 '"$filter"'; fi'
