#!/usr/bin/env bash
# calibrate.sh [-q] [-o DIR] [-s SEED] [-w block|spin] [RANKS]...
#
# Measures Soft-RoCE between two guests, fits a network to that here, and shows how well it predicts what was not fitted: ping-pongs of other sizes,
# a ring of as many ranks in blocks between them, and then `apps/ring` itself, which the same guests run directly afterwards.
#
# Exit status: 0 all limits were kept; 1 one was missed, twice; 2 something does not work; 3 one was missed, twice, and no verdict, because this machine
# did other things meanwhile (guests need two processors for themselves, and times between processors that come and go are not a network's), or because
# the measured times themselves are not known well enough, as the session says (W-NOISE, W-SAMPLES, W-SPEED), or others when the ring ran.
#
#   RANKS  2 (one rank in each guest), 4 (two in each, calibrated like that: `ppi`); both without an argument
#   -q     small, for tests: fewer sizes and rounds
#   -o     the folder in which all is kept (target/softroce/calibrate)
#   -s     the seed of the plan (1)
#   -w     how ranks wait (spin)
#
# One retry is allowed, because the host may do something else for a while; it is reported. The limits are those of the method's acceptance figures.
# With -q they are wide: two short runs show that a unit, a cost or a message is missing (which costs a factor), not how well a prediction holds. Between
# sessions of one machine the ring, a process of its own, moves against its prediction by up to 17 %, with and without a change of the reference blocks.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
quick='' out=$cache/calibrate seed=1 wait=spin
while getopts qo:s:w: option; do
  case $option in
    q) quick=1 ;;
    o) out=$OPTARG ;;
    s) seed=$OPTARG ;;
    w) wait=$OPTARG ;;
    *) die "see the head of $0" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 2 4
for ranks in "$@"; do
  case $ranks in 2 | 4) ;; *) die "$ranks ranks: 2 or 4" ;; esac
done
need cargo=cargo stat=coreutils awk=mawk strip=binutils
"$here/image.sh" >/dev/null
cargo build --manifest-path "$root/Cargo.toml" --quiet --release -p simrun-cli -p simrun-tools -p ring --features simrun/verbs
built=${CARGO_TARGET_DIR:-$root/target}/release
# A guest has its programs in its memory.
bare=$cache/calibrate-programs
mkdir -p "$bare"
for program in simrun simrun-tools ring; do strip -o "$bare/$program" "$built/$program"; done

# ---- limits ----
declare -A unseen=([2]='median=5%,p90=12%,worst=20%' [4]='median=5%,p90=12%,worst=20%')
declare -A rings=([2]='median=5%' [4]='median=7%,worst=20%')
if [ -n "$quick" ]; then
  for ranks in 2 4; do
    unseen[$ranks]='median=25%,worst=50%'
    rings[$ranks]='median=25%,worst=50%'
  done
fi

# ---- what is done ----
measure="--seed $seed --target-precision 2 --effort thorough"
if [ -n "$quick" ]; then
  # So few that each gets many blocks, at all speeds that the machine has.
  measure+=" --kernels late,ring --max-size 64KiB --sizes 16 --held-out 10 --time-limit 80"
  compare="--runs 2 --sizes 90,1100,6000,19000,60000" rounds=150
else
  measure+=" --max-size 256KiB --time-limit 300"
  compare="--runs 3 --sizes 20,90,420,1100,2900,6000,11000,19000,45000,120000,200000" rounds=150
fi

# clock DIR NODE: how fast a guest's clock goes by ours, which gives the files their dates.
clock() {
  awk -v from="$(cat "$1/clock-$2-begin")" -v to="$(cat "$1/clock-$2-end")" \
    -v began="$(stat -c %.Y "$1/clock-$2-begin")" -v ended="$(stat -c %.Y "$1/clock-$2-end")" \
    'BEGIN { printf "%.4f", (to - from) / (ended - began) }'
}

# What this machine has done, in seconds of a processor since it started: by programs, and taken away by its host.
worked() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%.2f %.2f\n", ($2 + $3 + $4 + $7 + $8) / hz, $9 / hz }' /proc/stat; }
# The part of all processors that others may take before a session counts as disturbed.
others_max=0.03

# disturbed FROM: tells what others did since `worked` and the clock said FROM; 0 if that was too much.
disturbed() {
  local ours
  # Of this shell's children that have ended; a pipe would ask another shell.
  times >"$out/times"
  ours=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } printf "%.2f", sum }' "$out/times")
  awk -v from="$1" -v to="$(worked) $(cut -d ' ' -f 1 /proc/uptime)" -v ours="$ours" -v cores="$(nproc)" -v most="$others_max" 'BEGIN {
    split(from, a); split(to, b); span = (b[3] - a[3]) * cores
    others = (b[1] - a[1] - ours) / span; taken = (b[2] - a[2]) / span
    printf "this machine: %.1f %% of its processors went to other programs, %.1f %% to other machines\n", 100 * others, 100 * taken
    exit !(others + taken > most)
  }'
}

