#!/usr/bin/env bash
# Runs the CI jobs of examples/ as their services would, and the commands of the Dockerfile: each in a Debian 12 of its own, like the
# image debian:12, with Drydock's packages and nothing else of this repository. Takes five minutes on two idle processors.
#
#   testing/systems/jobs.sh            shards 0 and 3 of both jobs, the image, and what a job keeps of a test that fails
#
# They run in the project of examples/cmake, to which this adds a test of two processes in Python.
# Exit status: 0 if all passed, or if it cannot run here, for which it prints the reason; with
# NEED_ROOTS set, 1 if it cannot run.
set -euo pipefail
cd "$(dirname "$0")/../.."
me=jobs
source testing/systems/roots.sh
if [ $# -gt 0 ]; then echo "$me: it takes no arguments, only --help" >&2; exit 2; fi
python3 -c 'import yaml' 2>/dev/null || ./bazelw --install python3-yaml </dev/null || skip "there is no python3-yaml"
fetch_root bookworm bookworm-image --variant=minbase

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$me: FAILED: $*"; exit 1; }
./bazelw run --color=no --curses=no //packaging:deb -- --out="$work/debs" --fast </dev/null >"$work/log" 2>&1 || { tail "$work/log"; fail "no packages"; }

project=$work/project
mkdir -p "$project/third_party/drydock" "$project/tests"
cp "$work"/debs/*.deb "$project/third_party/drydock"
cp -r examples/source "$project/source"
sed 's#\.\./source#source#' examples/cmake/CMakeLists.txt >"$project/CMakeLists.txt"
cat >"$project/tests/test_messages.py" <<'END'
import pytest

@pytest.mark.drydock(nics=1)
def test_messages(drydock_fabric):
    drydock_fabric.start('build/messages').check(0)
END

# FOLDER SCRIPT: runs SCRIPT in a copy of the root that is discarded afterwards, with FOLDER as
# /work.
in_image() {
  unshare --mount --propagation=private bash -euc '
    root=$1 folder=$2 script=$3 changes=$4
    mount -t tmpfs none "$changes"
    mkdir "$changes/upper" "$changes/work" "$changes/root"
    mount -t overlay none -o "lowerdir=$root,upperdir=$changes/upper,workdir=$changes/work" "$changes/root"
    cd "$changes/root"
    mkdir -p work
    mount --bind "$folder" work
    mount --rbind /dev dev
    mount -t tmpfs none dev/shm
    mount --rbind /sys sys
    mount -t proc proc proc
    cp -L /etc/resolv.conf etc/resolv.conf 2>/dev/null || true
    exec chroot . env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -c "cd /work && $script"' \
    in_image "$root" "$1" "$2" "$(mktemp -d "$work/changes.XXXX")"
}

mkdir "$work/probe"
in_image "$work/probe" 'apt-get update' >"$work/log" 2>&1 || skip "a root cannot be laid over, or has no network: $(tail -n 1 "$work/log")"

# NAME JOB SHARD: the status of the job, whose output goes to $work/log; the folder is $work/NAME.
job() {
  local folder=$work/$1
  cp -r "$project" "$folder"
  python3 testing/systems/jobs.py "examples/$2" "$3" >"$folder/job.sh" || return
  in_image "$folder" 'bash job.sh' >"$work/log" 2>&1
}

for name in github-actions gitlab-ci; do
  for shard in 0 3; do
    before=$SECONDS
    job "$name-$shard" "$name.yml" "$shard" || { tail -n 30 "$work/log"; fail "$name.yml, shard $shard"; }
    echo "$me: $name.yml, shard $shard: passed in $((SECONDS - before)) s"
    grep -q '\[  PASSED  \] [1-9]' "$work/log" || fail "$name.yml ran no seed test"
    [ "$name-$shard" != github-actions-0 ] || grep -q '1 passed' "$work/log" || fail "$name.yml ran no test of pytest"
    for file in lossy_network lossy_network.findings; do
      [ $shard = 3 ] || ls "$work/$name-$shard/failed/$file".[0-9]*.json >/dev/null || fail "$name.yml keeps no $file"
    done
  done
done
# Plants a bug: the test waits for a ninth page, which nobody sends.
sed -i 's/Reached(8,/Reached(9,/' "$project/source/copy_test.cc"
for name in github-actions gitlab-ci; do
  if job "$name-bug" "$name.yml" 1; then fail "$name.yml does not see a test that fails"; fi
  ls "$work/$name-bug"/failed/*.capsule >/dev/null || { tail -n 30 "$work/log"; fail "$name.yml keeps no capsule of a seed that failed"; }
  [ -s "$work/$name-bug/failed/copy.xml" ] || fail "$name.yml keeps no report"
  echo "$me: $name.yml, with a bug: failed, and kept $(ls "$work/$name-bug/failed" | wc -l) files"
done

before=$SECONDS
folder=$work/image
mkdir "$folder"
cp "$work"/debs/*.deb "$folder"
cp -r examples "$folder/examples"
# COPY and RUN, and then what one would start in the image.
{
  echo 'set -e; mkdir -p /tmp/drydock; cp *.deb /tmp/drydock'
  sed -n '/^RUN /,/[^\\]$/p' examples/Dockerfile | sed '1s/^RUN //'
  echo 'drydock doctor >doctor.txt || [ $? = 2 ]'  # there is no EFA NIC
  echo 'sh -exc "$(sed -n "s/^  on the simulator, now: *//p" doctor.txt) --num-pages=16"'
  echo 'cmake -S examples/cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure'
  echo 'meson setup meson examples/meson && meson test -C meson'
} >"$folder/image.sh"
in_image "$folder" 'sh image.sh' >"$work/log" 2>&1 || { tail -n 30 "$work/log"; fail Dockerfile; }
echo "$me: Dockerfile: doctor, write, and the projects of CMake and meson passed in $((SECONDS - before)) s"
