#!/usr/bin/env bash
# The tests of the Python package, over efa-run, which is the argument; pytest's where it is installed. And its wheel, installed and imported.
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 0; }
export DRYDOCK_EFA_RUN=$PWD/$1 PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
unset BUILD_WORKING_DIRECTORY
work=${TEST_TMPDIR:-$(mktemp -d)}
python3 python/tests/drydock_test.py
python3 python/tests/plugin_test.py

echo "== the wheel: the same bytes twice; a module and a plugin in it"
for time in one two; do mkdir -p "$work/$time"; python3 python/wheel.py 0+git20261231.1.abc1234.local 1700000000 "$work/$time"; done
wheel=drydock-0+git20261231.1.abc1234.local-py3-none-any.whl
cmp "$work/one/$wheel" "$work/two/$wheel"
python3 python/wheel.py 0 0 "$work" || { echo "FAILED: a wheel of 1970"; exit 1; }
status=0
said=$(python/wheel.sh --help 2>&1) || status=$?
[ $status = 2 ] && [ "$said" = "wheel: it takes a folder, and no flag --help" ] || { echo "FAILED: wheel.sh --help gave $status: $said"; exit 1; }
mkdir -p "$work/installed"
python3 -m zipfile -e "$work/one/$wheel" "$work/installed"
cd "$work" # not where the sources are
PYTHONPATH=$work/installed python3 -c '
import drydock, importlib.metadata as metadata
assert drydock.__file__.startswith("'"$work"'/installed"), drydock.__file__
assert metadata.version("drydock") == "0+git20261231.1.abc1234.local"
entries = metadata.distribution("drydock").entry_points
assert [entry.value for entry in entries] == ["drydock.pytest_plugin"], entries
with drydock.fabric() as env: env.run("true")
'
echo "the Python package works"
