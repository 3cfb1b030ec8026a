#!/usr/bin/env bash
# latency.sh [-d] [-a] [-f FILE]... [-x COMMAND]... [BYTES [ITERATIONS [RUNS]]]
#
# What a SEND costs between two guests, half of a round trip in microseconds, with both sides polling, as CSV: `ib_send_lat` (Debian's perftest) and our
# own ping-pong on the trait `Verbs`, alternated. Compare minima: averages are full of the host's preemptions.
#
#   -a   `apps/pingpong` too, over our message layer: rank 0 runs in the second guest, where the launcher sleeps
#   -x   another program to compare with, as a command for the guests with BYTES and ITERATIONS in it; node 1 prints
#        "bytes,iterations,minimum,typical,average". PORT is a free one, and NODE, PEER and DEVICE are set.
#   -f   a file for it
#   -d   our ping-pong as built for tests: that takes less time to build
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
files=() others=() profile=release app=
while getopts adf:x: option; do
  case $option in
    a) app=1 ;;
    d) profile=dev ;;
    f) files+=(-f "$OPTARG") ;;
    x) others+=("$OPTARG") ;;
    *) die "see the head of $0" ;;
  esac
done
shift $((OPTIND - 1))
bytes=${1:-8} iterations=${2:-1000} runs=${3:-5}
need cargo=cargo
"$here/image.sh" >/dev/null
cd "$root"
cargo build --quiet --profile "$profile" -p simrun-real --features verbs --example verbs_pingpong
files+=(-f "${CARGO_TARGET_DIR:-target}/${profile/dev/debug}/examples/verbs_pingpong")
if [ -n "$app" ]; then
  cargo build --quiet --profile "$profile" -p pingpong --features simrun/verbs
  files+=(-f "${CARGO_TARGET_DIR:-target}/${profile/dev/debug}/pingpong")
  # Each guest starts its own rank; the first is where `ib_send_lat` has its client.
  # shellcheck disable=SC2016 # for the guests' shell
  others+=('export PMI_RANK=$((1 - NODE)) PMI_SIZE=2 PMI_JOBID=latency MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1 SIMRUN_BOOTSTRAP_FILE=/shared/meeting-$PORT
./pingpong real --backend verbs --device $DEVICE --wait spin --listen $ME -q --prefix-rank=false -- --sizes $BYTES --repetitions $ITERATIONS >/tmp/table &&
awk -v bytes=$BYTES -v iterations=$ITERATIONS '"'"'$3 == "us" { print bytes "," iterations "," $4 "," $6 "," $2 }'"'"' /tmp/table')
fi

job=$cache/latency
rm -rf "$job"
mkdir -p "$job/shared"
cat >"$job/job" <<'GUEST'
perftest() {
  peer=
  if [ $NODE = 1 ]; then peer=$PEER; sleep 1; fi
  ib_send_lat -d $DEVICE -x 1 -s $BYTES -n $ITERATIONS -p $PORT $peer >/tmp/perftest 2>&1 || { cat /tmp/perftest; return 1; }
  [ $NODE = 0 ] || awk -v bytes=$BYTES '$1 == bytes && NF >= 9 { print $1 "," $2 "," $3 "," $5 "," $6 }' /tmp/perftest
}
ours() {
  if [ $NODE = 0 ]; then to="--listen $PORT"; else to="--connect $PEER:$PORT"; fi
  ./verbs_pingpong --device $DEVICE --bytes $BYTES --iterations $ITERATIONS $to
}
once() { # once NAME COMMAND
  PORT=$((PORT + 1))
  "$2" >/tmp/line || { echo "$1 failed"; cat /tmp/line; exit 1; }
  [ $NODE = 0 ] || sed "s/^/@$1,$run,/" /tmp/line
}
PORT=18000 run=0
while [ $run -lt $RUNS ]; do
  run=$((run + 1))
  once ib_send_lat perftest
  once verbs ours
  number=0
  for other in /job/other-*; do
    [ -e "$other" ] || continue
    number=$((number + 1))
    other() { . "$other"; }
    once "other-$number" other
  done
done
GUEST
number=0
for other in ${others[@]+"${others[@]}"}; do
  number=$((number + 1))
  printf '%s\n' "$other" >"$job/other-$number"
  files+=(-f "$job/other-$number")
done
output=$("$here/run.sh" -n 2 -t $((60 + 40 * runs * (2 + ${#others[@]}))) "${files[@]}" -f "$job/job" \
  -s "$job/shared" "BYTES=$bytes ITERATIONS=$iterations RUNS=$runs; . ./job") || {
  printf '%s\n' "$output" >&2
  die "measuring failed in the guests"
}
printf 'program,run,bytes,iterations,min_us,typical_us,average_us\n'
printf '%s\n' "$output" | sed -n 's/^@//p'
