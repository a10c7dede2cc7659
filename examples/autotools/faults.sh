#!/bin/sh
# The libfabric program as it is, with late completions, and with a peer that falls silent: then it has to say so. The copy over EFA.
set -e
plans=$(dirname "$EFA_RUN")/../share/drydock/plans
run="timeout 30 $EFA_RUN --quiet --nics=1 --fabric=autotools"
$run ./messages
$run --faults="$plans/late_completions.json" ./messages
$run --faults="$plans/peer_unresponsive.json" ./messages | grep 'message: '
$run ./copy_pages efa
