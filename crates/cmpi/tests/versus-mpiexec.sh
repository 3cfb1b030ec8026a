#!/usr/bin/env bash
# Compiled programs under simrun and under mpiexec of an MPI with the standard ABI: the same file prints the same lines.
# ./versus-mpiexec.sh SIMRUN MPI: the executable of simrun, and the folder of the MPI (bin/mpiexec, lib/libmpi_abi.so.1).
# Lines are sorted: those of several ranks have no order under mpiexec.
set -euo pipefail
cd "$(dirname "$0")/../../.."
simrun=$(realpath "$1") mpi=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
compared=0

# NAME SOURCE RANKS [ARGUMENT…]; our compiler, with the options of the variable, and that of the MPI for the same source.
compare() {
  local name=$1 source=$2 ranks=$3 compiler=cc
  shift 3
  [ "${source##*.}" = cc ] && compiler=cxx
  "$simrun" "$compiler" -O1 ${options-} -o "$work/$name" "$source"
  timeout 120 "$mpi/bin/mpiexec" -n "$ranks" env LD_LIBRARY_PATH="$mpi/lib" "$work/$name" "$@" < /dev/null | sort > "$work/theirs"
  "$simrun" --quiet --platform platforms/cluster.toml -n "$ranks" "$work/$name" -- "$@" | sort > "$work/ours"
  [ -s "$work/ours" ]
  diff "$work/theirs" "$work/ours"
  compared=$((compared + 1))
}

for ranks in 1 2 3 4 5 8; do
  compare collectives crates/cmpi/tests/programs/collectives.c "$ranks"
  compare communicators crates/cmpi/tests/programs/communicators.c "$ranks"
  compare requests crates/cmpi/tests/programs/requests.c "$ranks"
  compare intercommunicators crates/cmpi/tests/programs/intercommunicators.c "$ranks"
  compare neighbors crates/cmpi/tests/programs/neighbors.c "$ranks"
  compare partitioned crates/cmpi/tests/programs/partitioned.c "$ranks"
  compare contents crates/cmpi/tests/programs/contents.c "$ranks"
  compare reductions crates/cmpi/tests/programs/reductions.c "$ranks"
  compare objects crates/cmpi/tests/programs/objects.c "$ranks"
  compare datatypes crates/cmpi/tests/programs/datatypes.c "$ranks"
  compare windows crates/cmpi/tests/programs/windows.c "$ranks"
done
options=--tls compare thread-locals crates/cmpi/tests/programs/thread-locals.cc 3
# A program with libraries of its own.
parts=crates/cmpi/tests/programs
"$simrun" cc -shared -fPIC -o "$work/libsecond.so" "$parts/library-second.c"
"$simrun" cxx -shared -fPIC -o "$work/libfirst.so" "$parts/library-first.cc" -L"$work" -lsecond "-Wl,-rpath,$work"
options="-L$work -Wl,-rpath,$work -Wl,--no-as-needed -lfirst -lsecond" compare libraries "$parts/libraries.cc" 3
# One rank: mpiexec mixes the parts of lines that streams write.
compare streams crates/cmpi/tests/programs/streams.cc 1
# The compiler of the MPI makes programs that simrun runs, too.
"$mpi/bin/mpicc_abi" -O1 -o "$work/foreign" crates/cmpi/tests/programs/collectives.c
[ "$("$simrun" --quiet --platform platforms/cluster.toml -n 4 "$work/foreign")" = ok ]

# MPICH takes the algorithms that `tune --export mpich` writes, and refuses names that it does not know.
with_decisions() {
  timeout 120 "$mpi/bin/mpiexec" -n 4 env LD_LIBRARY_PATH="$mpi/lib" \
    MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE="$1" "$work/foreign" < /dev/null
}
for kind in allgather allreduce alltoall bcast reduce reduce_scatter reduce_scatter_block; do
  "$simrun" collectives tune "$kind" -p platforms/marenostrum5.toml -n 4 --sizes 8B,64KiB --export mpich \
    --library "$mpi/lib/libmpi_abi.so.1" --out "$work/$kind.json" > "$work/times"
  [ "$(with_decisions "$work/$kind.json")" = ok ]
done
sed 's/=MPIR_Allreduce_intra_/=MPIR_Allreduce_intra_un/' "$work/allreduce.json" > "$work/unknown.json"
if with_decisions "$work/unknown.json" > "$work/refused" 2>&1; then
  echo "MPICH does not read the file with its decisions" >&2
  exit 1
fi
printf '%s runs have the lines of mpiexec\n' "$compared"
