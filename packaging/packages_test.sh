#!/usr/bin/env bash
# The packages: the same bytes twice, what is in them, what they depend on; and that what was unpacked runs.
set -euo pipefail
fail() { echo "FAILED: $*"; exit 1; }
work=${TEST_TMPDIR:-$(mktemp -d)}
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY
make() { packaging/package.sh "$1" --date=1700000000 --version=1.2+test --out="$work/$2" "${@:3}"; }

echo "== bad flags and missing facts: one line, exit status 2"
refused() {
  local said status=0
  said=$("${@:2}" 2>&1) || status=$?
  [ $status = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$1" <<<"$said" || fail "$* gave $status: $said"
}
refused "deb or tarball, not 'rpm'" make rpm x
refused "unknown flag --frobnicate" make deb x --frobnicate
refused "no package 'rpm'" make deb x --only=rpm
refused "--only names drydock twice" make deb x --only=drydock,python3-drydock,drydock
refused "--out: it takes a value, as --out=VALUE" make deb x --out=
refused "--only: it takes a value, as --only=VALUE" make deb x --only
refused "it takes the seconds since 1970" make deb x --date=today
refused "it takes the seconds since 1970" packaging/package.sh deb --date=today --out="$work/x"
refused "it takes a digit, then digits, letters" make tarball x --version=1/2
refused "it takes a digit, then digits, letters" make deb x --version=v1
refused "nothing tells the date" env -u SOURCE_DATE_EPOCH BUILD_WORKSPACE_DIRECTORY=/proc packaging/package.sh deb --out="$work/x"

echo "== the archive: the same bytes, whoever builds it, where and when"
make tarball one --only=drydock-efa-run,python3-drydock
(umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 make tarball two --only=drydock-efa-run,python3-drydock)
name=drydock-1.2+test-linux-$(uname -m)
cmp "$work/one/$name.tar.gz" "$work/two/$name.tar.gz" || fail "two archives of the same sources differ"
make tarball one --fast
tar -xf "$work/one/$name.tar.gz" -C "$work"
cd "$work/$name"

echo "== what was unpacked runs, from any folder"
[ "$(bin/drydock --version)" = "drydock 1.2+test" ] || fail "bin/drydock --version"
ln -s "$PWD/bin/drydock" "$work/linked"
"$work/linked" efa-run --quiet --nics=1 --fabric="packages-$RANDOM" sh -c 'echo "$LD_PRELOAD"' | grep -q '/lib/drydock/libdrydock_verbs.so' ||
  fail "efa-run does not find its library"
for plan in share/drydock/plans/*.json; do bin/efa-run --quiet --nics=1 --faults="$plan" true || fail "$plan"; done
for run in --digest --seeds=1..2; do bin/efa-run --quiet --nics=1 "$run" true || fail "efa-run $run: no virtual time"; done
bin/drydock write --fabric=sim --num-pages=2 --trace="$work/t.json" >"$work/write.log" || fail "bin/drydock write"
grep -q 'Data is correct' "$work/write.log" || fail "bin/drydock write says: $(cat "$work/write.log")"
status=0
bin/drydock explore --scenario=write-last --faults=none --seeds=20 >"$work/explore.txt" 2>&1 || status=$?
[ $status = 1 ] && grep -qF ' drydock explore --scenario=write-last' "$work/explore.txt" || fail "explore: $(cat "$work/explore.txt")"
bin/drydock trace <"$work/t.json" >"$work/t.html" && grep -qi '<html' "$work/t.html" || fail "bin/drydock trace"
bin/drydock doctor >"$work/doctor.txt" || [ $? -le 2 ] || fail "bin/drydock doctor"
grep -qF ' drydock write' "$work/doctor.txt" && ! grep -qF bazelw "$work/doctor.txt" || fail "the doctor's next steps are those of a clone"
for page in efa-run drydock drydock-explore drydock-efa-run; do zcat "share/man/man1/$page.1.gz" | grep -q '^\.TH' || fail "no manual $page"; done
grep -q '^# Drydock$' share/doc/drydock-efa-run/README.md || fail "the README is not there"
grep -q '^# apps$' share/doc/drydock/README.md || fail "the page of the programs is not there"
mapfile -t pages < <(grep -aohE 'docs/[a-z-]+\.md' lib/drydock/* | sort -u)
[ ${#pages[@]} -ge 5 ] || fail "programs name only ${pages[*]}"
for page in "${pages[@]}"; do [ -f "share/doc/drydock-efa-run/$page" ] || fail "a program names $page, which is not there"; done
if command -v python3 >/dev/null; then
  PATH=$PWD/bin:$PATH PYTHONPATH=$PWD/lib/python3/dist-packages python3 -c 'import drydock
with drydock.fabric(faults="peer_unresponsive") as env: env.run("true")' || fail "the Python package"
fi
grep -q 'Version: 1.2+test' lib/pkgconfig/drydock.pc || fail "no version in drydock.pc"
for header in drydock/coro/task.h drydock/fabric/endpoint.h drydock/fabric/libfabric/libfabric_fabric.h drydock/sim/cluster/two_nodes.h drydock/testing/harness/seed_test.h absl/status/status.h; do
  [ -f "include/drydock/$header" ] || fail "no header $header"
done

echo "== find_package compares the numbers of versions"
if command -v cmake >/dev/null; then
  for asked in "0 yes" "0.1 yes" "0.1.0 yes" "0.1.1 no" "0.2 no" "1 no" "0.0.9 no"; do
    cat >"$work/version.cmake" <<TEXT
set(PACKAGE_FIND_VERSION ${asked% *})
include("$work/drydock-config-version.cmake")
if(PACKAGE_VERSION_COMPATIBLE)
  message(STATUS yes)
else()
  message(STATUS no)
endif()
TEXT
    sed 's/@VERSION@/0.1.0+git20261130.1/' "$OLDPWD/packaging/develop/drydock-config-version.cmake" >"$work/drydock-config-version.cmake"
    [ "$(cmake -P "$work/version.cmake")" = "-- ${asked#* }" ] || fail "find_package(drydock ${asked% *}) finds 0.1.0+git: not '${asked#* }'"
  done
else
  echo "skipped: cmake is not installed"
fi

echo "== a program over libfabric, by pkg-config"
export PKG_CONFIG_PATH=$PWD/lib/pkgconfig
if pkg-config --exists drydock-libfabric libfabric 2>/dev/null && command -v g++ >/dev/null; then
  source=$OLDPWD/examples/source/copy_pages.cc
  # shellcheck disable=SC2046  # a list of flags
  g++ -O0 -o "$work/copy_pages" "$source" $(pkg-config --cflags --libs drydock-libfabric) || fail "copy_pages.cc cannot be built"
  for provider in tcp shm; do
    [ "$(timeout 60 "$work/copy_pages" $provider)" = "8 pages copied over $provider" ] || fail "copy_pages over $provider"
  done
  timeout 60 bin/efa-run --quiet --nics=1 --fabric="copy-$RANDOM" "$work/copy_pages" efa | grep -qxF "8 pages copied over efa" || fail "copy_pages over efa"
  said=$("$work/copy_pages" no-such 2>&1) && fail "a provider that is not there"
  [ "$(wc -l <<<"$said")" = 1 ] || fail "a provider that is not there: $said"
else
  echo "skipped: g++ or libfabric-dev is not installed"
fi

echo "== the Debian packages"
command -v dpkg-deb >/dev/null || { echo "skipped: dpkg-deb is not installed"; exit 0; }
cd "$OLDPWD"
make deb debs --fast
make deb debs_again --fast --only=libdrydock-dev
for deb in "$work"/debs_again/*.deb; do cmp "$deb" "$work/debs/$(basename "$deb")" || fail "two packages of the same sources differ"; done
field() { dpkg-deb -f "$work/debs/$1"_*.deb "$2"; }
[ "$(field drydock Version)" = 1.2+test ] || fail "the version of drydock"
[[ "$(field drydock Depends)" == *"drydock-efa-run (= 1.2+test)"* ]] || fail "drydock without efa-run: $(field drydock Depends)"
[[ "$(field drydock Depends)" != *libfabric* && "$(field drydock Recommends)" == libfabric1 ]] || fail "drydock needs libfabric"
[[ ", $(field drydock-efa-run Depends), " == *", libibverbs1, "* ]] || fail "efa-run without libibverbs1"
for strange in libfabric libhwloc libgtest; do
  [[ "$(field drydock-efa-run Depends)" != *$strange* ]] || fail "efa-run depends on $strange"
done
[ "$(field python3-drydock Architecture)" = all ] || fail "the architecture of python3-drydock"
compiled=$(dpkg-deb -I "$work"/debs/python3-drydock_*.deb prerm | sed -n 's,^rm -rf /\(.*\)/__pycache__$,\1,p')
dpkg-deb -c "$work"/debs/python3-drydock_*.deb | grep -F " ./$compiled/process.py" >/dev/null || fail "what Python compiles stays behind the package"
if dpkg-deb -c "$work"/debs/drydock-efa-run_*.deb | grep -v ' root/root '; then fail "files that are not root's"; fi
if dpkg-deb -c "$work"/debs/libdrydock-dev_*.deb | grep -E '\.(h|cc|pc|cmake)$' | grep -v '^-rw-r--r--'; then fail "headers with odd rights"; fi
echo "the packages are whole"
