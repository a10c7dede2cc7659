#!/usr/bin/env bash
# Two processes on libfabric's own provider `efa`: messages by the hundred thousand, or DRYDOCK_MESSAGES, and a peer that dies.
# Arguments: efa-run, the two programs.
set -euo pipefail
export DRYDOCK_MESSAGES=${DRYDOCK_MESSAGES:-200000}
"$1" --profile=p5 --nics=1 --fabric="messages-$$" "$2"
"$1" --profile=p5 --nics=1 --fabric="death-$$" "$3"
