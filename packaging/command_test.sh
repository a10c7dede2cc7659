#!/usr/bin/env bash
# The command drydock knows every program of the README, what shells complete is what the programs' --help has, and so are the manuals.
set -euo pipefail
fail() { echo "FAILED: $*"; exit 1; }
drydock=packaging/drydock.sh
work=${TEST_TMPDIR:-$(mktemp -d)}

echo "== every program of the README and of apps/README.md is a command"
"$drydock" --help >"$work/help.txt"
mapfile -t named < <(sed -nE 's,.*\./bazelw run //(apps/([a-z_]+)|sim/verbs:(efa-run)|apps/common/trace_page:(trace)_html).*,\2\3\4,p' README.md apps/README.md | sort -u)
[ ${#named[@]} -ge 15 ] || fail "the pages name only ${named[*]}"
for name in "${named[@]}"; do grep -qE "^  $name +[a-zA-Z]" "$work/help.txt" || fail "drydock --help does not have $name"; done

echo "== every program of the repository is one"
for folder in apps/*/; do
  name=$(basename "$folder")
  [ "$name" != efa_run ] || continue  # its target is sim/verbs:efa-run, which the pages name
  [ "$name" = common ] || grep -qE "^$name\|apps/$name\|$name\|[^|]{10,70}$" packaging/programs.txt || fail "$folder is not in programs.txt"
done

echo "== the flags that shells complete are those of --help, and the manuals have them"
"$drydock" completion bash >"$work/bash"
"$drydock" completion zsh >"$work/zsh"
bash -n "$work/bash" || fail "bash cannot read its completion"
if command -v zsh >/dev/null; then zsh -n "$work/zsh" || fail "zsh cannot read its completion"; else echo "no zsh here: not read by it"; fi
mapfile -t commands < <(grep -v '^#' packaging/programs.txt | cut -d'|' -f1)
bare="(^  |&& | -n [0-9]+ |\`)($(printf '%s\n' "${commands[@]}" trace_html | grep -vx efa-run | paste -sd'|'))( |\`|$)"
for command in "${commands[@]}"; do
  "$drydock" "$command" --help >"$work/one.txt" || fail "$command --help"
  "$drydock" help "$command" | cmp - "$work/one.txt" || fail "help $command is not $command --help"
  "$drydock" "$command" -h | cmp - "$work/one.txt" || fail "$command -h is not $command --help"
  # A habit of `bazel run`; no program takes words that begin with a dash.
  if [ "$command" != efa-run ]; then "$drydock" "$command" -- --help | cmp - "$work/one.txt" || fail "$command -- --help is not its help"; fi
  if [ "$command" != efa-run ]; then  # which is a command of its own
    grep -qE "^  drydock $command( |$)" "$work/one.txt" || fail "$command --help does not say how drydock calls it"
    if grep -E "$bare" "$work/one.txt"; then fail "$command --help names commands that are others outside drydock"; fi
  fi
  packaging/manual.sh "drydock-$command" 1700000000 1 <"$work/one.txt" >"$work/one.1"
  grep -q '^\.SH SYNOPSIS$' "$work/one.1" || fail "no synopsis in the manual of $command"
  for section in FLAGS EXAMPLES; do
    grep -qx "\.SH $section" "$work/one.1" || fail "no section $section in the manual of $command"
  done
  if command -v groff >/dev/null; then
    groff -man -Tascii -ww -z "$work/one.1" 2>&1 | tee "$work/warnings"
    [ ! -s "$work/warnings" ] || fail "groff warns of the manual of $command"
  fi
  flags=$(grep -oE '^  --[a-z][a-z_-]*' "$work/one.txt" | tr -d ' ' || true)
  [ -n "$flags" ] || [ "$command" = trace ] || fail "$command --help has no flags"
  in_bash=$(grep -E "^ +$command\) " "$work/bash") || fail "bash does not complete $command"
  in_zsh=$(grep -E "^ +$command\) " "$work/zsh") || fail "zsh does not complete $command"
  manual=$(<"$work/one.1")
  for flag in $flags; do
    shown=${flag//_/-}
    [[ "$in_bash" == *[\ \']"$shown"[=\ \']* ]] || fail "bash does not complete $command $shown"
    [[ "$in_zsh" == *" $shown"[=\ \;]* ]] || fail "zsh does not complete $command $shown"
    [[ "$manual" == *"${flag//-/\\-}"* ]] || fail "the manual of $command has no $flag"
  done
done

echo "== bash completes"
source "$work/bash"
compopt() { echo -n "$* "; }  # bash's own is for a shell with a terminal
completed() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _drydock; echo "${COMPREPLY[*]}"; }
[ "$(completed drydock whati)" = whatif ] || fail "whati is not completed"
for words in "drydock efa-run" efa-run /usr/bin/efa-run; do  # efa-run is also a command of its own
  # shellcheck disable=SC2086  # a list of words
  [ "$(completed $words --prof)" = "-o nospace --profile=" ] || fail "$words --prof is not completed"
  for value in = "= l"; do  # files, which bash completes
    # shellcheck disable=SC2086
    [ -z "$(completed $words --faults $value)" ] || fail "$words --faults $value is completed with commands"
  done
  # shellcheck disable=SC2086
  [[ " $(completed $words bas) " == *" bash "* ]] || fail "$words bas: no command"
  # shellcheck disable=SC2086
  [[ " $(completed $words --faults = plan bas) " == *" bash "* ]] || fail "$words --faults=plan bas: no command"
  for own in "python3 te" "python3 --prof" "--quiet --faults = plan python3 te"; do  # the program's own words
    # shellcheck disable=SC2086
    [ -z "$(completed $words $own)" ] || fail "$words $own is completed as if it were efa-run's"
  done
done
[ "$(completed drydock explore --first)" = --first-seed ] || fail "explore --first is not completed"
[ "$(completed drydock completion z)" = zsh ] || fail "completion z is not completed"

echo "== zsh completes"
zsh_completed() {  # WORD...: what is offered, in words of stand-ins for zsh's own functions
  zsh -f -c 'compdef() { :; }; compset() { :; }; compadd() { echo "$@"; }; _files() { echo files; }; _describe() { echo "${@:2}"; }
    source "$0"; words=("$@") CURRENT=$#; _drydock' "$work/zsh" "$@"
}
if command -v zsh >/dev/null; then
  [ "$(zsh_completed drydock '')" = "commands -- others" ] || fail "zsh completes no commands"
  [ "$(zsh_completed drydock --v)" = "-- --help --version" ] || fail "zsh does not complete --version"
  for words in "drydock efa-run" efa-run; do
    # shellcheck disable=SC2086
    [[ "$(zsh_completed $words --prof)" == "-S  -- --profile= "* ]] || fail "zsh does not complete $words --prof"
    # shellcheck disable=SC2086
    [ "$(zsh_completed $words --faults=pl)" = files ] || fail "zsh completes no files after $words --faults="
    # shellcheck disable=SC2086
    [ "$(zsh_completed $words --quiet python3 --prof)" = files ] || fail "zsh completes python3 --prof as if it were efa-run's"
  done
  [[ "$(zsh_completed drydock explore --first)" == *" --first-seed "* ]] || fail "zsh does not complete explore --first"
fi

echo "== what is wrong is said in one line, with exit status 2"
refused() {
  local said status=0
  said=$("$drydock" "${@:2}" 2>&1) || status=$?
  [ $status = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -- "$1" <<<"$said" || fail "$* gave $status: $said"
}
refused "no command 'wirte' (drydock --help lists them)" wirte
refused "unknown flag --frobnicate" --frobnicate
refused "completion of bash or of zsh, not 'fish'" completion fish
refused "no command 'nothing'" help nothing
refused "no command ''" help ''
refused "trace: unexpected argument: x" trace x
refused "trace: unexpected argument: x --help y" trace "x --help y"
for text in '' '{}' '[]'; do refused "trace: standard input is" trace <<<"$text"; done
"$drydock" >/dev/null 2>&1 && fail "no command at all is no success"

echo "== a command's exit status and flags are passed on"
"$drydock" whatif --nics=1 | grep -q . || fail "whatif"
status=0
"$drydock" efa-run --quiet sh -c 'exit 7' || status=$?
[ $status = 7 ] || fail "efa-run ended with $status, not 7"
echo "the command is whole"
