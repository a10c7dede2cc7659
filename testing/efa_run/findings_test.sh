#!/usr/bin/env bash
# What efa-run finds in programs that know nothing of us: for each rule a program that breaks it, which this rule finds and no other,
# and one that keeps it, in which nothing is found; what is said, what is written, and the exit status. Arguments: efa-run, the
# programs.
set -euo pipefail
efa_run=$PWD/$1 rules=$PWD/$2
unset BUILD_WORKING_DIRECTORY
work=${TEST_TMPDIR:-$(mktemp -d)}
# Drawn, not $$: in a sandbox every test can have the same process number, and they share one folder of shared memory.
fabric=findings-$(mktemp -u XXXXXXXXXX)
failures=0
# What a program does with a write under way has to come before the write lands, on a machine with much else to do, too.
cat >"$work/late.json" <<'END'
{"rules": [{"name": "late", "fault": "straggler_write", "parameters": {"delay_ns": 500000000}, "when": {"operation": "write"}}]}
END

fail() {
  echo "FAILED: $*"
  cat "$work/said.txt"
  failures=$((failures + 1))
}
# FLAGS -- WORDS: runs the program; `status` is its exit status, said.txt what it said.
run() {
  local flags=()
  while [ "$1" != -- ]; do flags+=("$1"); shift; done
  shift
  status=0
  timeout 200 "$efa_run" --nics=2 --quiet --fabric="$fabric" "${flags[@]}" "$@" >"$work/said.txt" 2>&1 || status=$?
}
found() { sed -n 's/^drydock-efa: finding: process [0-9]* ([^)]*): \([a-z-]*\): .*/\1/p' "$work/said.txt" | sort -u; }

checked=0
for rule in $("$rules"); do
  faults=
  case $rule in address-handle-in-use | buffer-race | use-after-deregister) faults=$work/late.json ;; esac
  run --findings=fail ${faults:+--faults="$faults"} -- "$rules" "$rule"
  [ "$status" = 1 ] || fail "$rule: exit status $status"
  [ "$(found)" = "$rule" ] || fail "$rule: found '$(found)'"
  grep -qE "^drydock-efa: findings: process [0-9]+ \(rules\): $rule \([0-9]+ times?\)$" "$work/said.txt" || fail "$rule: no last line"
  run --findings=fail ${faults:+--faults="$faults"} -- "$rules" "$rule-kept"
  [ "$status" = 0 ] || fail "$rule-kept: exit status $status"
  [ ! -s "$work/said.txt" ] || fail "$rule-kept: is not quiet"
  checked=$((checked + 1))
done
[ "$checked" -ge 12 ] || fail "only $checked rules"
run --findings=fail -- "$rules" threads-kept
[ "$status" = 0 ] && [ ! -s "$work/said.txt" ] || fail "threads that libibverbs keeps apart: $status"

echo "== modes"
run -- "$rules" work-not-rung-for
[ "$status" = 0 ] && [ "$(found)" = work-not-rung-for ] || fail "the default: $status"
run --findings=off -- "$rules" work-not-rung-for
[ "$status" = 0 ] && [ ! -s "$work/said.txt" ] || fail "off: $status"
run --findings=loud -- "$rules" work-not-rung-for
[ "$status" = 2 ] && grep -qF 'one of fail, report and off' "$work/said.txt" || fail "an unknown mode: $status"
# A status of the program's own stays. Nobody asks a program that has failed what it has left open.
run --findings=fail -- sh -c "$rules work-not-rung-for; exit 7"
[ "$status" = 7 ] && [ "$(found)" = work-not-rung-for ] || fail "a script's own status: $status"

# That a library or a static object closes its devices at the end makes no difference: the program may have had no time to close
# anything.
for closed in late static; do
  run --findings=fail -- "$rules" closed-$closed
  [ "$status" = 1 ] && [ "$(found)" = leaks ] || fail "devices that a destructor closes, $closed: $status"
  run --findings=fail -- "$rules" closed-$closed-3
  [ "$status" = 3 ] && [ ! -s "$work/said.txt" ] || fail "the same of a program that has failed, $closed: $status"
done

echo "== a line has process, NIC, queue pair, and the calls of the program"
run --findings -- "$rules" again-without-reading
line=$(grep -F 'finding: process' "$work/said.txt")
for part in ' (rules): again-without-reading: machine-' '/rdmap' 'queue pair ' '; called by ' 'rules+0x' 'libc.so.6+0x'; do
  grep -qF -- "$part" <<<"$line" || fail "no '$part' in the line"
done
[ "$(wc -l <<<"$line")" = 1 ] || fail "not one line a finding"

echo "== a file"
run --findings-file="$work/found.json" -- "$rules" completion-queue-capacity
files=("$work"/found.*.json)
[ ${#files[@]} = 1 ] || fail "not one file"
python3 - "${files[0]}" <<'END' || fail "the file: $(cat "${files[0]}")"
import json, sys
written = json.load(open(sys.argv[1]))
assert written["program"] == "rules" and written["process"] > 0
[finding] = written["findings"]
assert finding["check"] == "completion-queue-capacity" and finding["times"] == 5, finding
assert "/rdmap" in finding["where"] and isinstance(finding["stack"], list)
END
rm -f "$work"/found.*.json
run --findings-file="$work/found.json" -- "$rules" leaks-kept
grep -qF '"findings":[]' "$work"/found.*.json || fail "a file of nothing"

echo "== a signal leaves the file, and what is open is nobody's fault"
"$efa_run" --nics=2 --quiet --fabric="$fabric" --findings=fail --findings-file="$work/ended.json" "$rules" wait >"$work/said.txt" 2>&1 &
waiting=$!
for _ in $(seq 1000); do
  if grep -q ready "$work/said.txt"; then break; fi
  sleep 0.1
done
kill -TERM "$waiting"
status=0
wait "$waiting" || status=$?
[ "$status" = 143 ] && grep -qF '"findings":[]' "$work"/ended.*.json || fail "ended by a signal: $status"

[ "$failures" = 0 ] || exit 1
echo "$checked rules"
