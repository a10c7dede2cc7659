#!/usr/bin/env bash
# Bazel's shards of this test are the shards of one exploration, each of which leaves its results among the test's
# outputs: TEST_SHARD_INDEX and TEST_TOTAL_SHARDS say which it is.
set -euo pipefail
explore=$1
results=${TEST_UNDECLARED_OUTPUTS_DIR:-$TEST_TMPDIR}
"$explore" --scenario=ping-pong --seeds=90 --results="$results"
[ "$(find "$results" -name 'ping-pong-0000?-of-00003.results' | wc -l)" -eq 1 ]
"$explore" merge --partial "$results" | grep -c '^30 seeds, '
