#!/usr/bin/env bash
# efa-run's capsules: each way to fail leaves one, it replays to the same digest, shrinks to the faults that matter, and is refused in a
# line where it is none. Arguments: efa-run, the careless program, the programs of findings_test.sh and of virtual_test.sh.
set -euo pipefail
efa_run=$PWD/$1 careless=$PWD/$2 rules=$PWD/$3 waiting=$PWD/$4
unset BUILD_WORKING_DIRECTORY
work=${TEST_TMPDIR:-$(mktemp -d)}
cd "$work"

fail() { echo "FAILED: $*"; cat said.txt; exit 1; }
# `status` is the exit status, said.txt what it said.
run_as=()
run() { status=0; timeout -s KILL 300 "${run_as[@]}" "$efa_run" --quiet "$@" >said.txt 2>&1 || status=$?; }
said() { grep -qF -- "$1" said.txt || fail "it does not say: $1"; }
digest() { sed -n 's/^efa-run: .*, digest \([0-9a-f]*\)$/\1/p' said.txt; }

cat >plan.json <<'END'
{"rules": [{"name": "slow", "fault": "delayed_completion", "parameters": {"delay_ns": 50000}, "when": {"probability": 0.3}},
           {"name": "lost", "fault": "bad_destination", "when": {"operation": ["write", "send"], "probability": 0.1}}]}
END
cp "$careless" careless

echo "== seeds leave a capsule of each way to fail, and no other"
run --nics=2 --seeds=1..30 --limit=2 --faults=plan.json --capsule=failed/of-it ./careless
[ "$status" = 1 ] || fail "30 seeds: $status"
wrong=$(ls failed/of-it/careless-*-exit-3.capsule) hang=$(ls failed/of-it/careless-*-hang.capsule)
[ "$(ls failed/of-it | wc -l)" = 2 ] || fail "capsules: $(ls failed/of-it)"
said "ended with exit status 3; capsule $wrong"
said "hang: the program lives longer than it may (--limit); capsule $hang"
failures=$(sed -n 's/^efa-run: \([0-9]*\) of 30 seeds failed: .*/\1/p' said.txt)
[ "$failures" -gt 2 ] && [ "$failures" -lt 30 ] || fail "$failures seeds failed"
run --nics=2 --seeds=1..30 --limit=2 --faults=plan.json --capsule=twin ./careless kept
[ "$status" = 0 ] && [ -z "$(ls twin)" ] || fail "the repaired twin: $status, $(ls twin)"
run --nics=2 --seeds=5 --capsule=found "$rules" buffer-race
[ "$status" = 1 ] && [ "$(ls found)" = rules-5-buffer-race.capsule ] || fail "a finding: $status, $(ls found)"
run --nics=1 --seeds=1..2 --capsule=killed sh -c 'kill -SEGV $$'
[ "$status" = 1 ] && ls killed/sh-*-signal-11.capsule || fail "a signal: $status, $(ls killed)"

