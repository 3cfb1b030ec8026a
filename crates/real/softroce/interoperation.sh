#!/usr/bin/env bash
# interoperation.sh [OPERATIONS [LOSS]]: random operations between our adapter, on a UDP socket, and the software adapter of Linux (rdma_rxe), both ways
# at once, in one guest (crates/real/examples/interoperation.rs). LOSS (1%) is what `tc netem` loses in each direction of the veth pair.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need cargo=cargo strip=binutils
operations=${1:-2000} loss=${2:-1%}
"$here/image.sh" >/dev/null
cd "$root"
cargo build --quiet -p simrun-real --features verbs --example interoperation
bare=$cache/conformance-programs
mkdir -p "$bare"
strip -o "$bare/interoperation" "${CARGO_TARGET_DIR:-$root/target}/debug/examples/interoperation"
# shellcheck disable=SC2016 # for the guest's shell
"$here/run.sh" -t 900 -f "$here/veth-guest.sh" -f "$bare/interoperation" '
set -e
uname -r
. ./veth-guest.sh
/bin/tc qdisc add dev veth0 root netem loss '"$loss"'
nsenter -t $sleeper -n /bin/tc qdisc add dev veth1 root netem loss '"$loss"'
status=0
nsenter -t $sleeper -n ./interoperation --local 10.0.1.2 --peer 10.0.1.1 --device rxe1 --operations '"$operations"' || status=$?
/bin/tc -s qdisc show dev veth0 | grep dropped
nsenter -t $sleeper -n /bin/tc -s qdisc show dev veth1 | grep dropped
kill $sleeper
exit $status'
