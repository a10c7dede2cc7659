# Computers for the scripts that source this: network namespaces with shared memory and a name of their own, node1, node2, ...,
# at 10.77.0.1, 10.77.0.2, ..., on one switch. All their traffic stays between them.

# Whether they can be made here; in a namespace of users, so that nobody has to be root.
can_make_computers() {
  unshare --user --map-root-user --net --mount --uts sh -c 'ip link add b0 type bridge && ip link add v0 type veth' 2>/dev/null
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
    unshare --net --mount --uts sh -c "touch $ready && exec sleep 900" &
    computers[i]=$!
    disown $!
    until [ -e "$ready" ]; do sleep 0.02; done  # it is in its namespaces
    rm "$ready"
    ip link add "port$i" type veth peer name eth0 netns "${computers[i]}"
    ip link set "port$i" master switch up
    nsenter -t "${computers[i]}" --net --mount --uts sh -c "hostname node$i && mount -t tmpfs tmpfs /dev/shm &&
      ip addr add 10.77.0.$i/24 dev eth0 && ip link set eth0 up && ip link set lo up"
  done
}

# NUMBER COMMAND...: sets `line`, which runs it there.
on_computer() { line=(nsenter -t "${computers[$1]}" --net --mount --uts "${@:2}"); }
