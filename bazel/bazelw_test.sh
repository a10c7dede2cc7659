#!/usr/bin/env bash
# bazelw on machines of every kind: each test makes a small world of stand-ins (dpkg-query, apt-get, sudo, id,
# uname, brew, bazel) that write down how they were called, and runs bazelw with nothing else on its PATH.
# shellcheck disable=SC2016  # the stand-ins' bodies are for themselves to expand
set -u
# shellcheck source=bazel/shell_test.sh
source bazel/shell_test.sh

BAZELW="$PWD/bazelw"
readonly NEEDED=(clang g++ libabsl-dev libbenchmark-dev libgmock-dev libgtest-dev nlohmann-json3-dev pkg-config file zip)
readonly RULES=(bazel-bootstrap bazel-platforms bazel-rules-cc bazel-rules-java bazel-rules-proto bazel-skylib)

# A Debian with nothing of ours installed, and Bazel's package to be had; the user is root. One is made, the others are its
# copies.
FIRST_WORLD=
new_world() {
  make_world
  if [ -n "$FIRST_WORLD" ]; then
    cp -R "$FIRST_WORLD/." "$WORLD"
    return
  fi
  mkdir "$WORLD/bin" "$WORLD/home"
  : >"$WORLD/installed"
  echo 4.2.3+ds-9 >"$WORLD/version"  # of Bazel
  # shellcheck disable=SC2046  # a list of paths
  ln -s $(type -P bash cat cksum cut dirname env grep head mkdir mktemp mv rm true) "$WORLD/bin"
  tool bin/id 'echo "${WORLD_UID:-0}"'
  tool bin/uname 'echo "${WORLD_SYSTEM:-Linux}"'
  tool bin/bazel 'echo "bazel $*" >>"$WORLD/calls"'
  # As the real one, it fails when one of its arguments is not installed.
  tool bin/dpkg-query 'status=0
    declare -A installed
    while read -r package; do installed[$package]=1; done <"$WORLD/installed"
    for package; do
      case "$package" in
        -f=\${Version}) cat "$WORLD/version"; exit ;;
        -*) ;;
        *) if [ -n "${installed[$package]:-}" ]; then echo "$package installed"; else status=1; fi ;;
      esac
    done
    exit $status'
  tool bin/apt-get 'echo "apt-get $*" >>"$WORLD/calls"
    while [ "${1:-}" != install ] && [ "${1:-}" != update ]; do shift; done
    if [ "$1" = update ]; then exit 0; fi
    for package; do
      case "$package" in
        -* | install) ;;
        *) if grep -qxF "$package" "$WORLD/absent" 2>/dev/null; then echo "E: no such package $package"; exit 100; fi
           echo "$package" >>"$WORLD/installed" ;;
      esac
    done'
  FIRST_WORLD=$WORLD.first
  cp -R "$WORLD" "$FIRST_WORLD"
}

install_all() { printf '%s\n' "${NEEDED[@]}" "${RULES[@]}" libfabric-bin libfabric-dev libhwloc-dev libibverbs-dev libpmix-dev >"$WORLD/installed"; }

run() {  # [VARIABLE=VALUE...] -- ARGUMENT...: of bazelw
  local variables=()
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  run_script env -i WORLD="$WORLD" HOME="$WORLD/home" PATH="$WORLD/bin" "${variables[@]}" bash "$BAZELW" "$@"
}

fresh_machine_gets_everything_and_then_bazel() {
  new_world
  rm "$WORLD/bin/bazel"
  tool bin/apt-get "$(sed 1d "$WORLD/bin/apt-get")
    ln -sf \"\$WORLD/bin/fake-bazel\" \"\$WORLD/bin/bazel\""
  tool bin/fake-bazel 'echo "bazel $*" >>"$WORLD/calls"'
  ln -s "$(type -P ln)" "$WORLD/bin/ln"
  run -- test //...
  expect "it ends well" status_is 0
  expect "what is needed comes in one go" called "install -y --no-install-recommends ${NEEDED[*]} ${RULES[*]}"
  for package in libfabric-bin libfabric-dev libhwloc-dev libibverbs-dev libpmix-dev; do
    expect "$package is tried" called "install -y --no-install-recommends $package"
  done
  expect "Bazel gets its arguments" called "bazel test //..."
}

