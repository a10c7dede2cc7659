#!/usr/bin/env bash
# Two processes on libfabric's own provider `efa`: messages by the hundred thousand, or DRYDOCK_MESSAGES, and a peer that dies.
# Arguments: efa-run, the two programs.
set -euo pipefail
# Drawn, not $$: in a sandbox every test can have the same process number, and they share one folder of shared memory.
drawn=$(mktemp -u XXXXXXXXXX)
export DRYDOCK_MESSAGES=${DRYDOCK_MESSAGES:-200000}
"$1" --profile=p5 --nics=1 --fabric="messages-$drawn" "$2"
"$1" --profile=p5 --nics=1 --fabric="death-$drawn" "$3"
