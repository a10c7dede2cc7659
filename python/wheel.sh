#!/usr/bin/env bash
# Makes the wheel of the Python package: wheel.sh [FOLDER]; the default is dist, at the root of the repository.
set -euo pipefail
case "${1:-}" in -*) echo "wheel: it takes a folder, and no flag $1" >&2; exit 2 ;; esac
if [ -d "$0.runfiles/drydock" ]; then cd "$0.runfiles/drydock"; fi
source packaging/version.sh
command -v python3 >/dev/null || { echo "wheel: python3 is missing" >&2; exit 2; }
repository=${BUILD_WORKSPACE_DIRECTORY:-$PWD}
out=${1:-$repository/dist}
case "$out" in /*) ;; *) out=${BUILD_WORKING_DIRECTORY:-$PWD}/$out ;; esac
date=$(date_of "$repository")
version=$(version_of "$repository" "$date")
mkdir -p "$out"
python3 python/wheel.py "$version" "$date" "$out"
