#!/usr/bin/env bash
# A Slurm of several nodes on this machine, for as long as one command runs:
#
#   testing/launchers/slurm.sh 2 srun --mpi=pmix -N2 -n4 hostname
#
# munged, slurmctld and a slurmd for each node, with a configuration, a key and folders of their own below a temporary folder;
# Debian's build of Slurm lets several slurmd share a machine. Packages: munge, slurmctld, slurmd, slurm-client. Each node
# says that it has 16 processors, whatever the machine has. Status: the command's; 77 where Slurm is not installed.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

[ $# -ge 2 ] || { echo "slurm.sh: NODES COMMAND..." >&2; exit 2; }
[[ $1 =~ ^[1-9][0-9]{0,2}$ ]] || { echo "slurm.sh: $1 is no number of nodes, from 1 to 999" >&2; exit 2; }
for program in munged slurmctld slurmd srun; do
  command -v "$program" >/dev/null || { echo "slurm.sh: $program is not installed" >&2; exit 77; }
done
nodes=$1
shift

# Not below the folder of a test: its path is too long for munged's socket.
work=$(mktemp -d /tmp/drydock-slurm-XXXXXX)
daemons=()
stop() {
  # slurmd first, slurmctld, munged last.
  local i
  for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
    kill "${daemons[i]}" 2>/dev/null || true
    wait "${daemons[i]}" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap stop EXIT
failed() { echo "slurm.sh: $1" >&2; tail -n 20 "$work"/*.log >&2; exit 1; }
until_true() {  # WHAT COMMAND...: for two minutes: other tests may be under way
  local what=$1
  shift
  for _ in $(seq 1200); do
    if "$@"; then return; fi
    sleep 0.1
  done
  failed "$what"
}

mkdir "$work/state"
head -c 1024 /dev/urandom >"$work/key"
chmod 400 "$work/key"
host=$(hostname -s)
port=$((20000 + RANDOM % 8000))
cat >"$work/slurm.conf" <<CONF
ClusterName=drydock
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$work/munge
CredType=cred/munge
StateSaveLocation=$work/state
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n.pid
SlurmdSpoolDir=$work/spool.%n
TmpFS=$work/tmp.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
NodeName=node[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + nodes))] CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf

munged --foreground --force --num-threads=1 --key-file="$work/key" --socket="$work/munge" --pid-file="$work/munged.pid" \
  --seed-file="$work/seed" --log-file="$work/munged.log" >"$work/munged.out.log" 2>&1 &
daemons+=($!)
until_true "munged does not start" test -S "$work/munge"
slurmctld -D >"$work/slurmctld.log" 2>&1 &
daemons+=($!)
for node in $(seq "$nodes"); do
  mkdir "$work/spool.node$node" "$work/tmp.node$node"
  slurmd -D -N "node$node" >"$work/node$node.log" 2>&1 &
  daemons+=($!)
done
are_idle() { [ "$(sinfo --noheader --Node --format=%T 2>/dev/null | grep -c '^idle$')" = "$nodes" ]; }
until_true "not $nodes nodes are idle" are_idle

status=0
"$@" || status=$?
exit "$status"
