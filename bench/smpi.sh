# What the comparisons with SMPI share; they source it. Needs smpicc and smpirun (Debian: simgrid).
# shellcheck shell=bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Writes a crossbar of this many hosts for SMPI, and its list of hosts; for simrun, in a model, if one is given.
crossbar() {
  seq -f 'n-%g' 0 $(($1 - 1)) > "$work/hosts"
  cat > "$work/crossbar.xml" << XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n-" suffix="" radical="0-$(($1 - 1))" speed="1Gf" bw="1.25GBps" lat="1us"/>
</platform>
XML
  [ $# -lt 2 ] || cat > "$work/crossbar.toml" << TOML
version = 1
[network]
model = "$2"
[clusters.c]
hosts = "n-[0-$(($1 - 1))]"
speed = "1Gf"
bandwidth = "1.25GBps"
latency = "1us"
sharing = "split-duplex"
TOML
}

# Prints the processor time of a command in seconds as TIMEFORMAT says; its output goes to $work/output. Children count: smpirun
# is a shell script.
TIMEFORMAT=%3U
timed() { { time "$@" > "$work/output" 2> "$work/errors" < /dev/null; } 2>&1; }
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# Measures a run of SMPI with this many ranks and no costs but those of the network; options and the program follow.
smpi_timed() {
  local ranks=$1
  shift
  timed smpirun -np "$ranks" -platform "$work/crossbar.xml" -hostfile "$work/hosts" --cfg=network/model:SMPI \
    --cfg=smpi/os:0:0:0 --cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0 --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 \
    --log=root.thres:critical "$@"
}
