#!/usr/bin/env bash
# run.sh [-n 1|2] [-c CPUS] [-m MIB] [-t SECONDS] [-f FILE]... [-s DIR] [-v] COMMAND
#
# Runs a shell command in one guest, or the same in two that are joined by a wire, each with an rxe device. Prints its output and exits with
# its status: of two guests that of the first one, or of the second if the first is 0; 124 if it took too long, 125 if a guest broke down, 2 if
# something is missing here.
#
#   -n   guests (1)            -c  processors of each (2 for one guest, 1 for two)    -m  memory of each (512)
#   -t   seconds in all (300)  -f  a file for /job, where the command runs; with a program come the libraries that it needs
#   -s   a folder of this machine that all guests have as /shared, at once and for writing
#   -v   tell what the guests' consoles say
#
# The command finds in its environment: NODE (0 or 1), NODES, ME and PEER (addresses), DEVICE (rxe0).
#
# There is no KVM here: the processor is emulated, about 20 times slower than a real one, and each guest's processor takes a whole one here.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
nodes=1 cpus='' memory=512 limit=300 verbose='' share='' files=()
while getopts n:c:m:t:f:s:v option; do
  case $option in
    n) nodes=$OPTARG ;;
    c) cpus=$OPTARG ;;
    m) memory=$OPTARG ;;
    t) limit=$OPTARG ;;
    f) files+=("$OPTARG") ;;
    s) share=$OPTARG ;;
    v) verbose=1 ;;
    *) die "see the head of $0" ;;
  esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || die "a command for the guest is missing"
case $nodes in 1) : "${cpus:=2}" ;; 2) : "${cpus:=1}" ;; *) die "-n $nodes: 1 or 2" ;; esac
[ -z "$share" ] || [ -d "$share" ] || die "$share: no such folder"
need qemu-system-x86_64=qemu-system-x86 cpio=cpio ldd=libc-bin timeout=coreutils
image=$("$here/image.sh")

dir=$(mktemp -d "${TMPDIR:-/tmp}/softroce.XXXXXX")
guests=()
finish() {
  # Each is a `timeout`, which passes the signal on.
  for pid in ${guests[@]+"${guests[@]}"}; do kill "$pid" 2>/dev/null || true; done
  wait || true
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# ---- what the guest gets besides the image: a second archive, which the kernel unpacks after the first ----
mkdir -p "$dir/job/lib"
printf '%s\n' "$*" >"$dir/job/command"
for file in ${files[@]+"${files[@]}"}; do
  [ -e "$file" ] || die "$file: no such file"
  cp "$file" "$dir/job/"
  # The image's own libraries go first: libibverbs has to be of one version with the provider there.
  { ldd "$file" 2>/dev/null || true; } | awk '$3 ~ "^/" { print $3 }' | while read -r library; do
    grep -qxF "$(basename "$library")" "$image/libraries" || cp -Ln "$library" "$dir/job/lib/"
  done
done
{ cat "$image/base.cpio"; (cd "$dir" && find job | cpio -o -H newc --quiet -R 0:0); } >"$dir/initrd"

# ---- the clock ----
# Emulation gives the guest our time stamp counter. Told its rate, the guest need not measure it, which goes wrong on a busy machine and makes all
# its clocks wrong.
khz=$(dmesg 2>/dev/null | sed -n 's/.*tsc: Detected \([0-9]*\)\.\([0-9]*\) MHz.*/\1\2/p' | head -n 1) || true
[ -n "$khz" ] || khz=$(cat /sys/devices/system/cpu/cpu0/tsc_freq_khz 2>/dev/null) || true
if [ -z "$khz" ]; then
  printf 'softroce: the rate of the time stamp counter is not known here; times in the guests may be wrong\n' >&2
fi

# ---- who goes first ----
# The thread that carries packets between the guests sleeps until there is one. On a processor that a polling guest keeps busy it would wait for the scheduler's next
# slice, which takes milliseconds; a packet takes tens of microseconds. Real-time priority is for that thread only, not for the processors that it starts.
first=(chrt --fifo --reset-on-fork 1)
"${first[@]}" true 2>/dev/null || first=()

start() { # start NODE
  local net=() other=$((1 - $1))
  if [ "$nodes" = 2 ]; then
    net=(-netdev "dgram,id=wire,local.type=unix,local.path=$dir/wire$1,remote.type=unix,remote.path=$dir/wire$other"
      -device "virtio-net-pci,netdev=wire,mac=52:54:00:00:00:0$(($1 + 1)),romfile=")
  fi
  if [ -n "$share" ]; then
    # Owners and modes are the guests' own business: here all files are ours.
    net+=(-virtfs "local,path=$share,mount_tag=shared,security_model=mapped-file,id=shared")
  fi
  timeout --kill-after=5 "$limit" ${first[@]+"${first[@]}"} qemu-system-x86_64 -accel tcg -cpu max -smp "$cpus" -m "$memory" -M q35 \
    -nodefaults -no-user-config -display none -no-reboot -kernel "$image/vmlinux" -initrd "$dir/initrd" \
    -append "console=ttyS0 quiet panic=-1 node=$1 nodes=$nodes mitigations=off nokaslr nopti tsc=reliable random.trust_cpu=on${share:+ share=1}${khz:+ tsc_early_khz=$khz}" \
    -serial "file:$dir/console$1" -serial "file:$dir/output$1" ${net[@]+"${net[@]}"} </dev/null >"$dir/qemu$1" 2>&1 &
  guests+=($!)
}
for ((i = 0; i < nodes; i++)); do start "$i"; done
ended=()
for pid in "${guests[@]}"; do
  code=0
  wait "$pid" || code=$?
  ended+=("$code")
done
guests=()

result=0
for ((i = nodes - 1; i >= 0; i--)); do
  status=$(tr -d '\r' <"$dir/console$i" 2>/dev/null | sed -n 's/.*@@exit \([0-9]*\).*/\1/p' | tail -n 1)
  if [ -z "$status" ]; then
    status=125
    case ${ended[$i]} in 124 | 137) status=124 ;; esac
  fi
  [ "$status" = 0 ] || result=$status
  statuses[i]=$status
done
for ((i = 0; i < nodes; i++)); do
  [ "$nodes" = 1 ] || printf '== node %s, status %s\n' "$i" "${statuses[$i]}"
  tr -d '\r' <"$dir/output$i"
  case ${statuses[$i]} in 124) printf 'softroce: guest %s was stopped after %s s\n' "$i" "$limit" >&2 ;; esac
  if [ -n "$verbose" ] || [ "${statuses[$i]}" = 125 ] || [ "${statuses[$i]}" = 124 ]; then
    { printf -- '-- console of guest %s\n' "$i"; tr -d '\r' <"$dir/console$i" | tail -n 40; cat "$dir/qemu$i"; } >&2
  fi
done
exit "$result"
