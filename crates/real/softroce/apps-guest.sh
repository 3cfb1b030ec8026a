# Sourced in the guests by the job of apps.sh: NODE, NODES, ME and PEER say where.
# shellcheck shell=sh

failed() {
  echo "failed: $*"
  cat /tmp/said /tmp/errors 2>/dev/null
  touch /shared/failed
  exit 1
}

# check NAME RANKS OPTIONS ARGUMENTS HOW: the tests print what they do in a simulation, with the same options and arguments; HOW they are run is what differs.
check() {
  start=$(cut -d . -f 1 /proc/uptime)
  ./conformance -p cluster.toml -q -n "$2" $3 -- $4 2>/tmp/errors | sort >/tmp/expected
  [ "$(grep -c ': passed$' /tmp/expected)" -ge 11 ] || failed "$1: the simulation"
  ./conformance real --backend verbs --device "$DEVICE" -q --prefix-rank=false -n "$2" $5 $3 -- $4 >/tmp/said 2>/tmp/errors || failed "$1"
  sort /tmp/said >/tmp/sorted
  cmp -s /tmp/expected /tmp/sorted || failed "$1: other lines"
  echo "$1: fine after $(($(cut -d . -f 1 /proc/uptime) - start)) s"
}

# rings NAME COMMAND...: the token has come back as often as it should.
rings() {
  name=$1
  shift
  "$@" -- --size 100KiB --rounds 3 >/tmp/said 2>/tmp/errors || failed "$name: $*"
  [ "$(grep -c '^\[0\] round [012]: ' /tmp/said)" = 3 ] || failed "$name: other lines"
  echo "$name: fine"
}

# refused WORDS COMMAND...: what only the adapter can refuse is bad input all the same, for a rank and for the launcher, who tells why.
refused() {
  words=$1
  shift
  status=0
  "$@" >/tmp/said 2>/tmp/errors || status=$?
  [ "$status" = 2 ] || failed "status $status instead of 2: $*"
  grep -q "^error: rank [01] on host node0 failed to start: $words" /tmp/errors || failed "another reason: $*"
  [ ! -s /tmp/said ] || failed "output of what has not begun: $*"
  echo "refused: $words"
}

# known: a network measured, fitted and compared in one guest, where the launchers start all ranks. Times of so few samples mean nothing; files and ends do.
known() {
  start=$(cut -d . -f 1 /proc/uptime)
  way="--backend verbs --device $DEVICE -n 2"
  ./simrun measure $way --effort quick --kernels pp --sizes 4 --held-out 2 --max-size 20KiB --time-limit 5 --out /tmp/samples.csv >/tmp/said 2>/tmp/errors ||
    failed "measure"
  for part in '^# backend: verbs$' '^# device: rxe0$' ',pp,[0-9]*,train,' ',pp,[0-9]*,validate,' ',pp,64,reference,'; do
    grep -q "$part" /tmp/samples.csv || failed "measure: no $part in the file"
  done
  ./simrun calibrate /tmp/samples.csv --out /tmp/fitted.toml >/tmp/said 2>/tmp/errors || failed "calibrate"
  ./simrun compare $way --platform /tmp/fitted.toml --runs 1 --sizes 90 --out /tmp/compared ./ring -- --size '{size}' --rounds 6 >/tmp/said 2>/tmp/errors ||
    failed "compare"
  grep -q '^90B  *round #: # us  *4 ' /tmp/said || failed "compare: other lines"
  grep -q '^# references: 64=' /tmp/compared/measured.csv || failed "compare: no references"
  echo "measured, calibrated and compared after $(($(cut -d . -f 1 /proc/uptime) - start)) s"
}

# fuzzed: random interactions of endpoints in processes, over verbs and over TCP, whose properties are those of simulated endpoints; random work requests, whose
# completions and memory are those of simulated adapters.
fuzzed() {
  start=$(cut -d . -f 1 /proc/uptime)
  for way in "--backend verbs --device $DEVICE" "--backend tcp"; do
    ./simrun-tools fuzz $way --tries 12 --rma --attributes ro,ru,uu --errors 1 --out /tmp/fuzzed >/tmp/said 2>/tmp/errors || {
      cat /tmp/fuzzed/*.txt
      failed "fuzz $way"
    }
    grep -q '^12 interactions, .* 0 failures$' /tmp/said || failed "fuzz $way: other lines"
  done
  ./simrun-tools fuzz --layer verbs --backend verbs --device "$DEVICE" --tries 200 --out /tmp/fuzzed >/tmp/said 2>/tmp/errors || {
    cat /tmp/fuzzed/*-shrunk.toml
    failed "fuzz --layer verbs"
  }
  grep -q '^200 programs, .* 0 failures$' /tmp/said || failed "fuzz --layer verbs: other lines"
  echo "fuzzed after $(($(cut -d . -f 1 /proc/uptime) - start)) s"
}

# exported: interactions as C programs, which use libibverbs themselves.
exported() {
  for program in ./c-*; do
    status=0
    "$program" "$DEVICE" >/tmp/said 2>/tmp/errors || status=$?
    case $program in
      */c-wrong) [ "$status" = 1 ] && grep -q 'a wrong byte of a region' /tmp/said || failed "$program: status $status" ;;
      *) [ "$status" = 0 ] && grep -q '^as expected$' /tmp/said || failed "$program: status $status" ;;
    esac
    echo "$program: fine"
  done
}

