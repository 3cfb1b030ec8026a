#!/usr/bin/env bash
# The package for Python: the wheels, installed alone in an environment of their own; types; tests; the notebook.
# Use: run.sh TARGET, the target folder of a release build, whose programs the tests run. PATH has the tools of
# python/requirements.txt.
set -euo pipefail
target=$(realpath "${1:?a target folder}")
cd "$(dirname "$0")/../.."
export CARGO_TARGET_DIR=$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for package in python python/tools; do
  (cd "$package" && maturin build --quiet --locked --release --offline --out "$work/wheels")
done
for wheel in "$work"/wheels/*.whl; do
  printf '%s: %s bytes\n' "$(basename "$wheel")" "$(stat -c %s "$wheel")"
done
# What most users load: the simulator. The tools have pictures, fonts and all measurements.
# Half of it is the simulator, which runs compiled MPI programs. Without them it has 2.3 MB; the goal was 4 MB.
# OpenMP has 40 kB of it.
[ "$(stat -c %s "$work"/wheels/simrun-[0-9]*.whl)" -le 5650000 ]

for app in late-sender pingpong ring two-senders; do
  cargo build --quiet --locked --release --manifest-path "apps/$app/Cargo.toml"
done

# Nothing but the wheels can be imported there, then the readers of tables of the other environment.
python3 -m venv --without-pip "$work/venv"
python3 -m pip --python "$work/venv/bin/python3" install --quiet --no-index --find-links "$work/wheels" 'simrun[tools]'
(cd / && "$work/venv/bin/python3" -c 'import importlib.metadata as m; print(sorted({d.name for d in m.distributions()}))')
python3 -c 'import site; print(site.getsitepackages()[0])' >"$(echo "$work"/venv/lib/python3*/site-packages)/readers.pth"

python3 -m mypy --config-file python/pyproject.toml --cache-dir "$work/mypy" python/simrun python/tests
unset SIMRUN
export SIMRUN_PROGRAMS=$target/release PATH=$work/venv/bin:$PATH
"$work/venv/bin/python3" -m pytest -q -p no:cacheprovider python/tests
JUPYTER_DATA_DIR=$work/jupyter "$work/venv/bin/python3" python/tests/notebook.py docs/python.ipynb
