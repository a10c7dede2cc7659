#!/usr/bin/env bash
# What libfabric's provider tells of each status of the device, when a fault plan lets the device say it of every send; and what it gets over.
# Arguments: efa-run, the scenarios' program for the provider.
set -euo pipefail
efa_run=$PWD/$1 provider=$PWD/$2
work=${TEST_TMPDIR:-$(mktemp -d)}
export DRYDOCK_PROVIDER=efa
# Drawn, not $$: in a sandbox every test can have the same process number, and they share one folder of shared memory.
fabric=statuses-$(mktemp -u XXXXXXXXXX)

run() {  # SCENARIO PLAN: prints its facts
  echo "$2" >"$work/plan.json"
  "$efa_run" --nics=1 --quiet --fabric="$fabric" --faults="$work/plan.json" "$provider" --gtest_filter="Plan.$1" \
    >"$work/one.txt" 2>&1 || { { echo "FAILED: $1 under $2"; cat "$work/one.txt"; } >&2; exit 1; }
  sed -n 's/^OUTCOME //p' "$work/one.txt"
}

# Fault, what the completion says, and the provider's text for it, as a regular expression (ofiwg/libfabric prov/efa/src/efa_errno.h;
# 2.x says some of them otherwise). Statuses 7, 14 and 18
# belong to writes and reads of the device, which libfabric 1.17 does not make; it retries 10 by itself; 15 needs a peer that never
# answered.
while IFS='~' read -r fault error text; do
  run FirstMessageFails '{"rules": [{"name": "it", "fault": "'"$fault"'", "when": {"operation": "send"}}]}' >"$work/facts"
  if grep -qF "error $error," "$work/facts" && grep -qE "$text" "$work/facts"; then
    echo "$fault: $error: $text"
  else
    echo "FAILED: $fault: expected '$error' and '$text':"; cat "$work/facts"; exit 1
  fi
done <<'END'
flushed~Canceled, provider 1~provider error 1: Flushed during queue pair destroy
queue_pair_internal~DeviceFault, provider 2~provider error 2: Internal queue pair error
unsupported_operation~Unsupported, provider 3~provider error 3: (Invalid|Unsupported) operation type
invalid_address_handle~DeviceFault, provider 4~provider error 4: Invalid address handle
local_key~LocalAccess, provider 5~provider error 5: (Invalid local key \(LKEY\)|Local key \(LKEY\) invalid)
local_length~MessageTooLong, provider 6~provider error 6: Message too long
remote_abort~PeerAborted, provider 8~provider error 8: (Receiver connection aborted|Connection was reset by remote peer)
bad_destination~BadDestination, provider 9~provider error 9: (Invalid receiver queue pair number \(QPN\)|Bad queue pair \(QP\) number)
remote_length~Truncated, provider 11~provider error 11: (Receiver scatter-gather list \(SGL\)|Remote scatter-gather list) too short
bad_response~BadResponse, provider 12~provider error 12: Unexpected status (received from remote|returned by responder)
unresponsive~PeerUnresponsive, provider 13~provider error 13: Unresponsive (receiver|remote)
END

echo "== receivers that are not ready, again and again"
facts=$(run EveryMessageArrives \
  '{"rules": [{"name": "storm", "fault": "receiver_not_ready", "when": {"operation": "send", "probability": 0.2}}]}')
echo "$facts"
[ "$facts" = "EveryMessageArrives: 200 messages" ] || { echo "FAILED: no 200 messages"; exit 1; }
echo "== the nth registration fails, and the next one works"
# The provider registers memory of its own before: a number in the middle of ours is found by trying.
for nth in $(seq 1 40); do
  echo '{"rules": [{"name": "nth", "fault": "register_memory_fails", "when": {"nth": '"$nth"'}}]}' >"$work/plan.json"
  "$efa_run" --nics=1 --quiet --fabric="$fabric" --faults="$work/plan.json" "$provider" \
    --gtest_filter=Plan.RegistrationFails >"$work/one.txt" 2>&1 || true
  if [ "$(grep -c 'OUTCOME.*registered' "$work/one.txt")" = 2 ]; then
    grep -F "Cannot allocate memory" "$work/one.txt"
    echo "registration $nth failed, and the program went on"
    exit 0
  fi
done
echo "FAILED: no registration of the program's could be made to fail"; cat "$work/one.txt"; exit 1
