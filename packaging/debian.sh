# A Debian package from a folder: `build_deb PACKAGE FOLDER VERSION DATE LEVEL OUT`.

# The packages that a program's libraries are in, as NAME or NAME (>= VERSION), one a line. A library that is not here fails the build:
# nobody has thought of who installs it.
packages_of() {  # FILE...
  local file said what library _
  for file in "$@"; do
    said=$(objdump -p "$file") || die "$file cannot be read"
    while read -r what library _; do
      [ "$what" = NEEDED ] || continue
      case "$library" in
        libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux-*) ;;  # below
        libstdc++.so.6) echo "libstdc++6" ;;
        libgcc_s.so.1) echo "libgcc-s1" ;;
        libatomic.so.1) echo "libatomic1" ;;
        libhwloc.so.15) echo "libhwloc15" ;;
        libabsl_*.so.*) echo "libabsl${library##*.so.}" ;;
        libdrydock_verbs.so) ;;
        *) die "$file needs $library, which is in no package that packaging/debian.sh knows" ;;
      esac
    done <<<"$said"
    # The newest symbol version that it asks for.
    sed -n 's/.* GLIBC_\([0-9.]*\)$/libc6 (>= \1)/p' <<<"$said" | sort -V | tail -n 1
  done
}

# One of each, of several versions the newest.
joined() { sort -V | awk '{ last[$1] = $0 } END { for (name in last) print last[name] }' | sort | paste -sd, - | sed 's/,/, /g'; }

control_drydock_efa_run() {  # FOLDER VERSION
  local needed
  needed=$(packages_of "$1"/usr/lib/drydock/*) || exit 2
  cat <<TEXT
Section: devel
Depends: $(printf '%s\n' "$needed" libibverbs1 ibverbs-providers | joined)
Recommends: libfabric1
Suggests: libfabric-bin
Description: run any libfabric or verbs program on simulated AWS EFA NICs
 efa-run starts a program with a library in front of libibverbs and libefa that
 answers for the NICs of an EC2 instance which are not there: delays, disorder,
 limits and faults included.
TEXT
}

control_drydock() {
  local needed programs
  mapfile -t programs < <(find "$1/usr/lib/drydock" -type f ! -name '*.*' ! -name drydock)
  needed=$(packages_of "${programs[@]}") || exit 2
  cat <<TEXT
Section: devel
Depends: $(printf '%s\n' "$needed" "drydock-efa-run (= $2)" | joined)
Recommends: libfabric1
Description: programs of the EFA simulator Drydock
 One command, drydock, for the tools: doctor, info, explore, whatif, replay,
 traces, and small programs that each show one use of RDMA on AWS EFA.
TEXT
}

control_libdrydock_dev() {
  cat <<TEXT
Section: libdevel
Recommends: g++ (>= 4:12), pkg-config | pkgconf
Suggests: drydock-efa-run, libfabric-dev, libgtest-dev, nlohmann-json3-dev
Description: write and test RDMA code for AWS EFA on simulated NICs
 Headers of the contract, of the coroutines on it and of the simulator, one
 static library, files for pkg-config and CMake, and seed tests for GoogleTest.
 Abseil is in it, as the library uses it.
TEXT
}

control_python3_drydock() {
  cat <<TEXT
Section: python
Depends: python3, drydock-efa-run (= $2)
Suggests: python3-pytest
Description: processes on simulated AWS EFA NICs, from Python and pytest
 Starts processes under efa-run, waits for them, kills what is left, and counts
 what their traces say; a pytest plugin names the seed of a failure.
TEXT
}

build_deb() {  # PACKAGE FOLDER VERSION DATE LEVEL OUT
  local architecture control
  if [ "$1" = python3-drydock ]; then architecture=all; else architecture=$(dpkg --print-architecture); fi
  control=$("control_${1//-/_}" "$2" "$3") || exit 2
  mkdir -p "$2/DEBIAN"
  cat >"$2/DEBIAN/control" <<TEXT
Package: $1
Version: $3
Architecture: $architecture
Maintainer: Drydock <drydock@localhost>
Installed-Size: $(find "$2/usr" -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
Priority: optional
${control}
TEXT
  if [ "$1" = python3-drydock ]; then  # what Python has compiled beside its sources is in no package, and would stay
    printf '#!/bin/sh\nrm -rf /usr/lib/python3/dist-packages/drydock/__pycache__\n' >"$2/DEBIAN/prerm"
    chmod 755 "$2/DEBIAN/prerm"
  fi
  (cd "$2" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$2/DEBIAN/md5sums"
  find "$2" -exec touch --no-dereference --date="@$4" {} +
  dpkg-deb --root-owner-group -Zgzip -z"$5" --threads-max=1 --build "$2" "$6/$1_${3}_$architecture.deb" >/dev/null
  echo "$6/$1_${3}_$architecture.deb"
}
