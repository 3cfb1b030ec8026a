#!/usr/bin/env bash
# The recipes of docs/studies.md for clusters, as they stand there: Slurm with one node, a job that is killed, submitted
# again, terminated and submitted again; mpirun, GNU parallel and HyperQueue. Each table is that of a local run, byte for
# byte, and no run is computed twice.
# Use: clusters.sh BIN, the folder of the built executables simrun, simrun-tools and ring. PYTHONPATH has hyperqueue.
set -euo pipefail
bin=$(realpath "${1:?a folder of executables}")
cd "$(dirname "$0")/../../.."
guide=$PWD/docs/studies.md

fail() {
  printf 'clusters.sh: %s\n' "$*" >&2
  for log in "$work"/*.log; do
    [ -s "$log" ] && printf -- '-- %s\n' "$log" >&2 && tail -n 5 "$log" >&2
  done
  exit 1
}

missing=()
for tool in munged slurmctld slurmd sbatch srun scancel mpirun parallel; do
  PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || missing+=("$tool")
done
python3 -c 'import hyperqueue' 2>/dev/null || missing+=("hyperqueue (Python)")
if [ ${#missing[@]} -gt 0 ]; then
  printf 'clusters.sh: missing: %s: expected the Debian packages slurm-wlm, munge, mpich and parallel, and hyperqueue of PyPI\n' "${missing[*]}" >&2
  exit 1
fi

work=$(mktemp -d)
chmod 755 "$work"
services=()
# shellcheck disable=SC2329 # it is the trap
end() {
  for service in "${services[@]}"; do
    kill -KILL "$service" 2>/dev/null || true
  done
  { wait; } 2>/dev/null
  rm -rf "$work"
}
trap end EXIT
export PATH=$bin:$PATH:/usr/sbin

# A recipe of the guide, by its first words, for a folder.
recipe() {
  local line
  line=$(grep -m1 "^    $1 " "$guide") || fail "$guide has no recipe: $1"
  sed -e "s#^ *##; s# *\# .*##; s#STUDY.toml#$work/study.toml#g; s#DIR#$2#g" <<<"$line"
}

# The recipe in Python.
recipe_in_python() {
  awk '/^```python$/ { on = 1; next } /^```$/ { on = 0 } on' "$guide" | sed "s#DIR#$1#g"
}

make_study() {
  bash -ec "$(recipe 'simrun study run STUDY.toml' "$1")" >"$1.made.log" 2>&1 || fail "$1 was not made"
}

# The results so far: a line per run.
results() {
  { cat "$1"/results/*.jsonl 2>/dev/null || true; } | wc -l
}

wait_for() {
  local _
  for _ in $(seq 600); do
    if "${@:2}" 2>/dev/null; then
      return
    fi
    sleep 0.05
  done
  fail "$1 has not come within 30 s"
}

compare() {
  simrun study table "$work/$1" --rows runs --csv --no-wall >"$work/$1.csv"
  cmp "$work/local.csv" "$work/$1.csv" || fail "$1: its table is another one than that of a local run"
  [ "$(results "$work/$1")" = "$points" ] || fail "$1: expected $points results, each computed once, found $(results "$work/$1")"
  printf '%s: %s points, the same table\n' "$1" "$points"
}

points=32
cat >"$work/study.toml" <<END
program = "$bin/ring"
platform = "platforms/cluster.toml"
options = ["-n", "{ranks}"]
arguments = ["--rounds", "{rounds}"]
[grid]
ranks = [16, 32, 48, 64]
rounds = "${ROUNDS:-2000}..$((${ROUNDS:-2000} + 7)) +1"
[measure]
time = { json = "simulated_s", unit = "s" }
END
simrun study run "$work/study.toml" --out "$work/local" >"$work/local.log" 2>&1 || fail "the local run failed"
simrun study table "$work/local" --rows runs --csv --no-wall >"$work/local.csv"

# Slurm, its services on their own ports, without systemd.
host=$(hostname -s)
export SLURM_CONF=$work/slurm.conf
cat >"$SLURM_CONF" <<END
ClusterName=study
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmctldPort=${PORT:-26817}
SlurmdPort=$((${PORT:-26817} + 1))
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
mkdir "$work/state" "$work/spool"
dd if=/dev/urandom of="$work/munge.key" bs=1024 count=1 status=none
chmod 600 "$work/munge.key"
munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munge.pid" \
  --seed-file="$work/munge.seed" --log-file="$work/munge.log" >"$work/munged.log" 2>&1 &
services+=($!)
wait_for munged test -S "$work/munge.socket"
slurmctld -D >"$work/slurmctld.out.log" 2>&1 &
services+=($!)
slurmd -D -N "$host" >"$work/slurmd.out.log" 2>&1 &
services+=($!)
# shellcheck disable=SC2329 # wait_for calls it
is_idle() { [ "$(sinfo -h -o %T)" = idle ]; }
wait_for 'the node' is_idle

submit() {
  (cd "$work" && bash -ec "$(recipe 'simrun study slurm' "$work/slurm")") | sed 's/.* //'
}
# shellcheck disable=SC2329 # wait_for calls it
has_ended() { ! squeue -h -j "$1" 2>/dev/null | grep -q .; }
# shellcheck disable=SC2329 # wait_for calls it
has() { [ "$(results "$work/slurm")" -ge "$1" ]; }
make_study "$work/slurm"
# Its processes are killed; then one is terminated as at the end of its time, with runs in progress that it ends.
for signal in KILL TERM; do
  before=$(results "$work/slurm")
  job=$(submit)
  wait_for 'a result of a job' has $((before + 5))
  if [ $signal = KILL ]; then
    scancel --signal=KILL "$job.0"
  else
    scancel "$job"
  fi
  wait_for 'the end of a job' has_ended "$job"
  after=$(results "$work/slurm")
  [ "$after" -lt "$points" ] || fail "the job has ended before its $signal"
  printf 'slurm: %s after %s results\n' $signal "$after"
done
job=$(submit)
wait_for 'the end of the last job' has_ended "$job"
cp "$work/slurm-$job.out" "$work/job.log"
compare slurm

make_study "$work/mpirun"
bash -ec "$(recipe mpirun "$work/mpirun")" >"$work/mpirun.log" 2>&1 || fail 'mpirun failed'
compare mpirun

make_study "$work/parallel"
bash -ec "$(recipe 'simrun study points' "$work/parallel")" >"$work/parallel.log" 2>&1 || fail 'parallel failed'
compare parallel

make_study "$work/hyperqueue"
# A server and a worker with two processors, for the recipe's client.
cat >"$work/server.py" <<END
import sys, time
from hyperqueue.cluster import LocalCluster, WorkerConfig
with LocalCluster(sys.argv[1], WorkerConfig(cores=2)):
    print("ready", flush=True)
    time.sleep(600)
END
mkdir "$work/home"
export HOME=$work/home
python3 "$work/server.py" "$HOME/.hq-server" >"$work/server.log" 2>&1 &
services+=($!)
wait_for 'the server of HyperQueue' grep -q ready "$work/server.log"
(cd "$work" && recipe_in_python "$work/hyperqueue" | timeout 60 python3 -) >"$work/hyperqueue.log" 2>&1 || fail 'HyperQueue failed'
compare hyperqueue