echo "== a program that looks at /sys finds the same in a replay"
# Root without the right to mount is as everybody else.
everybody=()
[ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null || everybody=(setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin)
run --sysfs true
if [ "$status" = 0 ]; then
  run --nics=1 --seeds=1 --sysfs --capsule=sysfs sh -c 'read -r type </sys/devices/virtual/dmi/id/product_name; [ "$type" = p5.48xlarge ] && exit 7'
  [ "$status" = 1 ] && [ "$(ls sysfs)" = sh-1-exit-7.capsule ] || fail "--sysfs: $status, $(ls sysfs)"
  run --replay=sysfs/sh-1-exit-7.capsule
  [ "$status" = 0 ] || fail "replay with --sysfs: $status"
else
  said 'efa-run: --sysfs: mounts of its own take'
  echo "--sysfs: skipped: no mount namespace can be had here"
fi
run_as=("${everybody[@]}")
run --sysfs true
if [ "$status" = 0 ]; then
  run --nics=2 --seeds=5 --sysfs --faults=plan.json --capsule=apart "$rules" buffer-race
  [ "$status" = 1 ] && [ "$(ls apart)" = rules-5-buffer-race.capsule ] || fail "in a user namespace: $status, $(ls apart)"
  run --replay=apart/rules-5-buffer-race.capsule
  [ "$status" = 0 ] || fail "replay in a user namespace: $status"
  run --shrink=apart/rules-5-buffer-race.capsule --out=apart.min
  [ "$status" = 0 ] || fail "shrinking in a user namespace: $status"
else
  said 'efa-run: --sysfs: mounts of its own take'
  echo "--sysfs: skipped: no user namespace can be had here"
fi
run_as=()

echo "== a later search leaves the capsules of an earlier one"
echo '{"rules": [{"name": "slow", "fault": "delayed_completion", "parameters": {"delay_ns": 50000}}]}' >other.json
for plan in plan other plan; do run --nics=1 --seeds=1 --faults=$plan.json --capsule=two sh -c 'exit 3'; done
[ "$(ls two)" = "$(printf '%s\n' sh-1-exit-3-2.capsule sh-1-exit-3.capsule)" ] || fail "capsules of two plans: $(ls two)"
grep -q bad_destination two/sh-1-exit-3.capsule && said "capsule two/sh-1-exit-3.capsule" || fail "the first capsule is another one"

echo "== a capsule is the same run, three times, from elsewhere, in another environment"
again() { run --replay="$1"; [ "$status" = 0 ] || fail "replay of $1: $status"; said "replayed bit for bit"; }
for capsule in "$wrong" "$hang" found/*.capsule killed/*.capsule; do
  for _ in 1 2 3; do
    again "$capsule"
    grep -qF "\"digest\": \"$(digest)\"" "$capsule" || fail "$capsule: another digest"
  done
done
again "$wrong"
[ "$(digest)" != 00000000000000000000000000000000 ] || fail "no digest"
said "runs ./careless, seed "
said "round "
mkdir -p other && cp careless other/
(export A_VARIABLE=$(seq 1 500 | tr -d '\n') DRYDOCK_EFA_FAULTS=/nowhere DRYDOCK_EFA_TRACE=trace.json; cd other; again "$work/$wrong")
again "$wrong"
seed=$(sed -n 's/^ "seed": \([0-9]*\),$/\1/p' "$wrong")
expected=$(digest)
run --virtual --digest --nics=2 --limit=2 --seed="$seed" --faults=plan.json ./careless
[ "$status" = 3 ] || fail "without a capsule: $status"
said "drydock-efa: digest $expected"

echo "== shrinking leaves the one fault that matters, and tells it"
smaller() {
  run --shrink="$1" --out="$2" --picture="$2.svg"
  [ "$status" = 0 ] || fail "shrink of $1: $status"
  said "after:  1 firing, "
  said "(0 not calm)"
  said " the fault bad_destination (lost) hits a "
  [ "$(grep -c '^at .* the fault' said.txt)" = 1 ] || fail "more than one fault"
  cp said.txt "${2%.min}.txt"
  grep -q 'bad_destination' "$2.svg" && grep -q '</svg>' "$2.svg" || fail "no picture"
  [ "$(grep -c '"fault": ' "$2")" = 1 ] || fail "rules that do nothing are left: $2"
  again "$2"
}
smaller "$wrong" wrong.min
grep -qF '"text": "ended with exit status 3"' wrong.min || fail "it fails in another way: $(cat wrong.min)"
smaller "$hang" hang.min
grep -qF '"verdict": "hang"' hang.min || fail "it fails in another way: $(cat hang.min)"
run --shrink="$wrong"
[ "$status" = 0 ] && cmp wrong.min "$wrong.min" || fail "two shrinks differ: $status"
said "before: "
run --shrink=found/rules-5-buffer-race.capsule
[ "$status" = 0 ] || fail "shrink of a finding: $status"
said "finding: it breaks the rule buffer-race"

echo "== what fails when all devices were closed and opened again is found by the same numbers"
run --nics=2 --seeds=1..30 --limit=2 --faults=plan.json --capsule=late ./careless late
late=$(ls late/careless-*-exit-3.capsule)
again "$late"
smaller "$late" late.min
number=$(sed -n 's/.*, the \([0-9]*\)[a-z]* event that it could: .*/\1/p' late.txt)
[ "$number" -gt 12 ] || fail "the first life had 12 events, and the fault hits number $number"

echo "== what a child does is not its parent's run, and what a process did before exec is not what it is now"
run --nics=2 --seeds=1 --findings=off --capsule=forks ./careless forks
run --shrink=forks/careless-1-exit-5.capsule
said "before: 0 firings, 0 operations (0 not calm), 0 events"
run --nics=2 --seeds=1..30 --limit=2 --faults=plan.json --capsule=execs ./careless execs
execs=$(ls execs/careless-*-exit-3.capsule)
again "$execs"
events=$(sed -n 's/^ "events": \([0-9]*\),$/\1/p' "$execs")
run --shrink="$execs"
said "not calm), $events events"

echo "== who is not over in time is ended, which is no hang of the program's clock"
run --nics=1 --seeds=1..2 --patience=2 --capsule=endless sh -c 'while :; do :; done'
[ "$status" = 1 ] && [ "$(ls endless)" = "$(cd endless && ls sh-[12]-unfinished.capsule)" ] || fail "endless: $status, $(ls endless)"
said "not over after 2 s (--patience); again: "
said "2 of 2 seeds failed: 1, 2"
endless=$(ls endless/*)
run --replay="$endless" --patience=1
[ "$status" = 0 ] || fail "replay of what never ends: $status"
run --shrink="$endless" --patience=1 --out=endless.min
[ "$status" = 0 ] && grep -qF -- '(--patience)' endless.min || fail "shrink of what never ends: $status"
run --nics=2 --seeds=1 --patience=1 --capsule=spins ./careless spins
grep -qF '"events": 0,' spins/careless-1-unfinished.capsule || fail "how far it came is the machine's affair"
run --replay=spins/careless-1-unfinished.capsule --patience=1
[ "$status" = 0 ] || fail "replay of what spins: $status"
sed 's/"text": "it was not over.*"/"text": "nothing is under way"/' "$endless" >hangs.capsule
run --shrink=hangs.capsule --patience=1
[ "$status" = 2 ] && grep -qF 'not over after 1 s (--patience)' said.txt || fail "a hang that is none: $status"

echo "== another program, or another end, is told in a line"
printf x >>careless
run --replay="$wrong"
[ "$status" = 1 ] || fail "a program with a byte more: $status"
said "not what was recorded: program"
said "replayed bit for bit"
cp "$careless" careless
sed 's/\.\/careless"/.\/careless", "kept"/' "$wrong" >mended.capsule
run --replay=mended.capsule
[ "$status" = 1 ] || fail "a program that is repaired: $status"
said "then: ended with exit status 3"
said "now:  ended with exit status 0"
run --shrink=mended.capsule
[ "$status" = 1 ] && grep -qF 'nothing to shrink' said.txt || fail "nothing to shrink: $status"

echo "== what is no capsule of a program is refused in a line"
refused() {  # WORDS FLAGS
  run "${@:2}"
  [ "$status" = 2 ] && [ "$(grep -c ^ said.txt)" = 1 ] || fail "${*:2} gave $status"
  said "$1"
}
refused_file() { refused "$1" --replay=bad.capsule; refused "$1" --shrink=bad.capsule; }
changed() { python3 - "$wrong" "$@" <<'END'
import json, sys
capsule = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(capsule, open("bad.capsule", "w"))
END
}
refused "No such file" --replay=not-there
: >bad.capsule; refused_file bad.capsule
head -c 300 "$wrong" >bad.capsule; refused_file bad.capsule
head -c 100000 /dev/urandom >bad.capsule; refused_file bad.capsule
head -c 2000000 /dev/zero >bad.capsule; refused_file "at most 1048576"
changed 'capsule["program"]["words"] = []'; refused_file "names no program"
changed 'capsule["program"]["words"] = ["a\0b"]'; refused_file "a byte that is zero"
changed 'capsule["program"]["findings"] = "yes"'; refused_file "fail, report and off"
changed 'capsule["program"]["environment"] = {"LD_PRELOAD": "x"}'; refused_file environment
changed 'capsule["program"]["nics"] = 77'; refused_file "77 NICs"
changed 'capsule["program"]["words"] = ["./not-there"]'; refused_file "./not-there"
changed 'capsule["program"]["words"] = ["/etc/passwd"]'; refused_file /etc/passwd
changed 'capsule["profile"] = "nobody"'; refused_file nobody
changed 'capsule["limit_ns"] = 5'; refused_file "limit_ns is 5"
changed 'capsule["tight"] = True'; refused_file "keys that scenarios have"
changed 'capsule["firings"] = {"none": "1"}'; refused_file "the plan has no rule"
changed 'del capsule["program"]'; refused_file "of a scenario or of a program"
changed 'del capsule["program"]; capsule["scenario"] = "write"'; refused_file "explore runs it"
changed 'capsule["program"]["words"] = ["\033[2Jecho"]'; run --replay=bad.capsule
[ "$status" = 2 ] && ! grep -q $'\033' said.txt || fail "the terminal's language: $status"
changed 'capsule["disturbed"] = "0-70000"'; run --replay=bad.capsule
[ "$status" = 2 ] && grep -qF 'at most 65536' said.txt || fail "too many operations: $status"
refused "the capsule says how" --nics=1 --replay="$wrong"
refused "--out=nowhere/x: cannot be written" --shrink="$wrong" --out=nowhere/x
refused "--picture=nowhere/x: cannot be written" --shrink="$wrong" --out=x --picture=nowhere/x
refused "--out and --picture are both to be in" --shrink="$wrong" --out=x --picture=./x
cp "$wrong" spared.capsule
refused "is a file that this run reads" --shrink=spared.capsule --picture=spared.capsule
cmp "$wrong" spared.capsule || fail "a capsule is written over"
mkdir spared.capsule.min
refused "spared.capsule.min: cannot be written: Is a directory" --shrink=spared.capsule
refused "the capsule names its program" --replay="$wrong" true
refused "with --seeds" --virtual --capsule=x true
for flag in --virtual --digest --trace=x --findings=off; do refused "$flag: the capsule says how" "$flag" --replay="$wrong"; done
for flag in --replay --shrink --capsule --out --picture; do refused "$flag=: it takes a file" --seeds=1 $flag= true; done
refused "not with --capsule" --seeds=1 --capsule=x --trace=trace.json true
refused "not with --capsule" --seeds=1 --capsule=x --findings-file=found.json true
refused "with --shrink" --replay="$wrong" --out=x
refused "with --seeds, --replay or --shrink" --virtual --patience=5 true
for patience in 0 -1 '' 5m; do refused "a number of seconds" --seeds=1 --patience=$patience true; done
refused "--faults=not-there" --seeds=1..2 --capsule=x --faults=not-there true
echo '{"rules": [{"fault": "nothing"}]}' >bad.json
refused "bad.json" --seeds=1..2 --capsule=x --faults=bad.json true
: >file
refused "--capsule=file" --seeds=1..2 --capsule=file true
run --seeds=1 --capsule=x sh -c 'exit 1' $'\xff'
[ "$status" = 2 ] && grep -qF 'is no UTF-8' said.txt || fail "words that are no text: $status"

echo "== what a run is told takes no room in the program: its memory lies where it does without a list"
echo '{"rules": [{"name": "lost", "fault": "bad_destination"}]}' >always.json
run --nics=2 --seeds=1 --faults=always.json --capsule=where ./careless where
wrong=$(ls where/careless-1-exit-3.capsule)
room() { sed -n 's/^[0-9]* bytes at 0x/&/p' said.txt; }
again "$wrong"
first=$(room)
[ "$(wc -l <<<"$first")" = 12 ] || fail "no room"
for last in 1 40 3000 60000; do
  changed "capsule['firings'] = {'lost': '1-$last'}; capsule['disturbed'] = '0-$last'"
  again bad.capsule
  [ "$(room)" = "$first" ] || fail "another place with a list of $last; it was $first"
done

echo "== the stack is as high, whatever the environment is"
height() { run --virtual "$waiting" waits && [ "$status" = 0 ] && sed -n 's/.*the stack is at \(0x[0-9a-f]*\),.*/\1/p' said.txt; }
first=$(height)
[ -n "$first" ] || fail "no stack"
for i in 1 2 3 4 5 8 13 17 9000; do
  [ "$(export "V$i=$(printf "%${i}s" "")"; height)" = "$first" ] || fail "another stack with $i bytes more"
done
