#!/usr/bin/env bash
# The wheel and the static executable built without a network: sources with vendored crates, an empty home of cargo, a
# network namespace without any interface. Then the digest of the README, from Python. Unoptimised: it is about what is
# missing, not about speed. Use: offline.sh OUT, a folder that gets the static executable. PATH has maturin. Needs root.
set -euo pipefail
out=$(realpath -m "${1:?a folder}")
cd "$(dirname "$0")/../.."
target=x86_64-unknown-linux-musl
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  echo "offline.sh: NOT STATIC: the standard library for $target is missing: rustup target add $target" >&2
  target=$(rustc -vV | sed -n 's/^host: //p')
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/source/.cargo" "$work/home"
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- | tar --extract --directory "$work/source"
cargo vendor --locked --versioned-dirs "$work/source/vendor" 2>/dev/null >>"$work/source/.cargo/config.toml"
crates=("$work"/source/vendor/*)
printf 'vendored: %s packages, %s MB\n' "${#crates[@]}" "$(du -sm "$work/source/vendor" | cut -f1)"

cat >"$work/build.sh" <<'END'
set -euo pipefail
! getent ahosts example.org >/dev/null || { echo 'offline.sh: there is a network' >&2; exit 1; }
cd "$work/source/python"
maturin build --quiet --locked --profile dev --offline --target "$target" --out "$work/wheels"
cd "$work/source"
cargo build --quiet --offline --target "$target" --package ring
case $target in
*-musl) packaging/static.sh "$out" dev ;;
esac
python3 -m venv --without-pip "$work/venv"
python3 -m pip --python "$work/venv/bin/python3" install --quiet --no-index --no-deps "$work"/wheels/*.whl
"$work/venv/bin/python3" -c '
import sys, simrun
digest = simrun.run(sys.argv[1], platform="platforms/cluster.toml").digest
assert digest == "75a6d22f874eba26", digest
print("offline: digest", digest)
' "$CARGO_TARGET_DIR/$target/debug/ring"
END
export work out target CARGO_HOME=$work/home CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false
# The programs of rustup stay where they are.
unshare --net bash "$work/build.sh"
