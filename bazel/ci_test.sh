#!/usr/bin/env bash
# .ci/run counts right: it runs here with stand-ins for bazelw, git and clang-format, which print what Bazel 4.2.3 and
# the others really print, good and bad.
# shellcheck disable=SC2016  # the stand-ins' bodies are for themselves to expand
set -u
# shellcheck source=bazel/shell_test.sh
source bazel/shell_test.sh

readonly CI="$PWD/.ci/run"

new_world() {
  make_world
  mkdir -p "$WORLD/.ci" "$WORLD/bin" "$WORLD/testing/consumer" "$WORLD/testing/systems" "$WORLD/bazel"
  tool testing/systems/matrix.sh 'echo "matrix: $*"; echo "matrix $*" >>calls; exit 1'
  tool testing/systems/contract.sh 'echo contract >>calls; exit 1'
  cp -L "$CI" "$WORLD/.ci/run"
  tool bazelw 'echo "$*" >>calls; exit 0'
  tool bin/git 'echo a.cc; echo b.h'
  tool bin/clang-format 'echo "$*" >>calls; exit 0'
  tool bazel/layering.py 'echo "layering" >>calls; exit 0'
}

bazel_prints() {  # STATUS: and the text on standard input, whatever it is asked
  cat >"$WORLD/output"
  tool bazelw 'echo "$*" >>calls; cat output; exit '"$1"
}

run() {  # STEP...
  run_script env PATH="$WORLD/bin:$PATH" bash "$WORLD/.ci/run" "$@"
}

passing_tests_are_counted() {
  new_world
  bazel_prints 0 <<'END'
INFO: Build completed successfully, 9 total actions
//coro:task_test                                                         PASSED in 0.1s
//coro:timer_queue_test                                         (cached) PASSED in 0.1s
//fabric/libfabric:errno_mapping_test                                   SKIPPED

Executed 1 out of 3 tests: 2 tests pass and 1 was skipped.
END
  run tests
  expect "both" ends_with "2 passed, 0 failed"
  expect "it ends well" status_is 0
  expect "all targets are asked for" called "-- //..."
  local package
  for package in doxygen python3-pytest zsh groff; do
    expect "what tests would skip is installed" called "--install $package"
  done
}

shards_that_are_cached_in_part_count() {
  new_world
  bazel_prints 0 <<'END'
//coro:task_test                                          (1/2 cached) PASSED in 0.1s

Executed 1 out of 1 test: 1 test passes.
END
  run tests
  expect "one" ends_with "1 passed, 0 failed"
}

progress_in_the_middle_of_a_line_loses_no_test() {
  new_world
  tool bazelw 'printf "//coro:task_test "; sleep 0.1; echo "[1 / 2] 0 / 1 tests" >&2; sleep 0.1; echo "  PASSED in 0.1s"
    echo; echo "Executed 1 out of 1 test: 1 test passes."'
  run tests
  expect "one" ends_with "1 passed, 0 failed"
}

failing_tests_are_counted_and_named() {
  new_world
  bazel_prints 1 <<'END'
FAIL: //a:bad_test (see a/test.log)
TIMEOUT: //a:slow_test (Summary)
//a:broken_test                                                 FAILED TO BUILD
//a:good_test                                                            PASSED in 0.1s
//a:slow_test                                                           TIMEOUT in 2.0s
  a/slow_test/test.log
//a:bad_test                                                             FAILED in 0.0s
  a/bad_test/test.log
//a:late_test                                                         NO STATUS

Executed 3 out of 5 tests: 1 test passes, 1 fails to build, 2 fail locally and 1 was skipped.
FAILED: Build did NOT complete successfully
END
  run asan
  expect "one and four" ends_with "1 passed, 4 failed"
  expect "it fails" status_is 1
  expect "the name is told" said "failed: asan: //a:bad_test (FAILED)"
  expect "and how" said "failed: asan: //a:broken_test (FAILED TO BUILD)"
}

library_that_does_not_compile_fails_though_all_tests_pass() {
  new_world
  bazel_prints 1 <<'END'
//a:good_test                                                            PASSED in 0.1s

Executed 1 out of 1 test: 1 test passes.
All tests passed but there were other errors during the build.
END
  run asan
  expect "one each" ends_with "1 passed, 1 failed"
  expect "it fails" status_is 1
}

