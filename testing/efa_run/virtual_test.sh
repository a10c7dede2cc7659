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
  timeout -s KILL 120 "$efa_run" --quiet --nics=2 --virtual "${flags[@]}" "$@" >"$work/said.txt" 2>&1 || status=$?
}

echo "== 1500 s of waits"
SECONDS=0
run --digest -- "$program" waits
[ "$status" = 0 ] || fail "waits: $status"
[ "$SECONDS" -lt 60 ] || fail "the waits took $SECONDS s of the machine's time"
cp "$work/said.txt" "$work/first.txt"
run --digest -- "$program" waits
cmp -s "$work/first.txt" "$work/said.txt" || fail "two runs of one seed draw different numbers"
DRYDOCK_EFA_SEED='' DRYDOCK_EFA_LIMIT='' run --digest -- "$program" waits
[ "$(grep '^drew' "$work/first.txt" | cut -d';' -f1)" = "$(grep '^drew' "$work/said.txt" | cut -d';' -f1)" ] || fail "an empty seed is another than none"
run --digest --seed=2 -- "$program" waits
drawn() { sed -n "s/^drew \([^;]*\);.*/\1/p" "$1" | cut -d, -f"$2"; }
for i in 1 2 3 4; do  # a number from each source
  [ -n "$(drawn "$work/first.txt" $i)" ] && [ "$(drawn "$work/first.txt" $i)" != "$(drawn "$work/said.txt" $i)" ] ||
    fail "two seeds draw the same numbers"
done
run --limit=700 -- "$program" waits
[ "$status" = 124 ] && grep -qF 'lives longer than it may' "$work/said.txt" || fail "the limit: $status"

echo "== refusals, in one line"
refused() {
  run -- "${@:2}"
  [ "$status" = 2 ] && [ "$(wc -l <"$work/said.txt")" = 1 ] && grep -qF -- "$1" "$work/said.txt" || fail "$* gave $status"
}
refused "for programs of one thread" "$program" starts-thread
refused "for programs of one thread" "$program" starts-c-thread
refused "for programs of one process" "$program" forks
refused "for programs of one process" sh -c "'$rules' leaks-kept; exit \$?"
run --network=tcp://127.0.0.1:7471 --key="$work/key" -- true
[ "$status" = 2 ] && grep -qF 'a machine is alone' "$work/said.txt" || fail "a network: $status"

echo "== who waits for ever is told so"
run -- "$program" hangs
[ "$status" = 124 ] && grep -qF 'hang: nothing is under way' "$work/said.txt" || fail "a hang: $status"
run --limit=5 -- "$program" reads-in-vain
[ "$status" = 124 ] && grep -qF 'lives longer than it may' "$work/said.txt" || fail "looks in vain: $status"
for how in condition semaphore moment attribute sleep; do
  run -- "$program" ages-$how
  [ "$status" = 124 ] && grep -qF 'drydock-efa: hang: ' "$work/said.txt" || fail "40 years, $how: $status"
done
SECONDS=0
run --limit=5 --digest --trace="$work/trace.json" -- "$program" polls-at-the-end
[ "$status" = 124 ] && grep -qF 'drydock-efa: digest ' "$work/said.txt" || fail "the end within a call: $status"
[ "$SECONDS" -lt 30 ] || fail "the end within a call took $SECONDS s"
[ -s "$work"/trace.*.json ] || fail "no trace of what hangs"
for limit in 0 10m -5 x; do
  run --limit=$limit -- true
  [ "$status" = 2 ] && grep -qE -- "--limit=$limit(:| )" "$work/said.txt" || fail "--limit=$limit: $status"
done