# unknown DIR: tells that the times are not known well enough to judge a prediction by them, as the session says itself; 0 if so: where their 95 % intervals
# are wider than the limit of 5 % (W-NOISE), most have fewer than five blocks or an interval beyond 10 % (W-SAMPLES), or the machine changed its speed meanwhile, by more
# than 5 % (W-SPEED), which it then does between calibration and ring, too. No limit can be held against such times.
unknown() {
  local report=$1/report/calibration.json
  sed -n -e 's/.*"text": "\([0-9]*\) of \([0-9]*\) sizes have fewer than .*/few \1 \2/p' \
    -e 's/.*session [0-9]*: .* of blocks dropped, spread of the others \([0-9]*\) %, .*/states \1/p' \
    -e 's/.*noise: mean .* interval [^0-9]*\([0-9.]*\) %.*/wide \1/p' "$report" |
    awk '$1 == "few" && 2 * $2 > $3 { no = 1; printf "of %s times %s are not known within 10 %%\n", $3, $2 }
      $1 == "wide" && $2 > 5 { no = 1; printf "times are known within %s %% only\n", $2 }
      $1 == "states" && $2 > 5 { no = 1; print "the machine changed its speed (that of the times that were kept scattered by " $2 " %)" }
      END { exit !no }'
}

# moved DIR: tells how much slower the machine was when the ring ran than when it was calibrated, by the reference blocks before and after; 0 if that is more than the limit of 5 %.
moved() {
  sed -n 's/^after rescaling (x \([0-9.]*\)).*/\1/p' "$1/ring.txt" |
    awk '$1 < 0.95 || $1 > 1.05 { no = 1; print "when the ring ran everything took " $1 " times as long as in the calibration" } END { exit !no }'
}

# session RANKS DIR: 0 if all limits were kept, 1 if not, 2 if something does not work, 3 if they mean nothing.
session() {
  local ranks=$1 dir=$2 status=0 rate node guests from
  from="$(worked) $(cut -d ' ' -f 1 /proc/uptime)"
  rm -rf "$dir"
  mkdir -p "$dir"
  "$here/run.sh" -n 2 -t 900 -s "$dir" -f "$bare/simrun" -f "$bare/simrun-tools" -f "$bare/ring" -f "$here/calibrate-guest.sh" \
    "RANKS=$ranks WAIT=$wait MEASURE='$measure' COMPARE='$compare' ROUNDS=$rounds; . ./calibrate-guest.sh" >"$dir/guests.txt" 2>&1 &
  guests=$!
  # Whatever happens here, the guests end.
  trap 'kill "$guests" 2>/dev/null || true' EXIT
  until [ -e "$dir/clock-0-end" ] && [ -e "$dir/clock-1-end" ]; do
    kill -0 "$guests" 2>/dev/null || { cat "$dir/guests.txt" >&2; die "measuring failed in the guests"; }
    sleep 0.5
  done
  for node in 0 1; do
    rate=$(clock "$dir" "$node")
    printf 'clock of guest %s: %s of ours\n' "$node" "$rate"
    awk -v rate="$rate" 'BEGIN { exit !(rate > 0.99 && rate < 1.01) }' ||
      { touch "$dir/stop"; die "the clock of guest $node goes wrong: its times mean nothing"; }
    sed -i "1a # clock_of_guest_$node: $rate" "$dir/samples.csv"
  done
  grep -qx '# eager_threshold: 16384' "$dir/samples.csv" ||
    { touch "$dir/stop"; die "late receives do not show the eager threshold, which is 16384 B: $(grep threshold "$dir/samples.csv")"; }
  "$built/simrun" calibrate "$dir/samples.csv" --out "$dir/fitted.toml" --report "$dir/report" --platform-hosts "$ranks" \
    --require "${unseen[$ranks]}" --require-programs "${rings[$ranks]}" || status=1
  [ -e "$dir/fitted.toml" ] || { touch "$dir/stop"; die "nothing could be fitted"; }
  mv "$dir/fitted.toml" "$dir/platform.toml"
  wait "$guests" || { cat "$dir/guests.txt" >&2; die "the ring failed in the guests"; }
  trap - EXIT
  # The guests have said all this already; here it is judged. Predictions are the same on both machines, bit by bit.
  # shellcheck disable=SC2086 # a list
  "$built/simrun" compare --platform "$dir/platform.toml" -n "$ranks" $compare --measured-times "$dir/ring/measured.csv" --out "$dir/here" \
    --report "$dir/ring-report" --require "${rings[$ranks]}" "$built/ring" -- --size '{size}' --rounds "$rounds" | tee "$dir/ring.txt" || status=1
  [ -s "$dir/ring.txt" ] || die "nothing could be compared"
  cmp "$dir/ring/predictions.csv" "$dir/here/predictions.csv" || die "the guests predict something else than this machine"
  if { disturbed "$from" || unknown "$dir" || moved "$dir"; } && [ "$status" = 1 ]; then status=3; fi
  return "$status"
}

mkdir -p "$out"
result=0
for ranks in "$@"; do
  for attempt in 1 2; do
    printf '== Soft-RoCE, two guests, %s ranks, attempt %s\n' "$ranks" "$attempt"
    # In a shell of its own, so that `die` ends no more than the attempt.
    set +e
    (set -e; session "$ranks" "$out/$ranks-ranks-$attempt")
    kept=$?
    set -e
    [ "$kept" != 0 ] || break
    [ "$attempt" = 2 ] || printf '== not as it should be (status %s): once more, which is allowed\n' "$kept"
  done
  case $kept in
    0) printf '== %s ranks: all limits were kept, at attempt %s\n' "$ranks" "$attempt" ;;
    3) printf '== %s ranks: NO VERDICT: limits were missed, and times here mean too little to judge by\n' "$ranks" ;;
    *) printf '== %s ranks: FAILED (status %s)\n' "$ranks" "$kept" ;;
  esac
  # What fails comes before what has no verdict.
  [ "$kept" = 0 ] || [ "$result" = 1 ] || [ "$result" = 2 ] || result=$kept
done
exit "$result"
