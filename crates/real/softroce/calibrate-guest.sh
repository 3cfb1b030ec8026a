# Sourced in both guests by the job of calibrate.sh: NODE, NODES, ME and DEVICE say where; RANKS, WAIT, MEASURE, COMPARE and ROUNDS what.
# shellcheck shell=sh

# ranks COMMAND...: starts this guest's ranks, as a batch system does, one here and one there in turn, so that each hop of a ring is over the wire.
ranks() {
  pids='' rank=$NODE
  while [ "$rank" -lt "$RANKS" ]; do
    PMI_RANK=$rank PMI_SIZE=$RANKS PMI_JOBID=calibrate SIMRUN_BOOTSTRAP_FILE=/shared/meeting \
      MPI_LOCALRANKID=$((rank / NODES)) MPI_LOCALNRANKS=$((RANKS / NODES)) "$@" &
    pids="$pids $!" rank=$((rank + NODES))
  done
  status=0
  for pid in $pids; do wait "$pid" || status=$?; done
  return $status
}

# stamp NAME: what this guest's clock shows, in a file whose date is the host's.
stamp() { cut -d ' ' -f 1 /proc/uptime >"/shared/clock-$NODE-$1"; }

way="--backend verbs --device $DEVICE --wait $WAIT --listen $ME --startup-timeout 120s"
stamp begin
# shellcheck disable=SC2086 # lists
ranks ./simrun measure $way $MEASURE --out /shared/samples.csv || exit 1
stamp end
until [ -e /shared/platform.toml ]; do
  [ ! -e /shared/stop ] || exit 1
  sleep 0.2
done
# shellcheck disable=SC2086 # lists
ranks ./simrun compare $way --platform /shared/platform.toml $COMPARE --out /shared/ring ./ring -- --size '{size}' --rounds "$ROUNDS"