complete_machine_installs_nothing() {
  new_world
  install_all
  run -- build //coro:task
  expect "it ends well" status_is 0
  expect "nothing is installed" not called apt-get
  expect "nothing is said" test -z "$SAID"
  expect "Bazel runs" called "bazel build //coro:task"
}

dry_run_only_tells() {
  new_world
  echo g++ >"$WORLD/installed"
  run -- --dry-run test //...
  expect "it ends well" status_is 0
  expect "it names what lacks" said "would install: clang libabsl-dev"
  expect "and not what is there" not said "g++"
  expect "and what is optional" said "if it can be had: libfabric-bin libfabric-dev libhwloc-dev libibverbs-dev libpmix-dev"
  expect "nothing is called" test -z "$CALLS"
}

without_root_and_sudo_it_says_so() {
  new_world
  run WORLD_UID=1000 -- test //...
  expect "the status is 2" status_is 2
  expect "it says what to ask for" said "Ask for: apt-get install --no-install-recommends ${NEEDED[*]}"
  expect "in one line" test "$(wc -l <<<"$SAID")" = 1
  expect "nothing is called" test -z "$CALLS"
}

sudo_is_used_where_there_is_one() {
  new_world
  tool bin/sudo '[ "$1" = -n ] && shift; echo "sudo $*" >>"$WORLD/calls"; exec "$@"'
  run WORLD_UID=1000 -- version
  expect "it ends well" status_is 0
  expect "apt-get runs as root" called "sudo env DEBIAN_FRONTEND=noninteractive apt-get"
  expect "Bazel does not" not called "sudo bazel"
}

failing_installation_is_one_reason_and_one_line() {
  new_world
  echo libabsl-dev >"$WORLD/absent"
  run -- test //...
  expect "the status is 2" status_is 2
  expect "apt's reason is passed on" said "E: no such package libabsl-dev"
  expect "it names the packages" said "bazelw: installing failed: clang g++ libabsl-dev"
  expect "Bazel does not run" not called "bazel "
}

optional_package_that_cannot_be_had_is_tried_once() {
  new_world
  install_all
  sed -i /libfabric-dev/d "$WORLD/installed"
  echo libfabric-dev >"$WORLD/absent"
  run -- info
  expect "it carries on" called "bazel info"
  expect "it says so" said "carrying on without libfabric-dev"
  run -- info
  expect "it is not tried again" not called apt-get
  expect "nothing is said" test -z "$SAID"
  rm "$WORLD/absent"
  run -- --install libfabric-dev
  expect "it can be asked for" called "install -y --no-install-recommends libfabric-dev"
}

what_came_by_itself_is_no_longer_remembered() {
  new_world
  install_all
  sed -i '/libfabric-dev/d; /libhwloc-dev/d' "$WORLD/installed"
  printf '%s\n' libfabric-dev libhwloc-dev >"$WORLD/absent"
  run -- info
  echo libfabric-dev >>"$WORLD/installed"
  run -- info
  sed -i /libfabric-dev/d "$WORLD/installed"
  run -- info
  expect "what went again is tried again" called "install -y --no-install-recommends libfabric-dev"
  expect "what never came is not" not called "libhwloc-dev"
}

asio_comes_for_benchmarks_that_are_timed() {
  new_world
  install_all
  run -- --dry-run run --config=opt //testing/benchmarks:coro
  expect "with them it is wanted" said "if it can be had: libasio-dev"
  run -- --dry-run run //testing/benchmarks:coro --config=opt -- --check
  expect "wherever the configuration stands" said "if it can be had: libasio-dev"
  run DRYDOCK_ASIO=none -- --dry-run run --config=opt //testing/benchmarks:coro
  expect "not where it is taken away" said "if it can be had: nothing"
  run -- --dry-run test //testing/benchmarks:all
  expect "nor for what is not timed" said "if it can be had: nothing"
  run -- --dry-run run --config=opt //apps/write
  expect "nor for what is no benchmark" said "if it can be had: nothing"
  echo libasio-dev >"$WORLD/absent"
  run -- run --config=opt //testing/benchmarks:coro
  expect "without it the benchmark runs" called "bazel run --config=opt //testing/benchmarks:coro"
  run -- test //coro:all
  run -- run --config=opt //testing/benchmarks:coro
  expect "and it is not tried again" not called apt-get
}

