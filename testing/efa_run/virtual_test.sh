#!/usr/bin/env bash
# efa-run --virtual: waits take no time, one seed is one run, and who has threads or other processes is refused. Arguments: efa-run,
# the program of this test, the programs of findings_test.sh, and how many runs have to be alike.
set -euo pipefail
efa_run=$PWD/$1 program=$PWD/$2 rules=$PWD/$3 runs=$4
unset BUILD_WORKING_DIRECTORY
work=${TEST_TMPDIR:-$(mktemp -d)}

fail() { echo "FAILED: $*"; cat "$work"/*.txt; exit 1; }
# FLAGS -- WORDS: `status` is the exit status, said.txt what it said.
run() {
  local flags=()
  while [ "$1" != -- ]; do flags+=("$1"); shift; done
  shift
  status=0
  "$efa_run" --quiet --nics=2 --virtual "${flags[@]}" "$@" >"$work/said.txt" 2>&1 || status=$?
}

echo "== 800 s of waits"
SECONDS=0
run --digest -- "$program" waits
[ "$status" = 0 ] || fail "waits: $status"
[ "$SECONDS" -lt 60 ] || fail "the waits took $SECONDS s of the machine's time"
cp "$work/said.txt" "$work/first.txt"
run --digest -- "$program" waits
cmp -s "$work/first.txt" "$work/said.txt" || fail "two runs of one seed draw different numbers"
run --digest --seed=2 -- "$program" waits
drew() { grep -o 'drew [0-9a-f]*, [0-9a-f]*' "$1"; }
[ "$(drew "$work/first.txt")" != "$(drew "$work/said.txt")" ] || fail "two seeds draw the same numbers"
run --limit=700 -- "$program" waits
[ "$status" = 124 ] && grep -qF 'lives longer than it may' "$work/said.txt" || fail "the limit: $status"

echo "== refusals, in one line"
refused() {
  run -- "${@:2}"
  [ "$status" = 2 ] && [ "$(wc -l <"$work/said.txt")" = 1 ] && grep -qF -- "$1" "$work/said.txt" || fail "$* gave $status"
}
refused "for programs of one thread" "$program" starts-thread
refused "for programs of one process" "$program" forks
refused "for programs of one process" sh -c "'$rules' leaks-kept; exit \$?"
run --network=tcp://127.0.0.1:7471 --key="$work/key" -- true
[ "$status" = 2 ] && grep -qF 'a machine is alone' "$work/said.txt" || fail "a network: $status"

echo "== who waits for ever is told so"
run -- "$program" hangs
[ "$status" = 124 ] && grep -qF 'hang: nothing is under way' "$work/said.txt" || fail "a hang: $status"

echo "== many seeds: those that fail are named, and the first can be run again"
run --seeds=1..8 -- "$program" waits
[ "$status" = 0 ] && [ "$(cat "$work/said.txt")" = "efa-run: 0 of 8 seeds failed" ] || fail "8 seeds: $status"
run --seeds=3..4 -- "$program" hangs
[ "$status" = 1 ] && grep -qF 'efa-run: 2 of 2 seeds failed: 3, 4' "$work/said.txt" || fail "2 seeds that hang: $status"
again=$(sed -n 's/^efa-run: seed 3: exit status 124; again: efa-run //p' "$work/said.txt")
status=0
eval "\"\$efa_run\" $again" >"$work/again.txt" 2>&1 || status=$?
[ "$status" = 124 ] && grep -qF 'hang: nothing is under way' "$work/again.txt" || fail "again: $again: $status"
run --seeds=1..2 -- "$rules" buffer-race
[ "$status" = 1 ] && grep -qF -- '--findings=fail' "$work/said.txt" || fail "seeds that break a rule: $status"
run --seeds=1..1000 -- "$program" starts-thread
[ "$status" = 2 ] && [ "$(wc -l <"$work/said.txt")" = 1 ] || fail "seeds of a program that is refused: $status"
run --seeds=9..1 -- true
[ "$status" = 2 ] && grep -qF -- '--seeds=9..1' "$work/said.txt" || fail "seeds that are none: $status"

echo "== $runs runs"
digest() { run --digest "$@" -- "$rules" buffer-race-kept && [ "$status" = 0 ] && grep -F 'digest' "$work/said.txt"; }
first=$(digest) || fail "no digest"
for _ in $(seq 2 "$runs"); do
  [ "$(digest)" = "$first" ] || fail "another digest than $first"
done
[ "$(digest --seed=2)" != "$first" ] || fail "two seeds have one digest"
cat >"$work/plan.json" <<'END'
{"rules": [{"name": "late", "fault": "straggler_write", "parameters": {"delay_ns": 500000000}, "when": {"operation": "write"}}]}
END
faulty=$(digest --faults="$work/plan.json") || fail "no digest under a plan"
[ "$faulty" != "$first" ] || fail "the plan changes nothing"
[ "$(digest --faults="$work/plan.json")" = "$faulty" ] || fail "two runs of one plan differ"
echo "$first"
