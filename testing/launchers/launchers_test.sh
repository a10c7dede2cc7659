#!/usr/bin/env bash
# Ranks that srun and mpirun start find each other: alltoall, batch and write on 2 nodes of a Slurm that this starts, and by
# Open MPI; over tcp, and over simulated EFA. Tasks of an array of that Slurm share an exploration. What is not installed is skipped,
# with a word. Arguments: slurm.sh, efa-run, alltoall, batch, write, explore.
set -euo pipefail
slurm=$PWD/$1 efa_run=$PWD/$2 alltoall=$PWD/$3 batch=$PWD/$4 write=$PWD/$5 explore=$PWD/$6
unset BUILD_WORKING_DIRECTORY
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/launchers-XXXXXX")
trap 'rm -rf "$work"' EXIT
fabric=launchers-$(mktemp -u XXXXXXXXXX)
fail() { echo "FAILED: $*"; tail -n +1 "$work"/*.log; exit 1; }

# expect NAME STATUS COUNT TEXT COMMAND...: ends so (0, or 1 for any other status), and prints the text so often ("some": once
# or more, since mpirun ends ranks that have not printed yet).
expect() {
  local name=$1 wanted=$2 count=$3 text=$4 status=0 printed
  shift 4
  echo "== $name"
  timeout 240 "$@" >"$work/out.log" 2>&1 </dev/null || status=$?
  [ "$status" != 124 ] || fail "$name did not end"
  [ $((status != 0)) = "$wanted" ] || fail "$name ended with $status"
  printed=$(grep -cF -- "$text" "$work/out.log" || true)
  if [ "$count" = some ]; then [ "$printed" -ge 1 ]; else [ "$printed" = "$count" ]; fi || fail "$name: not $count times '$text'"
}

small=(--provider=tcp --tokens=16 --rounds=2 --timeout=100)

# programs NAME RANKS...: under a launcher, which is called with a number of ranks.
programs() {
  local name=$1
  shift
  expect "$name: 4 ranks of alltoall" 0 1 "Data is correct" "$@" 4 "$alltoall" "${small[@]}" --in-place
  grep -qF "ranks     4, 2 NICs each" "$work/out.log" || fail "$name: not 4 ranks"
  expect "$name: 2 pairs of batch" 0 4 "Data is correct" "$@" 4 "$batch" --provider=tcp --gpus=1 --nics-per-gpu=1 --pages=100 --threads=0
  expect "$name: 2 clients of write" 0 2 "Data is correct" "$@" 3 "$write" --provider=tcp --page-size=65536 --timeout=60
  expect "$name: a trace and metrics of each rank" 0 2 "Data is correct" "$@" 2 "$batch" --provider=tcp --pages=100 --threads=0 \
    --trace="$work/$name.json" --metrics="$work/$name.prom"
  for rank in 0 1; do
    python3 -m json.tool <"$work/$name.rank$rank.json" >/dev/null || fail "$name: no trace of rank $rank"
    [ -s "$work/$name.rank$rank.prom" ] || fail "$name: no metrics of rank $rank"
  done
  expect "$name: each client of write prints a line of JSON" 0 2 '"correct":true' "$@" 3 "$write" --provider=tcp --json --timeout=60
  expect "$name: no two clients print CSV" 1 some "take --json, a line for each of them" "$@" 3 "$write" --provider=tcp --csv
  expect "$name: each sender of batch prints a line of JSON" 0 2 '"correct":true' "$@" 4 "$batch" --provider=tcp --gpus=1 --pages=100 --json
  expect "$name: 3 ranks have no pairs" 1 some "pairs need an even number" "$@" 3 "$batch" --provider=tcp
  expect "$name: alltoall on simulated EFA" 0 1 "Data is correct" \
    "$@" 2 "$efa_run" --profile=p5 --nics=2 --quiet --fabric="$fabric-$name" "$alltoall" --fabric=libfabric --provider=efa --tokens=16 --rounds=2
}

under_slurm() {
  # Half of the ranks on each node.
  by_srun() { srun --quiet --mpi=pmix --nodes=2 --ntasks="$1" "${@:2}"; }
  export -f by_srun
  programs srun bash -c 'by_srun "$@"' by_srun
  expect "srun: simulated NICs of two nodes over TCP" 0 1 "Data is correct" \
    srun --quiet --mpi=pmix --nodes=2 --ntasks=4 "$efa_run" --network="tcp://127.0.0.1:$((28000 + RANDOM % 2000))" --key="$work/key" \
    --profile=p5 --nics=2 --quiet "$alltoall" --fabric=libfabric --provider=efa --tokens=16 --rounds=2
  # Slurm's PMIx plugin ends the step of a rank that is gone.
  expect "srun: a rank that is killed ends the others" 1 0 "Data is correct" \
    srun --quiet --mpi=pmix --nodes=2 --ntasks=3 \
    bash -c '[ "$SLURM_PROCID" = 1 ] || exec "$@"
      "$@" &
      while kill -0 $! && ! grep -qF "load      16 tokens" "$0"; do sleep 0.1; done
      sleep 2
      kill -9 $!' "$work/out.log" \
    "$alltoall" --provider=tcp --tokens=16 --rounds=1000000 --timeout=230
  grep -qF "load      16 tokens" "$work/out.log" || fail "it had not begun"
  expect "srun: a client that cannot start does not hold up its server" 1 1 "1 of 2 clients were served" \
    srun --quiet --mpi=pmix --nodes=2 --ntasks=3 \
    bash -c '[ "$SLURM_PROCID" != 1 ] || set -- "$@" --nic=none; exec "$@"' - "$write" --provider=tcp --page-size=65536 --timeout=40
  # It tells its receiver, which would wait until --timeout.
  expect "srun: a sender that cannot start does not hold up its receiver" 1 1 "rank 1 cannot go on: no NIC 'none'" \
    srun --quiet --mpi=pmix --nodes=2 --ntasks=2 \
    bash -c '[ "$SLURM_PROCID" != 1 ] || set -- "$@" --nic=none; exec "$@"' - "$batch" --provider=tcp --pages=100 --timeout=200
  expect "srun: a server that cannot start does not hold up its clients" 1 2 "rank 0 cannot go on: no NIC 'none'" \
    srun --quiet --mpi=pmix --nodes=2 --ntasks=3 \
    bash -c '[ "$SLURM_PROCID" != 0 ] || set -- "$@" --nic=none; exec "$@"' - "$write" --provider=tcp --timeout=200
  expect "srun: a rank that cannot start does not hold up the others" 1 2 "rank 1 cannot go on: no NIC 'none'" \
    srun --quiet --mpi=pmix --nodes=2 --ntasks=3 \
    bash -c '[ "$SLURM_PROCID" != 1 ] || set -- "$@" --nic=none; exec "$@"' - "$alltoall" --provider=tcp --timeout=200
  expect "srun: ranks whose output is for a script" 0 0 "Data is correct" \
    srun --quiet --mpi=pmix --nodes=2 --ntasks=2 "$batch" --provider=tcp --pages=100 --json
  python3 -m json.tool <"$work/out.log" >/dev/null || fail "it is no JSON"
  expect "srun without PMIx says what to do" 1 some "add --mpi=pmix to srun" \
    srun --quiet --mpi=none --nodes=1 --ntasks=2 "$alltoall" "${small[@]}"
  expect "srun without PMIx, with an address" 0 1 "Data is correct" \
    srun --quiet --mpi=none --nodes=2 --ntasks=3 "$alltoall" "${small[@]}" "127.0.0.1:$((30000 + RANDOM % 2000))"
}

# tasks STATUS FOLDER ARGUMENT...: sbatch starts an array with these arguments, whose results go to the folder.
tasks() { expect "sbatch ${*:3}" "$1" 0 "error" sbatch --quiet --wait "${@:3}" "$work/sweep.sbatch" "$2"; }

# reports_the_same FOLDER: what the tasks have found is what one process finds, byte for byte.
reports_the_same() {
  local form
  for form in --json --nojson; do
    "$explore" merge "$form" "$1" >"$1.report" 2>"$work/out.log" || fail "merge of $1 ended with $?"
    "$explore" merge "$form" "$work/alone" >"$work/alone.report" 2>"$work/out.log" || fail "merge of one shard ended with $?"
    cmp "$work/alone.report" "$1.report" || fail "the report of $1 is another one"
  done
  grep -q '^40000 seeds, ' "$1.report" || fail "not 40000 seeds"
}

# As docs/sweeps.md has it, with tasks that are lost.
arrays_of_slurm() {
  local sweep=("$explore" --scenario=ping-pong --seeds=40000) status=0
  "${sweep[@]}" --shard=0/1 --results="$work/alone" >"$work/out.log" 2>&1 || fail "one shard ended with $?"
  cat >"$work/sweep.sbatch" <<END
#!/bin/bash
#SBATCH --ntasks=1 --cpus-per-task=8 --requeue --open-mode=append --output=$work/task-%a.log
echo "\$SLURMD_NODENAME" >>$work/nodes
sweep=(${sweep[*]@Q} --results="\$1")
[ "\$SLURM_ARRAY_TASK_ID" = "\$KILLED" ] || exec srun --quiet "\${sweep[@]}"
# Killed as soon as its file has results; by one thread, its seeds take longer than that.
srun --quiet bash -c '"\$@" --jobs=1 &
  until grep -q "\"done\":[1-9]" "\$0" || ! kill -0 \$!; do sleep 0.02; done 2>/dev/null
  kill -9 \$!' "\$1/ping-pong-00001-of-00004.results" "\${sweep[@]}"
exit 1
END
  # Slurm says how many they are, and with which number they begin.
  tasks 0 "$work/parts" --array=3-9:2
  [ "$(find "$work/parts" -name 'ping-pong-0000?-of-00004.results' | wc -l)" = 4 ] || fail "not 4 files"
  [ "$(sort -u "$work/nodes" | wc -l)" = 2 ] || fail "not on 2 nodes"
  reports_the_same "$work/parts"
  # One is killed as it runs, another one never begins: they are submitted again, alone.
  export DRYDOCK_SHARDS=4
  KILLED=1 tasks 1 "$work/lost" --array=0,1,3
  # What it had done is there.
  status=0
  "$explore" merge "$work/lost/ping-pong-00001-of-00004.results" >"$work/out.log" 2>&1 || status=$?
  [ $status = 1 ] && grep -qE "00001-of-00004.results has [1-9][0-9]* of its 10000 seeds" "$work/out.log" ||
    fail "the one that was killed: merge ended with $status"
  status=0
  "$explore" merge "$work/lost" >"$work/out.log" 2>&1 || status=$?
  [ $status = 1 ] && grep -qF -- "--partial reports what is there" "$work/out.log" || fail "merge of what is not whole ended with $status"
  tasks 0 "$work/lost" --array=1,2
  reports_the_same "$work/lost"
}

if [ "${7:-}" = inside ]; then
  under_slurm
  arrays_of_slurm
  exit
fi

status=0
"$slurm" 2 "$0" "$1" "$2" "$3" "$4" "$5" "$6" inside || status=$?
case $status in
  0) ;;
  77) echo "skipped: Slurm is not installed (munge, slurmctld, slurmd, slurm-client)" ;;
  *) exit "$status" ;;
esac

if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  programs mpirun mpirun --oversubscribe -n
else
  echo "skipped: Open MPI is not installed (openmpi-bin)"
fi
