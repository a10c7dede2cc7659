#!/usr/bin/env bash
# The contract suite on the provider `efa` of libfabric 2.1, which Debian 13 has, on the simulated device: on the fabrics
# `efa` and `efa-direct`, with both ends in one process and in two. The suite's backend is built against that libfabric's
# headers; what runs is Debian 13's libraries and nothing of this machine's, in a root of their own (roots.sh). Only what sees
# those headers is compiled again. The provider breaks no rule (efa-run --findings), whatever the suite does above it, and
# libfabric's own ping-pong between two processes breaks none either.
#
#   testing/systems/contract.sh                                      all four at once
#   testing/systems/contract.sh FABRIC PROCESSES [GTEST_FLAG...]     one of them: efa or efa-direct, 1 or 2
#
# What may differ, and what breaks a rule on purpose, is listed in testing/contract (efa_known.sh). Exit status: 0 when nothing
# else did, and where such a root cannot be had, which a line says.
set -euo pipefail
cd "$(dirname "$0")/../.."
me=contract
source testing/systems/roots.sh
source testing/contract/efa_known.sh

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

# FABRIC PROCESSES FINDINGS GTEST_FLAG...
suite() {
  local fabric=$1 processes=$2 findings=$3
  shift 3
  # Drawn: another run of this may be under way.
  DRYDOCK_PROVIDER=$fabric DRYDOCK_PROCESSES=$processes inside \
    /opt/drydock/efa-run --quiet --profile=p5 --nics=1 --findings="$findings" --fabric="contract-$(mktemp -u XXXXXXXXXX)" \
    /opt/drydock/tcp_contract_test "$@" 2>&1 | sed '/: Skipped$/,+1d'  # what this provider lacks
}

run() {  # FABRIC PROCESSES
  local not rules
  not=$(not_kept 2.1 "$1" "$2")
  rules=$(breaking)
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  echo "$me: $1, with both ends in $2 process(es)"
  suite "$1" "$2" fail "--gtest_filter=-$not:$rules" --gtest_brief=1 | tee "$log"
  # The process of the target has an exit status of its own.
  if grep -q '^drydock-efa: finding: ' "$log"; then return 1; fi
  suite "$1" "$2" off "--gtest_filter=$rules-$not" --gtest_brief=1
}

# That libfabric's own ping-pong between two processes breaks no rule either.
pingpong() {
  local fabric=pingpong-$(mktemp -u XXXXXXXXXX) port=$((20000 + RANDOM % 10000)) server listening
  printf -v listening ': 00000000:%04X [0-9:A-F]* 0A ' "$port"
  local words=(/opt/drydock/efa-run --quiet --profile=p5 --nics=1 --findings=fail --fabric="$fabric" /usr/bin/fi_pingpong -p efa -e rdm)
  inside "${words[@]}" -c -B "$port" &
  server=$!
  for _ in $(seq 600); do
    if grep -q "$listening" /proc/net/tcp; then break; fi
    sleep 0.1
  done
  inside "${words[@]}" -c -P "$port" 127.0.0.1 || { kill "$server"; return 1; }
  wait "$server"
}

make_root trixie base-files,ibverbs-providers,libc6,libfabric-bin,libfabric-dev,libstdc++6
build
if [ $# -gt 2 ]; then
  fabric=$1 processes=$2
  shift 2
  suite "$fabric" "$processes" report "$@"
  exit
fi
if [ $# -gt 0 ]; then
  run "$@"
  exit
fi
# At once: most of the time is spent on waiting. The longest is spread.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
processes=()
names=()
begin() {  # NAME COMMAND...
  ("${@:2}") >"$logs/${#names[@]}" 2>&1 &
  processes+=($!)
  names+=("$1")
}
for part in 0 1 2; do
  GTEST_TOTAL_SHARDS=3 GTEST_SHARD_INDEX=$part begin "efa, 2 process(es), part $((part + 1)) of 3" run efa 2
done
begin "efa, 1 process(es)" run efa 1
begin "efa-direct, 1 process(es)" run efa-direct 1
begin "efa-direct, 2 process(es)" run efa-direct 2
begin "fi_pingpong, 2 process(es)" pingpong
failed=0
for i in "${!processes[@]}"; do
  word=passed
  wait "${processes[i]}" || { word=FAILED; failed=1; }
  cat "$logs/$i"
  echo "$me: ${names[i]}: $word"
done
exit $failed
