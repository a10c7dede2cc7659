#!/usr/bin/env bash
# MPI on simulated EFA, as a user runs it: 2 and 4 ranks of a program that looks at every byte (ranks.c), on the Open MPI and the
# MPICH of this machine. One that is not installed, or knows no libfabric, is skipped. Arguments: efa-run, ranks.c.
set -euo pipefail
efa_run=$PWD/$1 source=$PWD/$2
unset BUILD_WORKING_DIRECTORY
# Open MPI makes sockets below TMPDIR, whose names have to be short.
work=$(mktemp -d /tmp/mpi.XXXXXX)
trap 'rm -rf "$work"' EXIT
export HOME=$work TMPDIR=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

fail() { echo "FAILED: $*"; cat "$work"/log; exit 1; }

# NAME RANKS COMMAND...: runs the ranks, and looks whether their messages went through NICs.
run() {
  local name=$1 ranks=$2 packets
  shift 2
  rm -rf "$work"/trace*
  timeout 240 "$efa_run" --nics=1 --fabric="mpi.$(mktemp -u XXXXXXXXXX)" --trace="$work/trace.json" "$@" >"$work/log" 2>&1 ||
    fail "$name, $ranks ranks: exit status $?"
  grep -F "right: $ranks ranks, " "$work/log" || fail "$name, $ranks ranks"
  [ "$(find "$work" -name 'trace.*.json' | wc -l)" = "$ranks" ] || fail "$name: not $ranks traces"
  for trace in "$work"/trace.*.json; do
    packets=$(grep -c '"cat":"packet"' "$trace") || true
    [ "$packets" -gt 100 ] || fail "$name: $packets packets in $trace"
  done
  if grep -F 'drydock-efa: finding' "$work/log"; then fail "a false finding"; fi
}

openmpi() {
  local flags=(--oversubscribe --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include efa)
  # Where it is missing, from Open MPI 5 on, windows are shared memory.
  if ompi_info --parsable 2>/dev/null | grep -q '^mca:osc:pt2pt:'; then flags+=(--mca osc pt2pt); fi
  mpicc.openmpi -O1 -Wall -o "$work/ranks" "$source" || fail "mpicc.openmpi"
  for ranks in 2 4; do run "Open MPI" $ranks mpirun.openmpi "${flags[@]}" -n $ranks "$work/ranks"; done
}

mpich() {
  mpicc.mpich -O1 -o "$work/ranks" "$source" 2>"$work/log" || fail "mpicc.mpich"
  export FI_PROVIDER=efa MPIR_CVAR_NOLOCAL=1
  for ranks in 2 4; do run MPICH $ranks mpirun.mpich -n $ranks "$work/ranks"; done
}

# NAME COMPILER: whether programs can be compiled with it.
have() {
  echo '#include <mpi.h>' >"$work/probe.c"
  command -v "mpirun.${2#mpicc.}" >/dev/null && "$2" -c -o "$work/probe.o" "$work/probe.c" >/dev/null 2>&1 && return
  echo "$1: skipped: not installed"
  return 1
}

if have "Open MPI" mpicc.openmpi; then openmpi; fi
if have MPICH mpicc.mpich; then
  if mpichversion 2>/dev/null | grep -q 'Device:.*ofi'; then mpich; else echo "MPICH: skipped: built without libfabric"; fi
fi
