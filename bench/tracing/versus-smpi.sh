#!/bin/bash
# Cost of tracing a ring of 1024 ranks, SMPI and simrun in turn, five times each: a table of medians.
# Needs smpicc and smpirun (Debian: simgrid) and `cargo build --release -p simrun-cli -p simrun-tools -p ring`.
# ./versus-smpi.sh [RUNS] [ROUNDS]
#
# Processor time (user and system) of a whole run, children included, without and with each kind of trace. The cost of a message is the difference, divided by
# the number of messages. Lines are those behind the definitions, records those of the event log, packets those of Perfetto; their bytes include definitions.
set -euo pipefail
runs=${1:-5} rounds=${2:-100} ranks=1024
here=$(cd "$(dirname "$0")" && pwd)
ours=${CARGO_TARGET_DIR:-$here/../../target}/release
export PATH="$ours:$PATH"
. "$here/../smpi.sh"
smpicc -O2 "$here/ring.c" -o "$work/ring"
crossbar $ranks lv08

# Adds user and system time: another process makes our traces.
TIMEFORMAT='%3U %3S'
sum() { awk '{ print $1 + $2 }'; }

smpi() { # options
  smpi_timed $ranks "$@" "$work/ring" "$rounds" | sum
}
simrun() { # options
  timed "$ours/ring" --platform "$work/crossbar.toml" -n $ranks "$@" -- --rounds "$rounds" | sum
}
size() { stat -c %s "$work/$1" 2> /dev/null || echo 0; }

row() { # title, name of the file, its unit, command
  local title=$1 file=$2 unit=$3 count=0
  shift 3
  : > "$work/times"
  for _ in $(seq "$runs"); do "$@" >> "$work/times"; done
  case $unit in
    lines) count=$(grep -cv '^%' "$work/$file") ;;
    records) count=$(($(size "$file") / 32)) ;;
  esac
  local now bytes
  now=$(median < "$work/times") bytes=$(size "$file")
  [ -n "$file" ] || plain=$now
  awk -v title="$title" -v now="$now" -v plain="$plain" -v bytes="$bytes" -v count="$count" -v unit="$unit" -v messages=$((ranks * rounds)) 'BEGIN {
    printf "| %s | %.2f | %.2f | %.1f | %s | %s |\n", title, now, 1e6 * (now - plain) / messages, bytes / messages,
      count ? sprintf("%.1f %s", count / messages, unit) : "", count ? sprintf("%.1f", bytes / count) : "" }'
}

echo "| ring, $ranks ranks, $((ranks * rounds)) messages | CPU in s | us more per message | bytes per message | per message | bytes each |"
echo "|---|---|---|---|---|---|"
trace=(--cfg=tracing:yes --cfg=tracing/smpi:yes "--cfg=tracing/filename:$work/smpi.trace")
row "SMPI" "" "" smpi
row "SMPI, tracing/smpi" smpi.trace lines smpi "${trace[@]}"
row "simrun" "" "" simrun
row "simrun, event log" run.log records simrun --log-events "$work/run.log"
row "simrun, Paje" run.paje lines simrun --trace "$work/run.paje"
row "simrun, Perfetto" run.pftrace "" simrun --trace "$work/run.pftrace"
row "simrun, Perfetto, gzip" run.pftrace.gz "" simrun --trace "$work/run.pftrace.gz"
