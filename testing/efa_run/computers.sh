# Computers for the scripts that source this: network namespaces with shared memory and a name of their own, node1, node2, ...,
# at 10.77.0.1, 10.77.0.2, ..., on one switch. All their traffic stays between them.

# Ends the script, with a word, where they cannot be made; in a namespace of users, so that nobody has to be root.
skip_without_computers() {
  command -v ip >/dev/null || { echo "skipped: ip is not installed (iproute2)"; exit 0; }
  unshare --user --map-root-user --net --mount --uts sh -c 'ip link add b0 type bridge && ip link add v0 type veth' 2>/dev/null ||
    { echo "skipped: no namespaces of users and networks, or no bridges, can be made here"; exit 0; }
}
# COMMAND...: goes on as it, where make_computers works.
become_their_root() { exec unshare --user --map-root-user --net --mount "$@"; }

computers=()  # index = number: a process that keeps it

# COUNT
make_computers() {
  local i ready
  ip link add switch type bridge
  ip link set switch up
  for i in $(seq "$1"); do
    ready=$(mktemp -u)
    unshare --net --mount --uts sh -c "touch $ready && exec sleep 1800" &
    computers[i]=$!
    disown $!
    until [ -e "$ready" ]; do  # it is in its namespaces
      kill -0 "${computers[i]}" 2>/dev/null || { echo "computer $i ended"; exit 1; }
      sleep 0.02
    done
    rm "$ready"
    ip link add "port$i" type veth peer name eth0 netns "${computers[i]}"
    ip link set "port$i" master switch up
    nsenter -t "${computers[i]}" --net --mount --uts sh -c "hostname node$i && mount -t tmpfs tmpfs /dev/shm &&
      ip addr add 10.77.0.$i/24 dev eth0 && ip link set eth0 up && ip link set lo up"
  done
}

# For the trap EXIT: ends all that runs on them, what the script waits for included, and them.
end_computers() {
  local i process
  for process in /proc/[0-9]*; do
    [ ! "$process/ns/net" -ef /proc/$$/ns/net ] || continue
    for i in "${computers[@]}"; do
      if [ "${process#/proc/}" != "$i" ] && [ "$process/ns/net" -ef "/proc/$i/ns/net" ]; then
        kill -9 "${process#/proc/}" 2>/dev/null || true
      fi
    done
  done
  kill -9 "${computers[@]}" 2>/dev/null || true
}

# NUMBER COMMAND...: sets `line`, which runs it there.
on_computer() { line=(nsenter -t "${computers[$1]}" --net --mount --uts "${@:2}"); }
