#!/usr/bin/env bash
# The contract suite on the provider `efa` of libfabric 2.1, which Debian 13 has, on the simulated device: on the fabrics
# `efa` and `efa-direct`, with both ends in one process and in two. The suite's backend is built against that libfabric's
# headers; what runs is Debian 13's libraries and nothing of this machine's, in a root of their own (roots.sh).
#
#   testing/systems/contract.sh                                      all four
#   testing/systems/contract.sh FABRIC PROCESSES [GTEST_FLAG...]     one of them: efa or efa-direct, 1 or 2
#
# What may differ is listed in efa_2_1_differences.txt beside this. Exit status: 0 when nothing else did, and where such a
# root cannot be had, which a line says.
set -euo pipefail
cd "$(dirname "$0")/../.."
me=contract
source testing/systems/roots.sh
readonly DIFFERENCES=testing/systems/efa_2_1_differences.txt

# The suite with the headers of the root's libfabric, and of nothing else there: the compiler and the C library are this
# machine's. That libfabric wants a newer C library than the one that the suite is linked with.
build() {
  local sdk=$root/opt/libfabric
  mkdir -p "$sdk/include" "$sdk/lib"
  cp -rT "$root/usr/include/rdma" "$sdk/include/rdma"
  cp -L "$root/usr/lib/x86_64-linux-gnu/libfabric.so" "$sdk/lib/"
  DRYDOCK_LIBFABRIC=$sdk ./bazelw build --color=no --curses=no --linkopt=-Wl,--allow-shlib-undefined -- \
    //testing/contract:tcp_contract_test //sim/verbs:efa-run </dev/null
  cp -fL bazel-bin/testing/contract/tcp_contract_test bazel-bin/sim/verbs/{efa-run,libdrydock_verbs.so} "$root/opt/drydock"
}

# FABRIC PROCESSES: prints what is not run, for GoogleTest. A line of the list is FABRIC/PROCESSES, where * is any, and a name.
excluded() {
  sed -e 's/#.*//' "$DIFFERENCES" | awk -v fabric="$1" -v processes="$2" '
    NF {
      split($1, run, "/")
      if ((run[1] == "*" || run[1] == fabric) && (run[2] == "*" || run[2] == processes)) {
        printf "%s%s", separator, $2
        separator = ":"
      }
    }'
}

run() {  # FABRIC PROCESSES [GTEST_FLAG...]
  local fabric=$1 processes=$2
  shift 2
  echo "$me: $fabric, with both ends in $processes process(es)"
  [ $# -gt 0 ] || set -- "--gtest_filter=-$(excluded "$fabric" "$processes")" --gtest_brief=1
  # Drawn: another run of this may be under way.
  DRYDOCK_PROVIDER=$fabric DRYDOCK_PROCESSES=$processes inside \
    /opt/drydock/efa-run --profile=p5 --nics=1 --fabric="contract-$(mktemp -u XXXXXXXXXX)" \
    /opt/drydock/tcp_contract_test "$@" 2>&1 | sed '/: Skipped$/,+1d'  # what this provider lacks
}

make_root trixie base-files,ibverbs-providers,libc6,libfabric-bin,libfabric-dev,libstdc++6
build
if [ $# -gt 0 ]; then
  run "$@"
  exit
fi
for fabric in efa efa-direct; do
  for processes in 1 2; do
    run "$fabric" "$processes"
  done
done
