#!/usr/bin/env bash
# An image of programs, made and started on a machine without a registry and without Docker: by buildah, and by a chroot in a
# namespace of mounts.
#
#   containers/local.sh build IMAGE.tar PROGRAM...     an OCI archive: the programs as drydock-NAME, and the libraries that they need
#   containers/local.sh create IMAGE.tar FOLDER        its files, in a new folder
#   containers/local.sh start FOLDER COMMAND...        runs a command in them; becomes it
#
# Root, or a user who may make namespaces of users, can do all of it. `start` shows the command the machine's /dev, /proc, /sys,
# /tmp and names of hosts, and nothing else of it. Under Slurm: srun --mpi=pmix containers/local.sh start FOLDER drydock-alltoall ...
# Packages: buildah (build and create only). Status 77: it is not installed.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

usage() { sed -n '5,7s/^# *//p' "$0" >&2; exit 2; }
[ $# -ge 3 ] || usage
verb=$1
case $verb in build | create | start) ;; *) usage ;; esac
shift
stop() { echo "local.sh: $*" >&2; exit 2; }

# Whoever is not root becomes it, in a namespace of users.
namespaces=(unshare --mount)
[ "$(id -u)" = 0 ] || namespaces+=(--map-root-user)

make_work_folder() {
  command -v buildah >/dev/null || { echo "local.sh: buildah is not installed" >&2; exit 77; }
  # Who is not root mounts in a namespace of users that buildah makes, in which he is.
  [ "$(id -u)" = 0 ] || exec buildah unshare "$0" "$verb" "$@"
  work=$(mktemp -d)
  # Containers and images of buildah are in this folder, and go with it.
  buildah=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs)
  trap '"${buildah[@]}" unmount --all >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
}

# copy FOLDER FILE: with the path that it has here, whatever links lead to it.
copy() {
  mkdir -p "$1$(dirname "$2")"
  cp -L "$2" "$1$2"
}
# with_libraries FOLDER FILE...: the libraries that these need.
with_libraries() {
  local folder=$1 library
  shift
  { ldd "$@" 2>/dev/null || true; } | sed -nE 's#.*[[:space:]](/[^ :]+\.so[^ :]*).*#\1#p' | sort -u | while read -r library; do copy "$folder" "$library"; done
}

build() {  # IMAGE PROGRAM...
  local image=$1 files program tool plugin container
  for program in "${@:2}"; do [ -x "$program" ] || stop "$program is no program"; done
  make_work_folder "$@"
  shift
  files=$work/files
  mkdir -p "$files"/{dev,etc,proc,sys,tmp,usr/local/bin,usr/bin}
  ln -s usr/bin "$files/bin"
  for program in "$@"; do
    install "$program" "$files/usr/local/bin/drydock-$(basename "$program")"
    with_libraries "$files" "$program"
  done
  for tool in bash cat env ls; do
    install "$(command -v "$tool")" "$files/usr/bin/$tool"
    with_libraries "$files" "$(command -v "$tool")"
  done
  # What is opened by name: libfabric, PMIx with its parts, and the providers of libibverbs.
  for plugin in /opt/amazon/efa/lib*/libfabric.so.1 /usr/lib/*/libfabric.so.1 \
    /usr/lib/*/libpmix.so.2 /usr/lib/*/pmix2/lib/libpmix.so.2 /usr/lib/*/pmix2/lib/pmix/*.so /usr/lib/*/libibverbs/*.so \
    /etc/libibverbs.d/*; do
    [ -e "$plugin" ] || continue
    copy "$files" "$plugin"
    with_libraries "$files" "$plugin"
  done
  getent passwd root >"$files/etc/passwd"
  echo "hosts: files dns" >"$files/etc/nsswitch.conf"
  container=$("${buildah[@]}" from scratch)
  "${buildah[@]}" copy --quiet "$container" "$files" / >/dev/null
  "${buildah[@]}" config --cmd /usr/local/bin/drydock-doctor --env PATH=/usr/local/bin:/usr/bin "$container"
  rm -f "$image"
  "${buildah[@]}" commit --quiet "$container" "oci-archive:$image:drydock" >/dev/null
}

create() {  # IMAGE FOLDER
  local container mounted
  [ ! -e "$2" ] || stop "$2 is there already"
  [ -r "$1" ] || stop "$1 cannot be read"
  make_work_folder "$@"
  container=$("${buildah[@]}" from "oci-archive:$1")
  mounted=$("${buildah[@]}" mount "$container")
  cp -a "$mounted" "$2"
}

start() {  # FOLDER COMMAND...
  [ -d "$1/usr/local/bin" ] || stop "$1 has not been created"
  exec "${namespaces[@]}" /bin/bash -c '
    set -euo pipefail
    for folder in dev proc sys tmp; do mount --rbind "/$folder" "$0/$folder"; done
    for file in hosts resolv.conf; do
      [ -e "/etc/$file" ] || continue
      : >>"$0/etc/$file"
      mount --bind "/etc/$file" "$0/etc/$file"
    done
    exec chroot "$0" /usr/bin/env PATH=/usr/local/bin:/usr/bin "$@"' "$(realpath "$1")" "${@:2}"
}

"$verb" "$@"
