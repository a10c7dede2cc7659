#!/usr/bin/env bash
# Open MPI 4 of this machine over several computers, as network namespaces, on simulated EFA: ranks that mpirun starts there, each under
# efa-run, meet by --network=tcp. First alltoall, which only has itself started by mpirun; then, where Open MPI's headers are
# installed, too, its own messages, and every byte is looked at (ranks.c). Arguments: efa-run, ranks.c, and alltoall where it knows PMIx.
set -euo pipefail
source "$(dirname "$0")/computers.sh"
if [ "$1" != inside ]; then
  skip_without_computers
  mpirun=$(command -v mpirun.openmpi || command -v mpirun) || { echo "skipped: Open MPI is not installed (openmpi-bin)"; exit 0; }
  "$mpirun" --version 2>/dev/null | grep -qE '\((Open MPI|OpenRTE)\) 4\.' || { echo "skipped: $mpirun is not of Open MPI 4"; exit 0; }
  # By its name: of a path it takes the folder two levels up for its own, which of /bin is none.
  become_their_root "$0" inside "$(basename "$mpirun")" "$PWD/$1" "$PWD/$2" ${3:+"$PWD/$3"}
fi
mpirun=$2 efa_run=$3 source=$4 alltoall=${5:-}
unset BUILD_WORKING_DIRECTORY
# Open MPI makes sockets below TMPDIR, whose names have to be short.
work=$(mktemp -d /tmp/mpi.XXXXXX)
trap 'end_computers; rm -rf "$work"' EXIT
export HOME=$work TMPDIR=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fail() { echo "FAILED: $*"; cat "$work/log"; exit 1; }

make_computers 4
for i in 1 2 3 4; do echo "10.77.0.$i ${computers[i]}" >>"$work/table"; done
# What stands for ssh.
cat >"$work/agent" <<END
#!/bin/bash
computer=\$(awk -v address="\$1" '\$1 == address { print \$2 }' $work/table)
shift
exec nsenter -t "\$computer" --net --mount --uts sh -c "\$*"
END
chmod +x "$work/agent"

# run RANKS EACH TEXT WORD...: ranks on the first computers, so many on each, which print the text once. The words are mpirun's, up to
# "--", then the program and its arguments.
run() {
  local ranks=$1 each=$2 text=$3 hosts=() words=() i
  shift 3
  for ((i = 1; i * each <= ranks; ++i)); do hosts+=("10.77.0.$i:$each"); done
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  echo "== $(basename "$1"): $ranks ranks, $each on each computer"
  # Bound to processors, ranks of two computers would have the same one.
  on_computer 1 timeout -k 10 240 "$mpirun" --mca plm_rsh_agent "$work/agent" --mca oob_tcp_if_include eth0 --bind-to none \
    --host "$(IFS=,; echo "${hosts[*]}")" -n "$ranks" "${words[@]}" \
    "$efa_run" --quiet --network=tcp --key="$work/key" --nics=1 "$@"
  "${line[@]}" >"$work/log" 2>&1 </dev/null || fail "exit status $?"
  [ "$(grep -cF -- "$text" "$work/log")" = 1 ] || fail "not once '$text'"
  if grep -F 'drydock-efa: finding' "$work/log"; then fail "a false finding"; fi
}

if [ -n "$alltoall" ]; then
  run 2 1 "Data is correct" -- "$alltoall" --fabric=libfabric --provider=efa --nics=1 --tokens=16 --rounds=2
  run 4 2 "Data is correct" -- "$alltoall" --fabric=libfabric --provider=efa --nics=1 --tokens=16 --rounds=2
else
  echo "skipped: alltoall has no PMIx (libpmix-dev)"
fi

compiler=$(command -v mpicc.openmpi || command -v mpicc) || compiler=false
printf '#include <mpi.h>\n#ifndef OPEN_MPI\n#error another MPI\n#endif\n' >"$work/probe.c"
if ! "$compiler" -c -o "$work/probe.o" "$work/probe.c" >"$work/log" 2>&1; then
  echo "skipped: Open MPI's own messages: its headers are not installed (libopenmpi-dev)"
  exit
fi
"$compiler" -O1 -Wall -o "$work/ranks" "$source" >"$work/log" 2>&1 || fail "$compiler"
flags=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include efa --mca osc pt2pt)
for each in 1 2; do
  for computers_of in 2 4; do
    run $((computers_of * each)) "$each" "right: $((computers_of * each)) ranks, " "${flags[@]}" -- "$work/ranks"
  done
done
