#!/usr/bin/env bash
# nvcc.sh runs a compiler that crashed again, and one that found an error once.
# shellcheck disable=SC2016  # the stand-ins' bodies are for themselves to expand
set -u
# shellcheck source=bazel/shell_test.sh
source bazel/shell_test.sh

readonly NVCC="$PWD/bazel/nvcc.sh"

compile() {  # BODY: with a compiler that writes its call down and does this
  make_world
  tool nvcc 'cd "$(dirname "$0")"; echo "$*" >>calls; '"$1"
  run_script sh "$NVCC" "$WORLD/nvcc" -c "a file.cu"
}

times_called() { [ "$(grep -c . <<<"$CALLS")" = "$1" ]; }

a_crash_is_tried_again() {
  compile '[ "$(wc -l <calls)" -eq 3 ] || kill -SEGV $$'
  expect "succeeds" status_is 0
  expect "three runs" times_called 3
  expect "the same arguments" called $'-c a file.cu\n-c a file.cu\n-c a file.cu'
  expect "a line for each crash" ends_with "nvcc.sh: $WORLD/nvcc crashed in run 2 of at most 10"
}

an_error_in_a_source_is_reported_at_once() {
  compile 'echo "error: no such type"; exit 2'
  expect "the compiler's status" status_is 2
  expect "the compiler's words" said "error: no such type"
  expect "one run" times_called 1
  expect "no word of a crash" not said crashed
}

a_compiler_that_always_crashes_is_given_up() {
  compile 'kill -SEGV $$'
  expect "the compiler's status" status_is 139
  expect "ten runs" times_called 10
  expect "a line" ends_with "nvcc.sh: $WORLD/nvcc crashed in run 10 of at most 10"
}

run_tests
