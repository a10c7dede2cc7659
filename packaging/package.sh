#!/usr/bin/env bash
# Makes packages of what Bazel has built: `./bazelw run //packaging:deb`, `./bazelw run //packaging:tarball`.
#
#   deb|tarball [--out=FOLDER] [--only=PACKAGE,...] [--date=SECONDS] [--version=VERSION] [--fast]
#
# Writes drydock-efa-run, drydock, libdrydock-dev and python3-drydock as Debian packages, or all of them in one archive for any Linux, into
# FOLDER (default: dist, at the root of the repository). The same sources give the same bytes. --fast packs less tightly. Exit status 2: bad
# flags, or something that is needed is missing; one line says what.
set -euo pipefail

readonly PACKAGES=(drydock-efa-run drydock libdrydock-dev python3-drydock)

die() { echo "packaging: $*" >&2; exit 2; }

kind=${1:-}
shift || true
out='' date='' version='' level=6 wanted=("${PACKAGES[@]}")
for flag in "$@"; do
  case "$flag" in
    --out=?*) out=${flag#*=} ;;
    --date=?*) date=${flag#*=} ;;
    --version=?*) version=${flag#*=} ;;
    --only=?*) IFS=, read -ra wanted <<<"${flag#*=}" ;;
    --fast) level=1 ;;
    --out | --out= | --date | --date= | --version | --version= | --only | --only=) die "${flag%=}: it takes a value, as ${flag%=}=VALUE" ;;
    --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "$0"; exit 0 ;;
    *) die "unknown flag $flag (--help lists them)" ;;
  esac
done

# Bazel runs this where the built files lie by their places in the repository.
if [ -d "$0.runfiles/drydock" ]; then cd "$0.runfiles/drydock"; fi
[ -f packaging/stage.sh ] || die "run it with ./bazelw run //packaging:$kind"
source packaging/version.sh
source packaging/stage.sh
source packaging/debian.sh

repository=${BUILD_WORKSPACE_DIRECTORY:-$PWD}
[ -n "$date" ] || date=$(date_of "$repository") || exit 2
[[ "$date" =~ ^[0-9]+$ ]] || die "--date=$date: it takes the seconds since 1970"
[ -n "$version" ] || version=$(version_of "$repository" "$date") || exit 2
[[ "$version" =~ ^[0-9][0-9A-Za-z.+~-]*$ ]] || die "--version=$version: it takes a digit, then digits, letters and .+~-"
case "$out" in
  '') out=$repository/dist ;;
  /*) ;;
  *) out=${BUILD_WORKING_DIRECTORY:-$PWD}/$out ;;
esac
named=' '
for package in "${wanted[@]}"; do
  [[ " ${PACKAGES[*]} " == *" $package "* ]] || die "no package '$package', only: ${PACKAGES[*]}"
  [[ "$named" != *" $package "* ]] || die "--only names $package twice"
  named+="$package "
done
mkdir -p "$out" || die "$out cannot be made"

# Nothing of who builds, where and when, may be in a package.
umask 022
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=$date
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case "$kind" in
  deb)
    command -v dpkg-deb >/dev/null || die "dpkg-deb is missing (tarball needs none)"
    for package in "${wanted[@]}"; do
      stage "$package" "$work/$package/usr" "$version" "$date"
      build_deb "$package" "$work/$package" "$version" "$date" "$level" "$out"
    done
    ;;
  tarball)
    name=drydock-$version-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
    for package in "${wanted[@]}"; do stage "$package" "$work/$name" "$version" "$date"; done
    tar --create --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$date" -C "$work" "$name" |
      gzip -n -"$level" >"$out/$name.tar.gz"
    echo "$out/$name.tar.gz"
    ;;
  *) die "deb or tarball, not '$kind'" ;;
esac
