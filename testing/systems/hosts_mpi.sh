#!/usr/bin/env bash
# Open MPI 4 of this machine over several computers on simulated EFA: ranks that mpirun starts on them, each under efa-run, find
# each other by --network=tcp. Every byte is looked at. The computers are network namespaces (../efa_run/computers.sh).
#
#   testing/systems/hosts_mpi.sh                2 computers, 4 computers, and 2 ranks on each of 4
#
# Exit status: 0 when all went well, and where it cannot be run, which a line says.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in
  --help) sed -nE '2,/^set /{/^set /!s/^# ?//p}' testing/systems/hosts_mpi.sh; exit ;;
  '' | inside) ;;
  *) echo "hosts_mpi: it takes no arguments, only --help" >&2; exit 2 ;;
esac
source testing/efa_run/computers.sh
skip() { echo "hosts_mpi: skipped: $*"; exit 0; }

if [ "${1:-}" != inside ]; then
  can_make_computers || skip "no namespaces of users and networks, or no bridges, can be made here"
  mpirun --version 2>/dev/null | grep -q 'Open MPI) 4\.' || skip "no Open MPI 4 (Debian 12: openmpi-bin)"
  mpicc --showme >/dev/null 2>&1 && [ -n "$(find /usr/lib -name mpi.h -print -quit)" ] || skip "no headers (libopenmpi-dev)"
  ./bazelw build --color=no --curses=no -- //sim/verbs:efa-run </dev/null
  become_their_root "$0" inside
fi

work=$(mktemp -d)
trap 'kill -9 "${computers[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
cp -fL bazel-bin/sim/verbs/{efa-run,libdrydock_verbs.so} "$work"
cat >"$work/ranks.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char pattern(int who, int at) { return (unsigned char)(who * 31 + at * 7 + at / 251); }

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank, ranks, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int hop = 1; hop < ranks; ++hop) {
    int to = (rank + hop) % ranks, from = (rank + ranks - hop) % ranks;
    for (int size = 1; size <= 4 << 20; size *= 8) {
      unsigned char *out = malloc(size), *in = calloc(size, 1);
      for (int i = 0; i < size; ++i) out[i] = pattern(rank, i);
      MPI_Sendrecv(out, size, MPI_BYTE, to, 7, in, size, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < size; ++i) {
        if (in[i] != pattern(from, i)) MPI_Abort(MPI_COMM_WORLD, 3);
      }
      free(out);
      free(in);
    }
  }
  int one = rank + 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != ranks * (ranks + 1) / 2) MPI_Abort(MPI_COMM_WORLD, 4);
  if (rank == 0) printf("right: %d ranks\n", ranks);
  MPI_Finalize();
  return 0;
}
END
mpicc -O1 -o "$work/ranks" "$work/ranks.c"

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

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() {  # RANKS HOSTS
  local said
  on_computer 1 timeout 300 mpirun --mca plm_rsh_agent "$work/agent" --mca oob_tcp_if_include eth0 --host "$2" -n "$1" \
    --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include efa \
    "$work/efa-run" --quiet --network=tcp --key="$work/key" --nics=1 "$work/ranks"
  said=$("${line[@]}" 2>&1) || { echo "$said"; echo "hosts_mpi: $1 ranks on $2: failed"; exit 1; }
  grep -F "right: $1 ranks" <<<"$said" || { echo "$said"; exit 1; }
}
run 2 10.77.0.1:1,10.77.0.2:1
run 4 10.77.0.1:1,10.77.0.2:1,10.77.0.3:1,10.77.0.4:1
run 8 10.77.0.1:2,10.77.0.2:2,10.77.0.3:2,10.77.0.4:2
