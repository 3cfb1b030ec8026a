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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
smpicc -O2 "$here/ring.c" -o "$work/ring"
seq -f 'n-%g' 0 $((ranks - 1)) > "$work/hosts"
cat > "$work/cluster.xml" << XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n-" suffix="" radical="0-$((ranks - 1))" speed="1Gf" bw="1.25GBps" lat="1us"/>
</platform>
XML
cat > "$work/cluster.toml" << TOML
version = 1
[network]
model = "lv08"
[clusters.c]
hosts = "n-[0-$((ranks - 1))]"
speed = "1Gf"
bandwidth = "1.25GBps"
latency = "1us"
sharing = "split-duplex"
TOML

# Prints the processor time of a command in seconds. Children count: smpirun is a shell script, and another process makes our traces.
cpu() { { time "$@" > "$work/output" 2> "$work/errors" < /dev/null; } 2>&1 | awk '{ print $1 + $2 }'; }
TIMEFORMAT='%3U %3S'
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

smpi() { # options
  cpu smpirun -np $ranks -platform "$work/cluster.xml" -hostfile "$work/hosts" --cfg=network/model:SMPI --cfg=smpi/os:0:0:0 --cfg=smpi/or:0:0:0 \
    --cfg=smpi/ois:0:0:0 --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 "$@" --log=root.thres:critical "$work/ring" "$rounds"
}
simrun() { # options
  cpu "$ours/ring" --platform "$work/cluster.toml" -n $ranks "$@" -- --rounds "$rounds"
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
