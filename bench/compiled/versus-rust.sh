#!/bin/bash
# User CPU and peak memory of ring and jacobi in C and of their twins in Rust, in turn, five times each: a table of medians.
# Needs `cargo build --release -p simrun-cli -p ring -p jacobi` and GNU time (Debian: time).
# ./versus-rust.sh [RUNS]
#
# platforms/loggops.toml; the start of the processes counts. A round of the ring is a send and a receive of each rank; an iteration of
# jacobi is four MPI_Irecv, four MPI_Isend, MPI_Waitall and an allreduce of a number, on a square of one cell per rank.
set -euo pipefail
runs=${1:-5}
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
ours=${CARGO_TARGET_DIR:-$root/target}/release
. "$here/../smpi.sh"
for program in ring jacobi; do "$ours/simrun" cc -O2 "$root/apps/c/$program.c" -o "$work/$program"; done

# Appends user CPU in s and peak memory in MB to a file.
measured() { /usr/bin/time -f '%U %M' -o "$work/time" "${@:2}" > /dev/null 2>&1; awk '{ print $1, $2 / 1024 }' "$work/time" >> "$1"; }
column() { cut -d' ' -f"$2" "$1" | median; }

echo "| program | ranks | C in s | Rust in s | C ÷ Rust | C in MB | Rust in MB |"
echo "|---|---|---|---|---|---|---|"
while read -r program ranks arguments; do
  : > "$work/c.times"; : > "$work/rust.times"
  for _ in $(seq "$runs"); do
    # shellcheck disable=SC2086
    measured "$work/c.times" "$ours/simrun" --platform "$root/platforms/loggops.toml" -n "$ranks" "$work/$program" -- $arguments
    # shellcheck disable=SC2086
    measured "$work/rust.times" "$ours/$program" --platform "$root/platforms/loggops.toml" -n "$ranks" -- $arguments
  done
  awk -v program="$program $arguments" -v ranks="$ranks" -v c="$(column "$work/c.times" 1)" -v rust="$(column "$work/rust.times" 1)" \
    -v c_memory="$(column "$work/c.times" 2)" -v rust_memory="$(column "$work/rust.times" 2)" \
    'BEGIN { printf "| %s | %d | %.2f | %.2f | %.2f | %.0f | %.0f |\n", program, ranks, c, rust, c / rust, c_memory, rust_memory }'
done << ROWS
ring 64 --rounds 4000
ring 10000 --rounds 10
jacobi 64 --size 8 --iterations 500
jacobi 10000 --size 100 --iterations 4
ROWS
