#!/usr/bin/env bash
# Open MPI on simulated EFA, as Debian 12 and 13 package it: ranks that are started by `efa-run mpirun` exchange messages of
# 0 bytes to 4 MiB, reduce, exchange all with all, and write and read each other's windows. Every byte is looked at, and no rule
# is broken (efa-run --findings=fail). In roots of their own (roots.sh).
#
#   testing/systems/mpi.sh                      both releases, 2 and 4 ranks
#   testing/systems/mpi.sh RELEASE RANKS [MPIRUN_FLAG...]
#
# Exit status: 0 when all went well, and where a root cannot be had, which a line says.
set -euo pipefail
cd "$(dirname "$0")/../.."
me=mpi
source testing/systems/roots.sh

readonly RANKS='import mpi4py
mpi4py.rc.thread_level = "single"  # with threads, windows cannot be messages
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
peer = rank ^ 1

def pattern(who, size):
    return bytes((who * 31 + i * 7 + i // 251) & 255 for i in range(min(size, 9000))) + bytes(max(0, size - 9000))

for size in [0, 1, 8, 100, 8192, 65536, 1 << 20, 4 << 20]:
    came = bytearray(size)
    world.Sendrecv(pattern(rank, size), peer, 7, came, peer, 7)
    assert came == pattern(peer, size), f"message of {size} bytes"
assert world.allreduce(rank + 1) == ranks * (ranks + 1) // 2, "allreduce"
assert world.alltoall([rank * 100 + i for i in range(ranks)]) == [i * 100 + rank for i in range(ranks)], "alltoall"
window = MPI.Win.Allocate(65536, 1, comm=world)
window.Fence()
window.Put(pattern(rank, 5000), peer)
window.Fence()
assert bytes(window.tomemory()[:5000]) == pattern(peer, 5000), "put"
came = bytearray(5000)
window.Get(came, peer)
window.Fence()
assert came == pattern(rank, 5000), "get"
window.Free()
if rank == 0:
    print("right:", ranks, "ranks,", MPI.Get_library_version().split(",")[0], flush=True)'

run() {  # RELEASE RANKS [MPIRUN_FLAG...]
  local release=$1 ranks=$2 said fabric
  shift 2
  make_root "$release" base-files,ibverbs-providers,libc6,libfabric-bin,libstdc++6,openmpi-bin,python3,python3-mpi4py
  cp -fL bazel-bin/sim/verbs/{efa-run,libdrydock_verbs.so} "$root/opt/drydock"
  fabric=mpi-$(mktemp -u XXXXXXXXXX)
  # Debian 12's one-sided component for messages: the default one would write to the window's shared memory. Debian 13's Open MPI
  # has only the default.
  if [ "$release" = bookworm ]; then set -- --mca osc pt2pt "$@"; fi
  said=$(HOME=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 inside \
    /opt/drydock/efa-run --nics=1 --findings=fail --fabric="$fabric" /usr/bin/mpirun.openmpi --oversubscribe --mca pml cm --mca mtl ofi \
    --mca mtl_ofi_provider_include efa "$@" -n "$ranks" /usr/bin/python3 -B -c "$RANKS" 2>&1) ||
    { echo "$said"; echo "$me: $release, $ranks ranks: failed"; return 1; }
  grep -F 'right:' <<<"$said" || { echo "$said"; return 1; }
}

./bazelw build --color=no --curses=no -- //sim/verbs:efa-run </dev/null
if [ $# -gt 0 ]; then
  run "$@"
  exit
fi
for release in bookworm trixie; do
  for ranks in 2 4; do
    run "$release" "$ranks"
  done
done
