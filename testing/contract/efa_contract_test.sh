#!/usr/bin/env bash
# The contract suite on libfabric's own provider `efa`, over the simulated device. Arguments: efa-run, the suite's program, the
# list of known differences, in how many processes the two ends are, and more flags of efa-run. The provider breaks no rule, whatever
# the suite does above it.
set -euo pipefail
efa_run=$PWD/$1 suite=$PWD/$2 differences=$3
excluded=$(sed -e 's/#.*//' "$differences" | awk 'NF { printf "%s%s", sep, $1; sep = ":" }')
export DRYDOCK_PROVIDER=efa DRYDOCK_PROCESSES=$4
# Every endpoint clears the pools of its queues, 180 MB at their full depth: two fifths of the suite's time. No behaviour asks
# for more than this.
export FI_EFA_TX_SIZE=512 FI_EFA_RX_SIZE=512
# Each shard is a network of its own: drawn, not $$, which each sandbox can have.
exec "$efa_run" "${@:5}" --profile=p5 --nics=1 --findings=fail --fabric="contract-$(mktemp -u XXXXXXXXXX)" "$suite" --gtest_filter="-$excluded" --gtest_brief=1