nothing_built_is_one_failure() {
  new_world
  echo "ERROR: no such package" | bazel_prints 1
  run tests
  expect "one" ends_with "0 passed, 1 failed"
  echo "INFO: Build completed successfully" | bazel_prints 0
  run tests
  expect "no test is not a success" ends_with "0 passed, 1 failed"
}

results_that_are_not_understood_fail() {
  new_world
  bazel_prints 0 <<'END'
//a:good_test                                                            PASSED in 0.1s
//a:odd_test                                                            FINE in 0.1s
Executed 2 out of 2 tests: 2 tests pass.
END
  run tests
  expect "it says so" said "Bazel speaks of 2 tests"
  expect "it fails" status_is 1
}

write_needs_its_last_line() {
  new_world
  printf 'seed 1\nData is correct\n' | bazel_prints 0
  run write
  expect "both pass" ends_with "2 passed, 0 failed"
  printf 'Data is wrong: 2 of 16 pages\n' | bazel_prints 1
  run write
  expect "both fail" ends_with "0 passed, 2 failed"
  printf 'Data is correct\nSegmentation fault\n' | bazel_prints 0
  run write
  expect "the line must be the last" ends_with "1 passed, 1 failed"
}

consumer_runs_in_its_own_workspace() {
  new_world
  tool bazelw 'echo "${PWD##*/}"; echo OK'
  run consumer
  expect "all pass" ends_with "3 passed, 0 failed"
  expect "it runs there" said $'consumer\nOK'
  tool bazelw 'echo OK; exit 1'
  run consumer
  expect "the status counts" ends_with "1 passed, 2 failed"
  tool bazelw 'echo "INTERNAL: no node"'
  run consumer
  expect "so does the last line" ends_with "2 passed, 1 failed"
  tool bazelw 'echo OK; [ "$1" = run ]'
  run consumer
  expect "so does the seed test" said "failed: consumer: its seed test ended with status 1"
}

systems_builds_elsewhere_or_counts_for_nothing() {
  new_world
  tool testing/systems/matrix.sh 'echo "matrix $*" >>calls; echo "matrix: forky/gcc: passed in 9 s."'
  run systems
  expect "it passes" ends_with "1 passed, 0 failed"
  expect "one system, some targets" called "matrix forky/gcc -- //coro/... "
  tool testing/systems/matrix.sh 'echo "matrix: forky/gcc: FAILED in 9 s."; exit 1'
  run systems
  expect "it fails" ends_with "0 passed, 1 failed"
  tool testing/systems/matrix.sh 'echo "matrix: forky/gcc: skipped: there is no mmdebstrap"'
  run systems
  expect "nothing is counted" ends_with "0 passed, 0 failed"
  expect "that is no failure" status_is 0
  expect "the reason is told" said "there is no mmdebstrap"
}

modern_runs_the_contract_or_counts_for_nothing() {
  new_world
  tool testing/systems/contract.sh 'echo "contract $*" >>calls; echo "contract: efa, 1 process(es): passed"'
  run modern
  expect "it passes" ends_with "1 passed, 0 failed"
  expect "all combinations" called "contract "
  tool testing/systems/contract.sh 'echo "contract: efa, 2 process(es): FAILED"; exit 1'
  run modern
  expect "it fails" ends_with "0 passed, 1 failed"
  tool testing/systems/contract.sh 'echo "contract: skipped: there is no mmdebstrap"'
  run modern
  expect "nothing is counted" ends_with "0 passed, 0 failed"
  expect "that is no failure" status_is 0
}

format_looks_at_every_file() {
  new_world
  run format
  expect "it passes" ends_with "2 passed, 0 failed"
  expect "the tools are installed" called "--install clang-format python3"
  expect "every file is looked at" called "--dry-run -Werror a.cc b.h"
  expect "BUILD files are, too" called "layering"
  tool bin/clang-format 'exit 1'
  run format
  expect "it fails" ends_with "1 passed, 1 failed"
  tool bin/git ':'
  run format
  expect "no file is no success" ends_with "1 passed, 1 failed"
  tool bazel/layering.py 'exit 1'
  run format
  expect "a dependency that is not named fails" ends_with "0 passed, 2 failed"
}

