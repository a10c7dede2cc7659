#!/usr/bin/env bash
# Programs that know nothing of us, on simulated EFA: libfabric's own, and programs of this project between processes.
# Arguments: efa-run, write, alltoall.
set -euo pipefail
efa_run=$PWD/$1 write=$PWD/$2 alltoall=$PWD/$3
unset BUILD_WORKING_DIRECTORY
work=${TEST_TMPDIR:-$(mktemp -d)}
# Drawn, not $$: in a sandbox every test can have the same process number, and they share one folder of shared memory.
fabric=programs-$(mktemp -u XXXXXXXXXX)
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

fail() { echo "FAILED: $*"; cat "$work"/*.log; exit 1; }
expect() { grep -qF -- "$2" "$1" || fail "no '$2' in $1"; }
# Waits until a line that begins with $2 is in file $1, and prints its second word.
second_word() {
  for _ in $(seq 1000); do
    awk -v key="$2" '$1 == key { print $2; found = 1; exit } END { exit !found }' "$1" && return
    sleep 0.1
  done
  fail "nothing begins with '$2' in $1"
}

echo "== fi_info shows the NICs of the profile"
"$efa_run" --profile=p5 --fabric="$fabric" fi_info -p efa -t FI_EP_RDM >"$work/info.log" 2>"$work/info.err.log"
expect "$work/info.err.log" "simulated EFA: profile p5"
domains() { grep -oE "domain: $1-rdm\$" "$2" | sort -u | wc -l; }  # from 1.18 on, each NIC is on two fabrics
[ "$(domains 'rdmap.*s0' "$work/info.log")" = 32 ] || fail "not 32 NICs"
"$efa_run" --profile=p4d --nics=2 --quiet --fabric="$fabric-p4d" fi_info -p efa -t FI_EP_RDM >"$work/info4.log" 2>&1
[ "$(domains '.*' "$work/info4.log")" = 2 ] || fail "not 2 NICs"

echo "== fi_pingpong between two processes, every size, data checked"
sizes=(64 256 1k 4k)
# Later ones begin with efa-direct, whose messages are of one packet.
case "$(fi_info --version)" in *"libfabric: 1.17."*) sizes+=(64k 1m) ;; esac
# FLAG...
pingpong() {
  local port=$((20000 + RANDOM % 12000)) server attempt size
  local run=("$efa_run" --profile=p5 --nics=1 --quiet --fabric="$fabric" "$@" fi_pingpong -p efa -e rdm -c)
  "${run[@]}" -B $port >"$work/server.log" 2>&1 &
  server=$!
  for attempt in $(seq 50); do  # until the server listens
    if timeout 200 "${run[@]}" -P $port 127.0.0.1 >"$work/client.log" 2>&1; then break; fi
    [ "$attempt" -lt 50 ] || fail "fi_pingpong $*"
    sleep 0.2
  done
  wait $server || fail "fi_pingpong's server $*"
  for size in "${sizes[@]}"; do
    grep -qE "^$size +10 +=10 " "$work/client.log" || fail "size $size $*"
  done
}
pingpong

echo "== --sysfs: /sys is the simulated machine's, for the program alone"
mounts() { grep -c . /proc/self/mountinfo; }
shows() { { find /sys/class/infiniband /sys/class/pci_bus /sys/bus/pci/devices /sys/devices/virtual/dmi 2>/dev/null || true; } | sort; }
within() { "$efa_run" --quiet --nics=2 --fabric="$fabric" --sysfs "$@"; }
shows >"$work/before.log"
before=$(mounts)
if within true 2>"$work/sysfs.err.log"; then
  [ "$(within cat /sys/devices/virtual/dmi/id/product_name)" = p5.48xlarge ] || fail "the type of the machine"
  [ "$(within ls /sys/class/infiniband)" = "$(printf '%s\n' rdmap79s0 rdmap80s0)" ] || fail "the machine's NICs"
  [ "$(within cat /sys/class/pci_bus/0000:4f/../../0000:4f:00.0/max_link_width)" = 16 ] || fail "the link of a NIC"
  [ "$(within sh -c 'echo $SYSFS_PATH; id -u')" = "$(echo /sys; id -u)" ] || fail "who the program is"
  within fi_info -p efa -t FI_EP_RDM >"$work/sysfs.log" 2>&1
  [ "$(domains 'rdmap.*s0' "$work/sysfs.log")" = 2 ] || fail "not 2 NICs with --sysfs"
  pingpong --sysfs  # two processes, each in a namespace of its own
else
  [ "$(wc -l <"$work/sysfs.err.log")" = 1 ] && grep -F 'efa-run: --sysfs: mounts of its own take' "$work/sysfs.err.log" || fail "--sysfs is not refused in one line"
  echo "--sysfs: skipped: no mount namespace can be had here"
fi
shows | cmp - "$work/before.log" || fail "this machine's /sys has changed"
[ "$(mounts)" = "$before" ] || fail "mounts are left"

echo "== write between two processes, data checked, and traced"
run=("$efa_run" --profile=p5 --nics=1 --quiet --fabric="$fabric" --trace="$work/trace.json"
  "$write" --fabric=libfabric --provider=efa)
"${run[@]}" >"$work/write-server.log" 2>&1 &
server=$!
address=$(second_word "$work/write-server.log" address)
timeout 200 "${run[@]}" "$address" >"$work/write.log" 2>&1 || fail "write"
expect "$work/write.log" "Data is correct"
# Not SIGINT: a shell that is not interactive lets what it starts with & ignore it.
kill -TERM "$server"
status=0
wait "$server" || status=$?
[ $status = 143 ] || fail "the server ended with $status"
# Both have left a trace, the one that ended by itself and the one that a signal ended.
[ "$(ls "$work"/trace.*.json | wc -l)" = 2 ] || fail "not 2 traces"
for trace in "$work"/trace.*.json; do
  [ "$(tail -1 "$trace")" = "]}" ] || fail "$trace is not whole"
  for category in object post packet place completion poll; do
    grep -qF "\"cat\":\"$category\"" "$trace" || fail "no $category in $trace"
  done
done

echo "== alltoall between three processes of two NICs each"
run=("$efa_run" --profile=p5 --nics=2 --quiet --fabric="$fabric-ranks" "$alltoall" --fabric=libfabric --provider=efa --tokens=32 --rounds=2)
"${run[@]}" --machines=3 --in-place >"$work/rank0.log" 2>&1 &
ranks=($!)
meet=$(second_word "$work/rank0.log" meet)
for rank in 1 2; do
  timeout 200 "${run[@]}" --in-place "$meet" >"$work/rank$rank.log" 2>&1 &
  ranks+=($!)
done
for rank in 0 1 2; do wait "${ranks[rank]}" || fail "rank $rank of alltoall"; done
expect "$work/rank0.log" "Data is correct"

echo "== what is set, and what a user has set stays"
sees() {
  "$efa_run" --quiet --fabric="$fabric" "${@:2}" env >"$work/env.log"
  grep -qxF -- "$1" "$work/env.log" || fail "${*:2}: no $1"
}
sees FI_EFA_USE_DATA_PATH_DIRECT=0
sees FI_EFA_ENABLE_SHM_TRANSFER=0
FI_EFA_USE_DATA_PATH_DIRECT=1 sees FI_EFA_USE_DATA_PATH_DIRECT=1
sees DRYDOCK_EFA_FABRIC=job.1.0 --fabric=job.1.0
sees HWLOC_THISSYSTEM=1 --topology
HWLOC_XMLFILE=mine.xml sees HWLOC_XMLFILE=mine.xml --topology
if [ -z "${HWLOC_THISSYSTEM:-}" ] && grep -F HWLOC_THISSYSTEM "$work/env.log"; then
  fail "a file of the user's own is said to be of this machine"
fi
if command -v lstopo-no-graphics >/dev/null; then
  "$efa_run" --quiet --profile=p5 --topology --fabric="$fabric" lstopo-no-graphics --of console >"$work/lstopo.log"
  expect "$work/lstopo.log" 4f:00.0
fi
"$efa_run" --help >"$work/help.log"
expect "$work/help.log" FI_EFA_USE_DATA_PATH_DIRECT=0
"$efa_run" -h | cmp - "$work/help.log" || fail "-h is not --help"
"$efa_run" --nics=1 --fabric="$fabric" true >"$work/one.log" 2>&1
expect "$work/one.log" ", 1 NIC, seed"

# Nothing is found in programs that are right, nor in the provider below them.
if grep -F 'drydock-efa: finding' "$work"/*.log; then fail "a false finding"; fi

echo "== refusals: one line, exit status 2"
refused() {
  local said status=0
  said=$("$efa_run" "${@:2}" 2>&1) || status=$?
  [ $status = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$1" <<<"$said" || fail "$* gave $status: $said"
}
refused "no program to run"
refused "no such program" no-such-program-anywhere
refused "unknown flag --frobnicate" --frobnicate fi_info
for flag in --profile --seeds --patience --capsule; do refused "$flag: it takes a value, as $flag=VALUE" $flag fi_info; done
for flag in --faults --trace --seed; do refused "$flag: it takes a value, as $flag=VALUE" $flag= fi_info; done
"$efa_run" --quiet --nics=1 --fabric="$fabric" --trace="$work/equals=" true >"$work/equals.log" 2>&1 || fail "a value that ends with = gave $?"
refused "--key is of a network of several computers: with --network" --key="$work/key" fi_info
refused "a trace of efa-run is JSON" --trace=x.html fi_info
refused "no profile 'p9'" --profile=p9 fi_info
refused "33 NICs: a machine of profile p5 has 32" --profile=p5 --nics=33 fi_info
refused "--nics=many is not a number" --nics=many fi_info
refused "--seed=-1 is not a number" --seed=-1 fi_info
refused "--fabric=a/b: the name of a fabric has" --fabric=a/b fi_info
DRYDOCK_EFA_NICS=x refused "DRYDOCK_EFA_NICS=x is not a number" --seed=7 fi_info
refused "No such file or directory" --faults=/nowhere/plan.json fi_info
echo "no plan" >"$work/plan.txt"
refused "plan.txt" --faults="$work/plan.txt" fi_info
refused "cannot be written" --trace=/nowhere/trace.json fi_info
refused "cannot be written" --findings-file=/nowhere/found.json fi_info
refused "--trace and --findings-file are both to be in" --trace="$work/out.json" --findings-file="$work/./out.json" fi_info
installed=$efa_run
for folder in "a b" a:b; do  # the loader would leave the library out, and the program run without NICs
  mkdir "$work/$folder"
  cp -L "$installed" "$(dirname "$installed")/libdrydock_verbs.so" "$work/$folder"
  efa_run=$work/$folder/efa-run
  refused "the loader takes no library whose path has a space or a colon" true
done
echo "all programs ran"
