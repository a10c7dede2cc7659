# Roots of other releases of Debian, for the scripts beside this, which source it: to run programs of ours with a release's
# libraries (make_root), and to build with its packages (make_machine). A root is made in seconds, lies in the user's cache, and
# stays there.
#
# Whoever sources this is at the root of the repository, and has set `me`: the name in front of its lines, and its own name
# without .sh. With --help it prints the comment at its head, and ends here.
if [ "${1:-}" = --help ]; then sed -nE '2,/^set /{/^set /!s/^# ?//p}' "testing/systems/$me.sh"; exit; fi

# Says why there is nothing to run, and ends: that is no failure, unless NEED_ROOTS is set.
skip() {
  echo "$me: skipped: $*"
  if [ -n "${NEED_ROOTS:-}" ]; then exit 1; fi
  exit 0
}

# Prints the archive that this machine's own packages come from.
mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1
}

# A mirror may be behind: the lists of the release that is not out yet are then too old for apt.
readonly APT_OPTION='Acquire::Check-Valid-Until "false"'

# RELEASE NAME OPTION...: sets `root`, and has mmdebstrap make it with these options where it is not there yet.
fetch_root() {
  local release=$1 from
  root=${XDG_CACHE_HOME:-$HOME/.cache}/drydock/roots/$2
  shift 2
  [ "$(id -u)" = 0 ] || skip "only root may change to another root"
  if [ -e "$root" ]; then return; fi
  ./bazelw --install mmdebstrap </dev/null || skip "there is no mmdebstrap"
  from=$(mirror)
  [ -n "$from" ] || skip "this machine's packages come from no archive of Debian's"
  echo "$me: $release from $from, to $root"
  mkdir -p "$(dirname "$root")"
  rm -rf "$root.new"
  mmdebstrap --quiet --aptopt="$APT_OPTION" "$@" "$release" "$root.new" "$from" || skip "$release cannot be had from $from"
  # Debian 12's libfabric is linked with this one; a script of its package would have made the link.
  if [ -e "$root.new/usr/lib/libpsm1" ]; then
    ln -sf ../libpsm1/libpsm_infinipath.so.1.16 "$root.new/usr/lib/x86_64-linux-gnu/libpsm_infinipath.so.1"
  fi
  mv "$root.new" "$root"
}

# RELEASE PACKAGES: sets `root`, which has these packages and nothing else: no shell, no package manager. They are unpacked, not
# installed: their scripts need more than is there.
make_root() {
  fetch_root "$1" "$1-$(cksum <<<"$2" | cut -d' ' -f1)" --variant=extract --include="$2"
  mkdir -p "$root/opt/drydock"
  inside /usr/bin/fi_info --version >/dev/null 2>&1 || skip "programs of $1 do not run here"
}

# RELEASE: sets `root`, a small system that installs packages, with this repository at /drydock. What is built there stays.
make_machine() {
  fetch_root "$1" "$1-machine" --variant=apt --include=iproute2
  mkdir -p "$root/drydock"
  inside /bin/true || skip "programs of $1 do not run here"
}

# COMMAND...: in the root, with this machine's devices and shared memory. What is mounted ends with the command.
inside() {
  unshare --mount --propagation=private bash -c '
    root=$1
    shift
    mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" && mount -t proc proc "$root/proc" || exit
    if [ -d "$root/drydock" ]; then mount --bind . "$root/drydock" || exit; fi
    exec chroot "$root" "$@"' inside "$root" "$@"
}
