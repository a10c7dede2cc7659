#!/usr/bin/env bash
# All programs of Drydock as one command: `drydock --help` lists them.
set -euo pipefail

# Installed, the programs and their table lie beside this file; Bazel has them at their places in the repository.
here=$(readlink -f "$0")
here=${here%/*}
if [ -f "$here/version.txt" ]; then
  table=$here/programs.txt helper=$here/completion.sh
else
  if [ -d "$0.runfiles/drydock" ]; then built=$(cd "$0.runfiles/drydock" && pwd); else built=$PWD; fi
  table=$built/packaging/programs.txt helper=$built/packaging/completion.sh
fi

# The table: commands in its order, and of each its program and what it does.
commands=()
declare -A files summaries
while IFS='|' read -r command folder target summary; do
  [[ "$command" != '#'* ]] || continue
  commands+=("$command") summaries[$command]=$summary
  if [ -f "$here/version.txt" ]; then files[$command]=$here/$command; else files[$command]=$built/$folder/$target; fi
done <"$table"

version() { if [ -f "$here/version.txt" ]; then echo "drydock $(cat "$here/version.txt")"; else echo "drydock, not installed"; fi; }

help() {
  cat <<'TEXT'
drydock: RDMA programs for AWS EFA, on simulated NICs and on real ones.

  drydock COMMAND [FLAGS] [ARGUMENT...]
  drydock COMMAND --help              the flags of one command
  drydock help [COMMAND]              the same, or this
  drydock completion bash|zsh         what a shell completes: eval "$(drydock completion bash)"
  drydock --version

Commands:
TEXT
  local each
  for each in "${commands[@]}"; do printf '  %-12s %s\n' "$each" "${summaries[$each]}"; done
  cat <<'TEXT'

Examples:
  drydock efa-run --profile=p5 fi_info -p efa      the NICs that a libfabric program sees
  drydock doctor                                   whether EFA programs can run on this machine
  drydock explore --scenario=write --seeds=100     a program under random faults
  drydock trace <run.json >run.html                a trace as a page

Pages, such as docs/faults.md: below share/doc/drydock-efa-run of the installation, in /usr for a Debian package.
Exit status: the command's; 2 where there is no such command.
TEXT
}

refuse() { echo "drydock: $*" >&2; exit 2; }

# The flags of a program's --help, as completion.sh wants them: each once, with dashes, with the `=` that it has there; it adds --help.
flags_of() {  # COMMAND
  local line
  local -A seen=([--help]=1)
  while IFS= read -r line; do
    if [[ "$line" =~ ^\ \ (--[a-z][a-z_-]*)(=?) ]] && [ -z "${seen[${BASH_REMATCH[1]}]:-}" ]; then
      seen[${BASH_REMATCH[1]}]=1
      printf '%s ' "${BASH_REMATCH[1]//_/-}${BASH_REMATCH[2]}"
    fi
  done < <("${files[$1]}" --help 2>/dev/null)
}

# A program's --help, in which programs are called as they are here: `write`, `info` and `batch` alone are other commands of a machine.
help_of() {  # COMMAND
  local each names=
  for each in "${commands[@]}"; do
    if [ "$each" != efa-run ]; then names+=${names:+|}$each; fi
  done
  "${files[$1]}" --help |
    sed -E "s/^trace_html: /trace: /; s/^  trace_html /  trace /; s/(^  |&& | -n [0-9]+ |\`)($names)( |\`|\$)/\1drydock \2\3/g"
}

run() {  # COMMAND ARGUMENT...
  local program=
  [ -z "$1" ] || program=${files[$1]:-}  # bash looks up no empty name
  [ -n "$program" ] || refuse "no command '$1' (drydock --help lists them)"
  if [ ! -x "$program" ] && [ "$1" = efa-run ]; then refuse "efa-run is not installed: it is in the package drydock-efa-run"; fi
  [ -x "$program" ] || refuse "$program is not there: the installation is not whole"
  local word
  for word in "${@:2}"; do  # wherever it stands, as for the programs themselves; efa-run passes words on
    if [ "$1" != efa-run ] && [[ "$word" =~ ^(--help|-h)$ ]]; then help_of "$1"; return; fi
  done
  if [ "${program##*/}" != "$1" ]; then exec -a "$1" "$program" "${@:2}"; fi  # it names itself by this
  exec "$program" "${@:2}"
}

case "${1:-}" in
  '') help >&2; exit 2 ;;
  help | drydock) if [ $# -gt 1 ] && [ "$2" != --help ]; then run "$2" --help; else help; fi ;;
  --help | -h) help ;;
  --version) version ;;
  completion)
    case "${2:-}" in
      bash | zsh) ;;
      *) refuse "completion of bash or of zsh, not '${2:-}'" ;;
    esac
    for command in "${commands[@]}"; do
      echo "$command|${summaries[$command]}|$(flags_of "$command")"
    done | "$helper" "$2"
    ;;
  -*) refuse "unknown flag $1 (drydock --help shows what there is)" ;;
  *) run "$@" ;;
esac
