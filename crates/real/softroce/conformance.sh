#!/usr/bin/env bash
# conformance.sh [ARGUMENTS OF simrun conformance]...
#
# Plays the packet dialogues of `simrun conformance` with the software adapter of Linux (rdma_rxe) in one guest: the adapter is on one end of a
# veth pair, the tester on the other, in a network namespace of its own. Prints the kernel's release and the report; exits with its status.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need cargo=cargo strip=binutils
"$here/image.sh" >/dev/null
cd "$root"
built=${CARGO_TARGET_DIR:-$root/target}/debug
cargo build --quiet -p simrun-cli
cargo build --quiet -p simrun-real --features verbs --example conformance_responder
# A guest has its programs in its memory.
bare=$cache/conformance-programs
mkdir -p "$bare"
strip -o "$bare/simrun" "$built/simrun"
strip -o "$bare/conformance_responder" "$built/examples/conformance_responder"
# The guest reads --expect from its memory, and writes --pcap to a folder of this machine.
arguments='' given=() capture=''
while [ $# -gt 0 ]; do
  case $1 in
    --expect)
      given+=(-f "$2")
      arguments+=" --expect $(printf '%q' "$(basename "$2")")"
      shift 2 ;;
    --pcap)
      capture=$2 shared=$(mktemp -d "${TMPDIR:-/tmp}/softroce.XXXXXX")
      given+=(-s "$shared")
      arguments+=' --pcap /shared/capture.pcapng'
      shift 2 ;;
    *)
      arguments+=" $(printf '%q' "$1")"
      shift ;;
  esac
done

# shellcheck disable=SC2016 # for the guest's shell
status=0
"$here/run.sh" -t 900 ${given[@]+"${given[@]}"} -f "$here/veth-guest.sh" -f "$bare/simrun" -f "$bare/conformance_responder" '
set -e
uname -r >&2
. ./veth-guest.sh
./conformance_responder --device rxe1 --once &
until grep -q :12B8 /proc/net/tcp; do sleep 0.1; done
status=0
nsenter -t $sleeper -n ./simrun conformance --adapter udp:10.0.1.1'"$arguments"' || status=$?
kill $sleeper
exit $status' || status=$?
if [ -n "$capture" ]; then
  [ ! -e "$shared/capture.pcapng" ] || cp "$shared/capture.pcapng" "$capture"
  rm -rf "$shared"
fi
exit $status
