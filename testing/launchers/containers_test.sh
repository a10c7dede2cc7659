#!/usr/bin/env bash
# containers/local.sh: an image is made, unpacked and started, by itself, by podman, and as ranks under a Slurm of two nodes. What is
# not installed or not allowed is skipped, with a word. Arguments: local.sh, slurm.sh, alltoall, doctor, write, a test.
set -euo pipefail
local_sh=$PWD/$1 slurm=$PWD/$2 alltoall=$PWD/$3 doctor=$PWD/$4 write=$PWD/$5 test=$PWD/$6
# A test in the image would write there for Bazel, and nothing of it is in the image.
unset BUILD_WORKING_DIRECTORY XML_OUTPUT_FILE TEST_PREMATURE_EXIT_FILE TEST_WARNINGS_OUTPUT_FILE
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/containers-XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; tail -n +1 "$work"/*.log; exit 1; }
skip() { echo "skipped: $*"; exit 0; }

unshare --mount true 2>/dev/null || unshare --map-root-user --mount true 2>/dev/null || skip "no namespaces of mounts can be made here"
status=0
"$local_sh" build "$work/image.tar" "$alltoall" "$doctor" "$write" "$test" >"$work/build.log" 2>&1 || status=$?
[ $status != 77 ] || skip "buildah is not installed"
[ $status = 0 ] || fail "build"
"$local_sh" create "$work/image.tar" "$work/root" >"$work/create.log" 2>&1 || fail "create"
echo "== an image of $(du -sh --apparent-size "$work/image.tar" | cut -f1)"

# runs_there START...: what the image is for, by a command that starts another one in it.
runs_there() {
  "$@" drydock-alltoall --rounds=1 >"$work/alone.log" 2>&1 || fail "alltoall, by $1"
  grep -qF "Data is correct" "$work/alone.log" || fail "the simulator in the image, by $1"
  "$@" drydock-write >"$work/write.log" 2>&1 || fail "write, by $1"
  [ "$(tail -n 1 "$work/write.log")" = "Data is correct" ] || fail "write in the image, by $1"
  "$@" "drydock-$(basename "$test")" >"$work/test.log" 2>&1 || fail "a test in the image, by $1"
  grep -qF "[  PASSED  ]" "$work/test.log" || fail "no test ran in the image, by $1"
  "$@" drydock-doctor >"$work/doctor.log" 2>&1 || true  # 2 where EFA cannot run
  grep -q '^libraries$' "$work/doctor.log" || fail "the doctor, by $1"
  ! grep -E "there is no libfabric|the loader finds no" "$work/doctor.log" || fail "the doctor finds no libraries in the image, by $1"
}

echo "== it has the programs, and nothing else of this machine"
runs_there "$local_sh" start "$work/root"
"$local_sh" start "$work/root" ls / >"$work/ls.log" 2>&1 || fail "ls"
for folder in home root var; do ! grep -qx "$folder" "$work/ls.log" || fail "/$folder is there"; done

echo "== what cannot be is one line and status 2"
for wrong in "create $work/none.tar $work/other" "build $work/other.tar $work/none" "start $work/none ls" "create $work/image.tar $work/root" "stop $work/root ls"; do
  status=0
  # shellcheck disable=SC2086
  "$local_sh" $wrong >"$work/wrong.log" 2>&1 || status=$?
  [ $status = 2 ] || fail "$wrong ended with $status"
done

echo "== the same image, by podman"
# Limits of its own, for its defaults are above what a machine without CAP_SYS_RESOURCE may set; and runc, for Debian 12's crun takes no
# mixture of the two versions of control groups. Its folder for what runs has to have a short name.
short=$(mktemp -d /tmp/podman-XXXXXX)
trap 'rm -rf "$work" "$short" || true' EXIT
podman=(podman --root "$work/podman" --runroot "$short" --storage-driver vfs --cgroup-manager cgroupfs --runtime runc)
in_podman=("${podman[@]}" run --rm --network=none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 localhost/drydock:latest)
if ! command -v podman >/dev/null || ! command -v runc >/dev/null; then
  echo "skipped: podman or runc is not installed"
elif ! { "${podman[@]}" load --input "$work/image.tar" && "${in_podman[@]}" ls /; } >"$work/podman.log" 2>&1; then
  echo "skipped: podman starts nothing here: $(tail -n 1 "$work/podman.log")"
else
  runs_there "${in_podman[@]}"
fi

echo "== four ranks in it, on two nodes of Slurm"
status=0
"$slurm" 2 srun --quiet --mpi=pmix --nodes=2 --ntasks=4 "$local_sh" start "$work/root" \
  drydock-alltoall --provider=tcp --tokens=16 --rounds=2 --timeout=100 >"$work/slurm.log" 2>&1 </dev/null || status=$?
[ $status != 77 ] || skip "Slurm is not installed"
[ $status = 0 ] || fail "srun ended with $status"
grep -qF "Data is correct" "$work/slurm.log" || fail "alltoall in containers under Slurm"
grep -qF "ranks     4, 2 NICs each" "$work/slurm.log" || fail "not 4 ranks"
