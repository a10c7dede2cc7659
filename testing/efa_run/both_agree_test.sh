#!/usr/bin/env bash
# The scenarios of scenario_test.cc on the simulated fabric `efa` and on libfabric's provider over the simulated device: every
# line that differs is in the list of known differences, and every difference of the list is there. Arguments: efa-run, the
# program for each way, the list.
set -euo pipefail
efa_run=$PWD/$1 sim=$PWD/$2 provider=$PWD/$3 known=$4
work=${TEST_TMPDIR:-$(mktemp -d)}

# Drawn, not $$: in a sandbox every test can have the same process number, and they share one folder of shared memory.
fabric=agree-$(mktemp -u XXXXXXXXXX)

# One process a scenario: what one leaves behind is no other's.
scenarios=$("$sim" --gtest_list_tests --gtest_filter='Scenario.*' | awk '/^ / { print "Scenario." $1 }')
for scenario in $scenarios; do
  "$sim" --gtest_filter="$scenario" 2>&1 | grep '^OUTCOME' >>"$work/sim.txt"
  DRYDOCK_PROVIDER=efa "$efa_run" --nics=1 --quiet --fabric="$fabric" "$provider" --gtest_filter="$scenario" \
    >"$work/one.txt" 2>&1 || { echo "$scenario did not come to its end"; cat "$work/one.txt"; exit 1; }
  grep '^OUTCOME' "$work/one.txt" >>"$work/provider.txt"
done
diff "$work/sim.txt" "$work/provider.txt" | grep '^[<>]' >"$work/found.txt" || true
grep '^[<>]' "$known" >"$work/known.txt" || true
if ! diff "$work/known.txt" "$work/found.txt"; then
  echo "above: < only in $known, > only found (in both, '< OUTCOME' is the simulated fabric, '> OUTCOME' the provider)"
  exit 1
fi
echo "$(wc -l <"$work/sim.txt") facts of $(wc -w <<<"$scenarios") scenarios; $(wc -l <"$work/known.txt") known differences"
