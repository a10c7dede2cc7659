#!/usr/bin/env bash
# layering.py finds what a BUILD file does not name, in trees made here.
set -u
# shellcheck source=bazel/shell_test.sh
source bazel/shell_test.sh

readonly LAYERING="$PWD/bazel/layering.py"

# A library a/low, and b/high, which includes its header. DEPS: of the latter.
new_tree() {  # DEPS
  make_world
  mkdir -p "$WORLD/bazel" "$WORLD/bin" "$WORLD/a" "$WORLD/b"
  cp -L "$LAYERING" "$WORLD/bazel/"
  tool bin/git 'echo a/BUILD; echo b/BUILD'
  printf '%s\n' 'load("//bazel:defs.bzl", "dd_cc_library", "FEATURES")' 'package(features = FEATURES)' \
    'dd_cc_library(name = "low", hdrs = ["low.h"])' >"$WORLD/a/BUILD"
  printf '%s\n' 'dd_cc_library(name = "high", srcs = glob(["*.cc"], exclude = ["*_test.cc"]), hdrs = ["high.h"],' \
    "    deps = [$1])" 'filegroup(name = "files", srcs = glob(["*.cc"]))' >"$WORLD/b/BUILD"
  : >"$WORLD/a/low.h"
  printf '%s\n' '#include "drydock/b/high.h"' '#include "drydock/a/low.h"' '#include <vector>' >"$WORLD/b/high.cc"
  echo '#include "drydock/a/low.h"' >"$WORLD/b/high_test.cc"
  : >"$WORLD/b/high.h"
}

run() { run_script env PATH="$WORLD/bin:$PATH" python3 "$WORLD/bazel/layering.py"; }

a_dependency_that_is_named_is_found() {
  new_tree '"//a:low"'
  run
  expect "it ends well" status_is 0
  expect "the rules of C++ are counted" ends_with "2 targets name what they include"
  new_tree '"@drydock//a:low"'
  run
  expect "by its full name, too" status_is 0
}

one_that_is_not_is_told_with_its_target() {
  new_tree ''
  run
  expect "it fails" status_is 1
  expect "and says what is needed" ends_with "b/high.cc includes a/low.h: //b:high needs //a:low"
}

seed_tests_are_looked_at_and_have_their_harness() {
  new_tree '"//a:low"'
  mkdir -p "$WORLD/c" "$WORLD/testing/harness"
  echo 'dd_cc_library(name = "seed_test", hdrs = ["seed_test.h"])' >"$WORLD/testing/harness/BUILD"
  : >"$WORLD/testing/harness/seed_test.h"
  tool bin/git 'echo a/BUILD; echo b/BUILD; echo c/BUILD; echo testing/harness/BUILD'
  echo 'dd_seed_test(name = "seeds", srcs = ["seeds.cc"], shards = 2)' >"$WORLD/c/BUILD"
  printf '%s\n' '#include "drydock/testing/harness/seed_test.h"' '#include "drydock/a/low.h"' >"$WORLD/c/seeds.cc"
  run
  expect "it fails" status_is 1
  expect "and says only what the rule does not bring" test "$SAID" = "c/seeds.cc includes a/low.h: //c:seeds needs //a:low"
}

choices_count_whatever_is_chosen() {
  new_tree '] + if_libfabric([":other"], ["//a:low"]) + select({"//conditions:default": []}) + ['
  run
  expect "the dependency of one of them is one" status_is 0
}

run_tests
