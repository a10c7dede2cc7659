#!/usr/bin/env bash
# Writes the reference of the core's headers (fabric/*.h, coro/*.h) with Doxygen: reference.sh [FOLDER]; the default is dist/reference, at the
# root of the repository. Exit status 1: Doxygen warned, and its words follow; 2: it is missing.
set -euo pipefail
case "${1:-}" in -*) echo "reference: it takes a folder, and no flag $1" >&2; exit 2 ;; esac
if [ -d "$0.runfiles/drydock" ]; then cd "$0.runfiles/drydock"; fi
command -v doxygen >/dev/null || { echo "reference: doxygen is missing: ./bazelw --install doxygen" >&2; exit 2; }
out=${1:-${BUILD_WORKSPACE_DIRECTORY:-$PWD}/dist/reference}
case "$out" in /*) ;; *) out=${BUILD_WORKING_DIRECTORY:-$PWD}/$out ;; esac
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Copies: Doxygen names what Bazel's links lead to.
mkdir "$work/drydock"
cp -L --parents coro/*.h fabric/*.h "$work/drydock"
cp -L docs/reference/filter.awk docs/reference/Doxyfile "$work"
cd "$work"
chmod -R u+w .
cat >>Doxyfile <<TEXT
INPUT                  = drydock/coro drydock/fabric
OUTPUT_DIRECTORY       = "$out"
STRIP_FROM_PATH        = .
INPUT_FILTER           = "awk -f filter.awk"
FILTER_SOURCE_FILES    = NO
WARN_LOGFILE           = warnings.txt
TEXT
doxygen Doxyfile >/dev/null
if [ -s warnings.txt ]; then
  cat warnings.txt >&2
  exit 1
fi
echo "$out/html/index.html"
