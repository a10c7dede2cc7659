#!/usr/bin/env bash
# containers/local.sh: an image is made, unpacked and started, by itself and as ranks under a Slurm of two nodes. What is not
# installed or not allowed is skipped, with a word. Arguments: local.sh, slurm.sh, alltoall, doctor.
set -euo pipefail
local_sh=$PWD/$1 slurm=$PWD/$2 alltoall=$PWD/$3 doctor=$PWD/$4
unset BUILD_WORKING_DIRECTORY
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/containers-XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; tail -n +1 "$work"/*.log; exit 1; }
skip() { echo "skipped: $*"; exit 0; }

unshare --mount true 2>/dev/null || unshare --map-root-user --mount true 2>/dev/null || skip "no namespaces of mounts can be made here"
status=0
"$local_sh" build "$work/image.tar" "$alltoall" "$doctor" >"$work/build.log" 2>&1 || status=$?
[ $status != 77 ] || skip "buildah is not installed"
[ $status = 0 ] || fail "build"
"$local_sh" create "$work/image.tar" "$work/root" >"$work/create.log" 2>&1 || fail "create"
echo "== an image of $(du -sh --apparent-size "$work/image.tar" | cut -f1)"

echo "== it has the programs, and nothing else of this machine"
"$local_sh" start "$work/root" drydock-alltoall --rounds=1 >"$work/alone.log" 2>&1 || fail "alltoall"
grep -qF "Data is correct" "$work/alone.log" || fail "the simulator in the image"
"$local_sh" start "$work/root" ls / >"$work/ls.log" 2>&1 || fail "ls"
for folder in home root var; do ! grep -qx "$folder" "$work/ls.log" || fail "/$folder is there"; done
"$local_sh" start "$work/root" drydock-doctor >"$work/doctor.log" 2>&1 || true  # 2 where EFA cannot run
grep -qi "libfabric" "$work/doctor.log" || fail "doctor"

echo "== what cannot be is one line and status 2"
for wrong in "create $work/none.tar $work/other" "build $work/other.tar $work/none" "start $work/none ls" "create $work/image.tar $work/root" "stop $work/root ls"; do
  status=0
  # shellcheck disable=SC2086
  "$local_sh" $wrong >"$work/wrong.log" 2>&1 || status=$?
  [ $status = 2 ] || fail "$wrong ended with $status"
done

echo "== four ranks in it, on two nodes of Slurm"
status=0
"$slurm" 2 srun --quiet --mpi=pmix --nodes=2 --ntasks=4 "$local_sh" start "$work/root" \
  drydock-alltoall --provider=tcp --tokens=16 --rounds=2 --timeout=100 >"$work/slurm.log" 2>&1 </dev/null || status=$?
[ $status != 77 ] || skip "Slurm is not installed"
[ $status = 0 ] || fail "srun ended with $status"
grep -qF "Data is correct" "$work/slurm.log" || fail "alltoall in containers under Slurm"
grep -qF "ranks     4, 2 NICs each" "$work/slurm.log" || fail "not 4 ranks"