real="real --backend verbs --device $DEVICE"

# pingpong MODE: queue pairs of the program itself; the table has a line for each size.
pingpong() {
  ./verbs-pingpong $real -q -n 2 --prefix-rank=false -- --mode "$1" --sizes 2,4KiB --iterations 20 >/tmp/said 2>/tmp/errors || failed "verbs-pingpong: $1"
  lines=2
  [ "$1" = atomic ] && lines=1
  [ "$(sort -u /tmp/said | grep -cE '^ (2|8|4096) +20( +[0-9.]+){4}$')" -ge "$lines" ] || failed "verbs-pingpong: $1: other lines"
  echo "verbs-pingpong: $1: fine"
}

# Nobody answers: the adapter gives up, and the program sees it in a completion.
unanswered() {
  status=0
  ./verbs-pingpong $real -q -n 2 -- --misconnect --retries 1 >/tmp/said 2>/tmp/errors || status=$?
  [ "$status" = 1 ] && grep -q 'retries exhausted\|retry' /tmp/errors || failed "verbs-pingpong: status $status of retries that are exhausted"
  echo "verbs-pingpong: retries exhausted: fine"
}

one_guest() {
  fuzzed
  exported
  rings "ring of 4" ./ring $real -n 4
  for mode in send write read atomic; do pingpong $mode; done
  unanswered
  refused "--gid-index 200: " ./ring $real -q -n 2 --gid-index 200
  refused "--credits 32 and --send-queue-depth 65536: " ./ring $real -q -n 2 --send-queue-depth 65536
  refused "--port 2: " ./simrun measure --backend verbs -n 2 --port 2 --out /tmp/none.csv
  known
  # Below the threshold messages are copied into packets; all others travel by RDMA, whoever moves them.
  usual="--protocol threshold=16KiB"
  check "write, blocking" 3 "$usual" "" ""
  check "read, blocking" 3 "$usual" "" "--rendezvous read"
  check "write, spinning, connected before" 2 "--protocol threshold=100" "--threshold 100 --messages 500" "--wait spin --connect static"
  check "read, spinning, everything by rendezvous" 2 "--protocol rendezvous" "--threshold 0 --messages 300" "--wait spin --rendezvous read"
}

# The launcher in the first guest starts ranks in both.
by_ssh() {
  printf 'node0:2\nnode1:2\n' >/tmp/hosts
  printf '#!/bin/sh\nexec dbclient -y -y "$@"\n' >/bin/ssh
  chmod +x /bin/ssh
  hosts="--hosts /tmp/hosts --listen $ME --remote-shell ssh"
  usual="--protocol threshold=16KiB"
  rings "ring of 4 by ssh" ./ring $real $hosts -n 4
  check "write, blocking, by ssh" 3 "$usual" "" "$hosts"
  check "read, blocking, by ssh" 3 "$usual" "" "$hosts --rendezvous read"
  printf 'node0\nnode1\n' >/tmp/hosts
  check "write, spinning, by ssh" 2 "$usual" "--messages 500" "$hosts --wait spin"
  check "read, spinning, by ssh" 2 "$usual" "--messages 500" "$hosts --wait spin --rendezvous read"
}

# Each guest starts its own rank, as a batch system does; they meet over a file in the folder that both see.
in_allocation() {
  export SLURM_PROCID=$NODE SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 SLURM_JOB_ID=7 SLURM_STEP_ID=0
  export SIMRUN_BOOTSTRAP_FILE=/shared/meeting
  if [ "$NODE" = 0 ]; then
    rings "ring of 2 in an allocation" ./ring $real --listen "$ME"
  else
    ./ring $real --listen "$ME" -- --size 100KiB --rounds 3 >/tmp/said 2>/tmp/errors || failed "rank 1 of the allocation"
  fi
}

if [ "$NODES" = 1 ]; then
  one_guest
else
  dropbear -e -s -E -p 22 2>/tmp/dropbear
  # The other guest's ranks come from here.
  if [ "$NODE" = 0 ]; then
    by_ssh
    touch /shared/go
  else
    until [ -e /shared/go ] || [ -e /shared/failed ]; do sleep 0.2; done
    [ ! -e /shared/failed ] || exit 1
  fi
  in_allocation
fi
