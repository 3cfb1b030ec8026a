#!/usr/bin/env bash
# latency.sh [BYTES [ITERATIONS [RUNS]]]: what ib_send_lat (Debian's perftest) measures between two guests, half of a round trip in microseconds: one
# line for each run. The message layer is compared with it in the same guests.
#
# Columns: run, bytes, iterations, minimum, typical (median), average. Both sides poll.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
bytes=${1:-8} iterations=${2:-2000} runs=${3:-5}

# shellcheck disable=SC2016 # for the guest's shell
command='i=0
while [ $i -lt '"$runs"' ]; do
  i=$((i + 1))
  peer=$PEER
  if [ $NODE = 0 ]; then peer=; else sleep 1; fi
  timeout 100 ib_send_lat -d $DEVICE -x 1 -s '"$bytes"' -n '"$iterations"' -p $((18000 + i)) $peer >/tmp/out 2>&1 || { cat /tmp/out; exit 1; }
  if [ $NODE = 1 ]; then
    awk -v run=$i '"'"'$1 == '"$bytes"' && NF >= 9 { print run, $1, $2, $3, $5, $6 }'"'"' /tmp/out
  fi
done'
output=$("$here/run.sh" -n 2 -t $((60 + 60 * runs)) "$command") || {
  printf '%s\n' "$output" >&2
  die "ib_send_lat failed in the guests"
}
printf 'run,bytes,iterations,min_us,typical_us,average_us\n'
printf '%s\n' "$output" | awk 'NF == 6 && $1 ~ /^[0-9]+$/ { print $1 "," $2 "," $3 "," $4 "," $5 "," $6 }'
