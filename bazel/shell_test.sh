# For tests of shell scripts: stand-ins for the commands that a script calls, and what the script said and called.
# A test file defines functions named like sentences (two underscores or more), each of which makes a world and looks
# at it, and ends with `run_tests`.
# shellcheck shell=bash

WORLD=""   # a folder of this test's own
STATUS=""  # of the script
SAID=""    # on both its outputs
CALLS=""   # what the stand-ins wrote to the file `calls` of the world
shell_test_failures=0
shell_test_bash=$(type -P bash)

make_world() { WORLD=$(mktemp -d "${TEST_TMPDIR:-/tmp}/world.XXXXXX"); }

tool() {  # PATH BODY: a stand-in at this path of the world
  printf '#!%s\n%s\n' "$shell_test_bash" "$2" >"$WORLD/$1"
  chmod +x "$WORLD/$1"
}

run_script() {  # COMMAND...: fills the variables above
  rm -f "$WORLD/calls"
  SAID=$("$@" 2>&1 </dev/null)
  STATUS=$?
  CALLS=
  if [ -e "$WORLD/calls" ]; then CALLS=$(<"$WORLD/calls"); fi
}

expect() {  # WHAT COMMAND...: the command must succeed
  local what=$1
  shift
  if "$@"; then return; fi
  printf 'FAILED: %s: %s\n  status %s, said:\n%s\n  called:\n%s\n' "${FUNCNAME[1]}" "$what" "$STATUS" "$SAID" "$CALLS"
  shell_test_failures=$((shell_test_failures + 1))
}

status_is() { [ "$STATUS" = "$1" ]; }
said() { [[ "$SAID" == *"$1"* ]]; }
ends_with() { [ "$(tail -n 1 <<<"$SAID")" = "$1" ]; }
called() { [[ "$CALLS" == *"$1"* ]]; }
not() { ! "$@"; }

run_tests() {
  local test
  for test in $(declare -F | cut -d' ' -f3 | grep '_.*_'); do
    echo "[ RUN ] $test"
    "$test"
  done
  echo "$shell_test_failures failures"
  [ "$shell_test_failures" = 0 ]
}