page_needs_a_browser_or_counts_for_nothing() {
  new_world
  bazel_prints 0 <<'END'
//apps/common/trace_page:page_test                                       PASSED in 12.1s
Executed 1 out of 1 test: 1 test passes.
END
  run page
  expect "it passes" ends_with "1 passed, 0 failed"
  expect "the browser is installed" called "--install chromium"
  expect "the test may not skip" called "--test_env=NEED_CHROMIUM=1 -- //apps/common/trace_page:page_test"
  tool bazelw 'echo "$*" >>calls; exit 2'
  run page
  expect "nothing is counted" ends_with "0 passed, 0 failed"
  expect "it says so" said "page: skipped"
  expect "nothing is run" not called "page_test"
  expect "that is no failure" status_is 0
}

bare_takes_the_libraries_away_and_gives_them_back() {
  new_world
  tool bazelw 'echo "libfabric=${DRYDOCK_LIBFABRIC:-here} $1" >>calls
    echo "//a:good_test PASSED in 1s"; echo "Executed 1 out of 1 test: 1 test passes."'
  run bare tests
  expect "the build and both runs pass" ends_with "3 passed, 0 failed"
  expect "they are away" called $'libfabric=none build\nlibfabric=none test\n'
  expect "and back" called "libfabric=here test"
}

variables_that_name_empty_folders_are_told_in_one_line() {
  new_world
  local line='for v in CUDA_HOME DRYDOCK_ASIO DRYDOCK_CUDA DRYDOCK_HWLOC DRYDOCK_LIBFABRIC DRYDOCK_PMIX DRYDOCK_RDMA_CORE; do
      if [ -n "${!v:-}" ]; then echo "DEBUG: system.bzl: $v=${!v} holds no include/x.h"; fi
    done'
  tool bazelw "echo \"\$*\" >>calls; $line"
  run variables
  expect "seven variables, a line each, and two builds" ends_with "9 passed, 0 failed"
  expect "nothing is built" called "build --nobuild --color=no --curses=no -- //..."
  tool bazelw "$line; $line"
  run variables
  expect "two lines are one too many" ends_with "2 passed, 7 failed"
  tool bazelw 'echo "ERROR: no such package"; exit 1'
  run variables
  expect "a build that cannot be loaded fails" ends_with "0 passed, 9 failed"
  expect "the variable is named" said "DRYDOCK_HWLOC"
}

steps_go_on_after_a_failure() {
  new_world
  echo "ERROR" | bazel_prints 1
  run
  expect "all steps are told" said "==== fuzz"
  expect "tests mutants write(2) explore museum modern bare(2) variables(9) consumer(3) digest asan tsan fuzz; page is skipped" \
    ends_with "2 passed, 25 failed"
}

explore_needs_all_to_pass_and_the_canary_to_fail() {
  new_world
  printf '%s\n' "scenario    what it does" "----------  ------------" "write       a server writes 16 pages" \
    "write-last  the same, but wrong" >"$WORLD/list"
  tool bazelw 'echo "$*" >>calls
    case "$*" in
      *--list*) cat list ;;
      *write-last*) echo "wrong-data     80           1"; exit 1 ;;
      *) echo "correct     80           1" ;;
    esac'
  run explore
  expect "both as they should" ends_with "2 passed, 0 failed"
  expect "enough seeds" called "--scenario=write --seeds=2000"
  tool bazelw 'case "$*" in
      *--list*) cat list ;;
      *write-last*) echo "correct     80           1" ;;
      *) echo "hang     1           7"; exit 1 ;;
    esac'
  run explore
  expect "both not" ends_with "0 passed, 2 failed"
  expect "the canary is told" said "write-last is wrong, and passed"
  tool bazelw 'case "$*" in *--list*) sed 3d list ;; *) echo "no such thing"; exit 2 ;; esac'
  run explore
  expect "a canary that does not start has not failed as it should" ends_with "0 passed, 1 failed"
  tool bazelw 'echo "no list"'
  run explore
  expect "no canary is a failure" said "there is no scenario write-last"
}

unknown_step_is_refused() {
  new_world
  run tests lint
  expect "the status is 2" status_is 2
  expect "it is named" said "there is no step 'lint'"
  expect "nothing runs" test -z "$CALLS"
}

run_tests
