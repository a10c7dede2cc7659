#!/usr/bin/env bash
# Several computers, each a network namespace with shared memory of its own, on one simulated network: libfabric's fi_pingpong
# between two and four of them, keys that are wrong, a peer that is killed, and a cable that is pulled. All traffic is
# between the namespaces that are made here. Arguments: efa-run, far_peer.
set -euo pipefail
source "$(dirname "$0")/computers.sh"
if [ "$1" != inside ]; then
  skip_without_computers
  become_their_root "$0" inside "$PWD/$1" "$PWD/$2"
fi
efa_run=$2 far_peer=$3
unset BUILD_WORKING_DIRECTORY
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/hosts-XXXXXX")
trap 'kill -9 $(jobs -p) 2>/dev/null || true; end_computers; rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; tail -n +1 "$work"/*.log; exit 1; }

make_computers 4
# `line` is what runs a program under efa-run on a computer, which has a key file of its own.
at() { on_computer "$1" "$efa_run" --network=tcp://10.77.0.1:7471 --key="$work/key$1" --nics=1 "${@:2}"; }
copy_key() { for i in 2 3 4; do cp "$work/key1" "$work/key$i"; done; }  # as scp would

# pingpong NAME FROM TO PORT: a client on FROM and a server on TO. PORT is under 32768: the kernel gives those above to
# connections, those of the simulated network among them.
pingpong() {
  local server attempt
  at "$3" --quiet fi_pingpong -p efa -e rdm -c -B "$4"
  "${line[@]}" >"$work/$1-server.log" 2>&1 &
  server=$!
  at "$2" --quiet fi_pingpong -p efa -e rdm -c -P "$4" "10.77.0.$3"
  for attempt in $(seq 50); do  # until the server listens
    if timeout 200 "${line[@]}" >"$work/$1.log" 2>&1; then break; fi
    [ "$attempt" -lt 50 ] || fail "fi_pingpong $1"
    sleep 0.2
  done
  wait "$server" || fail "the server of fi_pingpong $1"
  for size in 64 1k 64k 1m; do
    grep -qE "^$size +10 +=10 " "$work/$1.log" || fail "size $size of $1"
  done
}

# refused WHAT HOST: one line, exit status 2.
refused() {
  local said status=0
  at "$2" true
  said=$("${line[@]}" 2>&1) || status=$?
  [ $status = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$1" <<<"$said" || fail "$1: $status: $said"
}
# Waits until a line that begins with $2 is in file $1, and prints its second word.
second_word() {
  for _ in $(seq 1000); do
    awk -v key="$2" '$1 == key { print $2; found = 1; exit } END { exit !found }' "$1" && return
    sleep 0.1
  done
  fail "nothing begins with '$2' in $1"
}

echo "== the first one makes the key and serves, as long as its program runs"
at 1 sleep 900
"${line[@]}" 2>"$work/first.log" &
for _ in $(seq 1000); do [ ! -e "$work/key1" ] || break; sleep 0.1; done
[ "$(stat -c %a "$work/key1")" = 600 ] || fail "others may read the key"
refused "$work/key2: not there" 2
echo 000102030405060708090a0b0c0d0e0f >"$work/key2" && chmod 600 "$work/key2"
refused "the key of $work/key2 is not the network's" 2
copy_key
chmod 644 "$work/key3"
refused "nobody else's to read" 3
chmod 600 "$work/key3"

echo "== two computers"
pingpong two 2 1 8001
echo "== four computers, all at once, and two processes of one of them"
pids=()
for pair in 1:2 2:3 3:4 4:1 3:3; do
  pingpong "four-$pair" "${pair%:*}" "${pair#*:}" "$((8010 + ${#pids[@]}))" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "one of four"; done

# conversation NAME: far_peer on 3 sends to one on 2, with the processes `sender` and `target`.
conversation() {
  local address
  at 2 "$far_peer"
  "${line[@]}" >"$work/$1-target.log" 2>&1 &
  target=$!
  address=$(second_word "$work/$1-target.log" address)
  at 3 "$far_peer" "$address"
  "${line[@]}" >"$work/$1.log" 2>&1 &
  sender=$!
  [ "$(second_word "$work/$1.log" begun)" = 1 ] || fail "$1: nothing was sent"
}
# ends_unresponsive NAME: its sender is told.
ends_unresponsive() {
  local status=0
  wait "$sender" || status=$?
  [ $status = 1 ] && grep -q '^failed 13 ' "$work/$1.log" || fail "$1: $status"
  grep -h '^failed' "$work/$1.log"
}

echo "== a peer that is killed"
conversation killed
kill -9 "$target"
ends_unresponsive killed

echo "== a cable that is pulled, and put back"
conversation cut
ip link set port2 down
ends_unresponsive cut
pingpong others 3 4 8030  # who does not notice
sleep 5                    # longer than anybody waits for a sign of life
ip link set port2 up
pingpong back 3 2 8031  # new ones
# The one that was cut off is there as before.
at 3 "$far_peer" "$(second_word "$work/cut-target.log" address)"
"${line[@]}" >"$work/again.log" 2>&1 &
sender=$!
[ "$(second_word "$work/again.log" begun)" = 1 ] || fail "the machine that was cut off: nothing was sent"
kill -9 "$target"
ends_unresponsive again
echo "all computers ran"
