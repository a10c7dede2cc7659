#!/usr/bin/env bash
# The command writes the file at the root of the workspace, with a stand-in for ./bazelw that prints what Bazel 4.2.3
# prints.
# shellcheck disable=SC2016  # the stand-ins' bodies are for themselves to expand
set -u
# shellcheck source=bazel/shell_test.sh
source bazel/shell_test.sh

readonly COMMAND="$PWD/bazel/tools/compile_commands_main"

new_world() {
  make_world
  tool bazelw 'echo "$*" >>calls
    case "$*" in
      "info execution_root") echo /cache/execroot/repo ;;
      "info output_base") echo /cache ;;
      *) echo "{\"actions\": [{\"arguments\": [\"gcc\", \"-c\", \"coro/task.cc\"]}]}" ;;
    esac'
}

run() {  # ARGUMENT...
  run_script env BUILD_WORKSPACE_DIRECTORY="$WORLD" "$COMMAND" "$@"
}

file_is_written_at_the_root() {
  new_world
  run
  expect "it ends well" status_is 0
  expect "it says where" ends_with "$WORLD/compile_commands.json"
  expect "the source is in it" grep -q '"file": "coro/task.cc"' "$WORLD/compile_commands.json"
  expect "all targets are asked for" called 'mnemonic("CppCompile", //...)'
}

targets_can_be_chosen() {
  new_world
  run "//coro/... + //fabric:it's"
  expect "they are asked for" called 'mnemonic("CppCompile", //coro/... + //fabric:it'"'"'s)'
}

failing_bazel_writes_nothing() {
  new_world
  tool bazelw 'exit 1'
  run
  expect "it fails" status_is 1
  expect "it names the command" said "failed: ./bazelw info execution_root"
  expect "there is no file" not test -e "$WORLD/compile_commands.json"
}

outside_of_bazel_it_says_how_to_run_it() {
  new_world
  run_script env -u BUILD_WORKSPACE_DIRECTORY "$COMMAND"
  expect "the status is 2" status_is 2
  expect "the command is told" said "usage: ./bazelw run //bazel:compile_commands"
}

run_tests
