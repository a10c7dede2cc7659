#!/usr/bin/env bash
# The contract suite on libfabric's own provider `efa` with its ends on two computers: network namespaces with shared memory of their own,
# whose simulated NICs reach each other over TCP (efa-run --network). Arguments: efa-run, the suite's program, computers.sh, and which
# behaviours, as a filter of GoogleTest (*: all).
set -euo pipefail
source "$3"
if [ "${5:-}" != inside ]; then
  skip_without_computers
  become_their_root "$0" "$PWD/$1" "$PWD/$2" "$PWD/$3" "$4" inside
fi
efa_run=$1 suite=$2 which=$4
source "$(dirname "$0")/efa_known.sh"
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/computers-XXXXXX")
trap 'end_computers; rm -rf "$work"' EXIT
make_computers 2
# The target's process moves to the second one (../two_processes).
export DRYDOCK_PROVIDER=efa DRYDOCK_PROCESSES=2 DRYDOCK_OTHER_COMPUTER=${computers[2]}

version=$(fi_info --version | sed -n 's/^libfabric: //p')
[ -n "$version" ] || { echo "fi_info does not say which libfabric this is"; exit 1; }
not=$(not_kept "$version" efa 2)  # the real network adds nothing
rules=$(breaking)

IFS=: read -ra contracts <<<"$which"
has() { "$suite" --gtest_list_tests --gtest_filter="$1" | grep '^  ' >/dev/null; }
for contract in "${contracts[@]}"; do
  has "$contract" || { echo "no behaviour is called $contract"; exit 1; }
  has "$contract-$not" || echo "skipped: $contract: libfabric $version keeps none of it"
done

run() {  # FINDINGS FILTER
  on_computer 1 "$efa_run" --network=tcp://10.77.0.1:7471 --key="$work/key" --profile=p5 --nics=1 --findings="$1" \
    "$suite" --gtest_filter="$2" --gtest_brief=1
  "${line[@]}"
}
run fail "$which-$not:$rules"
run off "$rules-$not"

# Otherwise both ends were on one computer.
bytes=$(ip -s link show port2 | awk '/RX:/ { getline; print $1 }')
[ "$bytes" -gt 10000 ] || { echo "only $bytes bytes came from the second computer"; exit 1; }
echo "$bytes bytes came from the second computer"
