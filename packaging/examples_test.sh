#!/usr/bin/env bash
# The projects of examples/, from an unpacked package, by the tools that are here: their seed test passes, and their libfabric
# program passes and fails as the fault plans say.
set -euo pipefail
fail() { echo "FAILED: $*"; tail -n 40 "$work"/*.log; exit 1; }
work=${TEST_TMPDIR:-$(mktemp -d)}
unset BUILD_WORKING_DIRECTORY BUILD_WORKSPACE_DIRECTORY
has() { command -v "$1" >/dev/null; }

for folder in cmake meson autotools; do
  lines=$(cat examples/$folder/* | wc -l)
  [ "$lines" -lt 60 ] || fail "examples/$folder has $lines lines"
done
has cmake || has meson || has automake || { echo "skipped: cmake, meson and automake are not installed"; exit 0; }
has pkg-config || { echo "skipped: pkg-config is not installed"; exit 0; }

packaging/package.sh tarball --date=1700000000 --version=1 --fast --only=drydock-efa-run,libdrydock-dev --out="$work" >/dev/null
tar -xf "$work/drydock-1-linux-$(uname -m).tar.gz" -C "$work"
prefix=$work/drydock-1-linux-$(uname -m)
cp -rL examples "$work/examples"
chmod -R u+w "$work/examples"
cd "$work/examples"
export PATH=$prefix/bin:$PATH PKG_CONFIG_PATH=$prefix/lib/pkgconfig MAKEFLAGS=-j2

# By a link to lib alone, as Debian's /lib is one beside the headers in /usr.
mkdir "$work/linked"
ln -s "$prefix/lib" "$work/linked/lib"
build_cmake() {
  cmake -S cmake -B out-cmake -DCMAKE_PREFIX_PATH="$work/linked" && cmake --build out-cmake && (cd out-cmake && ctest --output-on-failure)
}
# A project whose GoogleTest is a part of it, as by FetchContent, where none is installed.
own_googletest() {
  mkdir "$work/own"
  cat >"$work/own/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(own CXX)
add_library(gtest INTERFACE)
add_library(GTest::gtest ALIAS gtest)
add_library(GTest::gtest_main ALIAS gtest)
set(CMAKE_DISABLE_FIND_PACKAGE_GTest ON)
find_package(drydock REQUIRED)
add_executable(own_test ../examples/source/copy_test.cc)
target_link_libraries(own_test PRIVATE drydock::seed_test)
END
  cmake -S "$work/own" -B "$work/own/out" -DCMAKE_PREFIX_PATH="$prefix"
}
build_meson() { meson setup out-meson meson && meson test -C out-meson --print-errorlogs; }
build_autotools() {
  (cd autotools && autoreconf -i) && mkdir out-autotools && (cd out-autotools && ../autotools/configure CXXFLAGS=-O0 && make check VERBOSE=1)
}
copy_test=
for tool in cmake meson automake; do
  folder=${tool/automake/autotools}
  if ! has $tool; then echo "skipped: $tool is not installed"; continue; fi
  "build_$folder" >"$work/$folder.log" 2>&1 || fail "examples/$folder"
  copy_test=$PWD/out-$folder/copy_test
  echo "examples/$folder: built, and its tests passed"
done

if has cmake; then own_googletest >"$work/own.log" 2>&1 || fail "a project with a GoogleTest of its own"; fi

DRYDOCK_SEED=7 "$copy_test" >"$work/alone.log" || fail "seed 7"
grep -q 'Copy.IsRightOrSaysSo with seed 7 alone' "$work/alone.log" || fail "no seed alone"
echo "the examples work"