echo "== many seeds: those that fail are named, and the first can be run again"
run --seeds=1..8 -- "$program" waits
[ "$status" = 0 ] && [ "$(cat "$work/said.txt")" = "efa-run: 0 of 8 seeds failed" ] || fail "8 seeds: $status"
run --seeds=8..8 -- "$program" waits
[ "$status" = 0 ] && [ "$(cat "$work/said.txt")" = "efa-run: 0 of 1 seed failed" ] || fail "1 seed: $status"
echo '{"rules": []}' >"$work/a plan.json"
run --seeds=2..21 --faults="$work/a plan.json" -- "$program" odd
[ "$status" = 1 ] || fail "seeds of which some fail: $status"
failed=$(sed -n 's/^efa-run: \([0-9]*\) of 20 seeds failed: .*/\1/p' "$work/said.txt")
[ "$failed" -gt 0 ] && [ "$failed" -lt 20 ] || fail "$failed of 20 seeds are odd"
again=$(sed -n 's/^efa-run: seed [0-9]*: exit status 1; again: //p' "$work/said.txt")
grep -qE '^efa-run: seed ([0-9]+): .* --seed=\1 ' "$work/said.txt" || fail "another seed in: $again"
grep -qF "'--faults=$work/a plan.json'" <<<"$again" || fail "no plan in: $again"
status=0
eval "$again" >"$work/again.txt" 2>&1 || status=$?
[ "$status" = 1 ] || fail "again: $again: $status"
for seed in $(seq 2 21); do  # with another seed, the same words are a run that is right
  if grep -qE "failed: (.*, )?$seed(,|$)" "$work/said.txt"; then continue; fi
  status=0
  eval "$(sed "s/--seed=[0-9]*/--seed=$seed/" <<<"$again")" >"$work/again.txt" 2>&1 || status=$?
  [ "$status" = 0 ] || fail "seed $seed does not fail, and ends with $status"
  break
done
run --seeds=1..2 -- "$rules" buffer-race
[ "$status" = 1 ] && grep -qF -- '--findings=fail' "$work/said.txt" || fail "seeds that break a rule: $status"
DRYDOCK_EFA_FINDINGS='' DRYDOCK_EFA_DIGEST='' run --seeds=1..2 -- "$rules" buffer-race
[ "$status" = 1 ] && grep -qF -- '--findings=fail' "$work/said.txt" || fail "seeds, and variables that are empty: $status"
run --seeds=1..1000 -- "$work/no-such-program"
[ "$status" = 2 ] && [ "$(wc -l <"$work/said.txt")" = 1 ] || fail "seeds of a program that is not there: $status"
run --seeds=9..1 -- true
[ "$status" = 2 ] && grep -qF -- '--seeds=9..1' "$work/said.txt" || fail "seeds that are none: $status"
run --seeds=1..2 --digest -- true
[ "$status" = 2 ] && grep -qF -- '--digest is of one run' "$work/said.txt" || fail "a digest of many: $status"

echo "== $runs runs"
digest() { run --digest "$@" -- "$rules" buffer-race-kept && [ "$status" = 0 ] && grep -F 'digest' "$work/said.txt"; }
first=$(digest) || fail "no digest"
for _ in $(seq 2 "$runs"); do
  [ "$(digest)" = "$first" ] || fail "another digest than $first"
done
if "$efa_run" --quiet --sysfs true 2>"$work/said.txt"; then
  [ "$(digest --sysfs)" = "$first" ] || fail "with --sysfs another digest than $first"
else
  grep -F 'efa-run: --sysfs: mounts of its own take' "$work/said.txt" || fail "--sysfs is not refused in one line"
  echo "--sysfs: skipped: no mount namespace can be had here"
fi
other=$(digest --seed=2) || fail "no digest of another seed"
[ "$other" != "$first" ] || fail "two seeds have one digest"
cat >"$work/plan.json" <<'END'
{"rules": [{"name": "late", "fault": "straggler_write", "parameters": {"delay_ns": 500000000}, "when": {"operation": "write"}}]}
END
faulty=$(digest --faults="$work/plan.json") || fail "no digest under a plan"
[ "$faulty" != "$first" ] || fail "the plan changes nothing"
[ "$(digest --faults="$work/plan.json")" = "$faulty" ] || fail "two runs of one plan differ"

echo "== without delays: other runs than with them, and reproducible all the same"
instant=$(digest --delays=off) || fail "no digest without delays"
[ "$instant" != "$first" ] || fail "delays are as they were"
[ "$(digest --delays=off)" = "$instant" ] || fail "two runs without delays differ"
other=$(digest --delays=off --seed=2) || fail "no digest of another seed without delays"
[ "$other" != "$instant" ] || fail "without delays, two seeds have one digest"
run --delays=off -- "$program" hangs
[ "$status" = 124 ] && grep -qF 'hang: nothing is under way' "$work/said.txt" || fail "a hang without delays: $status"
run --delays=off --seeds=1..3 -- "$rules" buffer-race
[ "$status" = 1 ] && grep -qE 'again: .* --delays=off ' "$work/said.txt" || fail "seeds without delays: $status"
echo "$first"
