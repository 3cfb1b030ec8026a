#!/usr/bin/env bash
# The wheel built without a network: sources with vendored crates, an empty home of cargo, a network namespace without any
# interface. Then the digest of the README, from Python. Unoptimised: it is about what is missing, not about speed.
# PATH has maturin. Needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/source/.cargo" "$work/home"
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- | tar --extract --directory "$work/source"
cargo vendor --locked --versioned-dirs "$work/source/vendor" 2>/dev/null >>"$work/source/.cargo/config.toml"
printf 'vendored: %s packages, %s MB\n' "$(ls "$work/source/vendor" | wc -l)" "$(du -sm "$work/source/vendor" | cut -f1)"

cat >"$work/build.sh" <<'END'
set -euo pipefail
! getent ahosts static.crates.io >/dev/null || { echo 'offline.sh: there is a network' >&2; exit 1; }
cd "$work/source/python"
maturin build --quiet --profile dev --offline --out "$work/wheels"
cargo build --quiet --offline --package ring
cp "$CARGO_TARGET_DIR/debug/ring" "$work/ring"
python3 -m venv --without-pip "$work/venv"
python3 -m pip --python "$work/venv/bin/python3" install --quiet --no-index --no-deps "$work"/wheels/*.whl
cd "$work/source"
"$work/venv/bin/python3" -c '
import sys, simrun
digest = simrun.run(sys.argv[1], platform="platforms/cluster.toml").digest
assert digest == "75a6d22f874eba26", digest
print("offline: digest", digest)
' "$work/ring"
END
export work CARGO_HOME=$work/home CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
# The programs of rustup stay where they are.
unshare --net bash "$work/build.sh"
