#!/usr/bin/env bash
# The contract suite on libfabric's own provider `efa`, over the simulated device. Arguments: efa-run, the suite's program, in how many
# processes the two ends are, and more flags of efa-run. The provider breaks no rule, but where a behaviour is there to break one.
set -euo pipefail
efa_run=$PWD/$1 suite=$PWD/$2 processes=$3
flags=("${@:4}")
source "$(dirname "$0")/efa_known.sh"
export DRYDOCK_PROVIDER=efa DRYDOCK_PROCESSES=$processes

version=$(fi_info --version | sed -n 's/^libfabric: //p')
[ -n "$version" ] || { echo "fi_info does not say which libfabric this is"; exit 1; }
not=$(not_kept "$version" efa "$processes")
rules=$(breaking)

run() {  # FINDINGS FILTER
  # Each shard is a network of its own: drawn, not $$, which each sandbox can have.
  "$efa_run" "${flags[@]}" --profile=p5 --nics=1 --findings="$1" --fabric="contract-$(mktemp -u XXXXXXXXXX)" \
    "$suite" --gtest_filter="$2" --gtest_brief=1
}
run fail "-$not:$rules"
run off "$rules-$not"