library_that_is_there_in_another_way_is_not_installed() {
  new_world
  install_all
  sed -i /dev$/d "$WORLD/installed"
  run DRYDOCK_LIBFABRIC=none DRYDOCK_HWLOC=/opt/hwloc DRYDOCK_RDMA_CORE=none DRYDOCK_PMIX=none -- --dry-run
  expect "none is wanted" said "if it can be had: nothing"
}

configurations_bring_their_compilers() {
  new_world
  install_all
  run -- --dry-run build --config=fuzz //x
  expect "the fuzzer's runtime" said "would install: libclang-rt-dev"
  run -- --dry-run test --config=asan //...
  expect "what sanitizers need" said "would install: libclang-rt-dev lld"
  run -- --dry-run test //... --config asan
  expect "in both forms of the flag" said "would install: libclang-rt-dev lld"
  run -- --dry-run test --config=tsan //...
  expect "the same for threads" said "would install: libclang-rt-dev lld"
  run -- --dry-run test --config=opt //...
  expect "nothing for GCC's" said "would install: nothing"
}

bazel_of_another_origin_needs_no_rule_sets() {
  new_world
  printf '%s\n' "${NEEDED[@]}" libfabric-bin libfabric-dev libhwloc-dev libibverbs-dev libpmix-dev >"$WORLD/installed"
  run -- --dry-run
  expect "they are not installed" said "would install: nothing"
}

modules_stand_in_for_what_a_packaged_bazel_would_download() {
  new_world
  install_all
  mkdir -p "$WORLD/drydock/bazel/modules/zlib" "$WORLD/drydock/bazel/modules/abseil-cpp"
  cp "$BAZELW" "$WORLD/drydock/bazelw"
  echo 7.7.1+ds-8+b1 >"$WORLD/version"
  BAZELW="$WORLD/drydock/bazelw" run -- test //...
  expect "it ends well" status_is 0
  expect "Bazel is told of them before the command" called "bazel --bazelrc=$WORLD/home/.cache/drydock/modules-"
  expect "the command is as it was" called ".bazelrc test //..."
  SAID=$(cat "$WORLD"/home/.cache/drydock/modules-*.bazelrc)
  expect "each module has its folder" said "common --override_module=abseil-cpp=$WORLD/drydock/bazel/modules/abseil-cpp
common --override_module=zlib=$WORLD/drydock/bazel/modules/zlib"
  expect "one file is left" test "$(ls "$WORLD/home/.cache/drydock" | wc -l)" = 1
  echo 10.0.0 >"$WORLD/version"
  BAZELW="$WORLD/drydock/bazelw" run -- test //...
  expect "so it is with later ones" called "bazel --bazelrc="
  echo 4.2.3+ds-9 >"$WORLD/version"
  BAZELW="$WORLD/drydock/bazelw" run -- test //...
  expect "Debian 12 has a Bazel without modules" called "bazel test //..."
}

tools_are_installed_by_name() {
  new_world
  run -- --install clang-format
  expect "it ends well" status_is 0
  expect "only that is installed" called "install -y --no-install-recommends clang-format"
  expect "Bazel does not run" not called "bazel "
  run -- --install
  expect "a name is needed" status_is 2
}

machine_without_a_package_manager() {
  new_world
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  run -- test //...
  expect "a Bazel that is there runs" called "bazel test //..."
  rm "$WORLD/bin/bazel"
  run -- test //...
  expect "otherwise the status is 2" status_is 2
  expect "and the list is told" said "Install by hand: Bazel, a C++20 compiler and ${NEEDED[*]}"
}

mac_uses_homebrew() {
  new_world
  rm "$WORLD/bin/apt-get" "$WORLD/bin/dpkg-query"
  run WORLD_SYSTEM=Darwin -- test //...
  expect "it says that Homebrew lacks" said "https://brew.sh"
  tool bin/brew 'echo "brew $*" >>"$WORLD/calls"; [ "$1" = install ] || [ "$3" = hwloc ]'
  run WORLD_SYSTEM=Darwin -- test //...
  expect "what lacks is installed" called "brew install -q abseil bazelisk google-benchmark googletest libfabric"
  expect "and then Bazel runs" called "bazel test //..."
}

run_tests
