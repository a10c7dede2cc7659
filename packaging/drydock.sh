#!/usr/bin/env bash
# All programs of Drydock as one command: `drydock --help` lists them.
set -euo pipefail

# Installed, the programs and their table lie beside this file; Bazel has them at their places in the repository.
here=$(dirname "$(readlink -f "$0")")
if [ -f "$here/version.txt" ]; then
  table=$here/programs.txt helper=$here/completion.sh
else
  if [ -d "$0.runfiles/drydock" ]; then built=$(cd "$0.runfiles/drydock" && pwd); else built=$PWD; fi
  table=$built/packaging/programs.txt helper=$built/packaging/completion.sh
fi

programs() { grep -v '^#' "$table"; }

file_of() {  # COMMAND: prints its program's file; nothing where there is no such command
  programs | while IFS='|' read -r command folder target _; do
    [ "$command" = "$1" ] || continue
    if [ -f "$here/version.txt" ]; then echo "$here/$command"; else echo "$built/$folder/$target"; fi
  done
}

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
  programs | awk -F '|' '{ printf "  %-12s %s\n", $1, $4 }'
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

# A program's --help, in which programs are called as they are here: `write`, `info` and `batch` alone are other commands of a machine.
help_of() {  # COMMAND
  local names
  names=$(programs | cut -d'|' -f1 | grep -vx efa-run | paste -sd'|')
  "$(file_of "$1")" --help |
    sed -E "s/^trace_html: /trace: /; s/^  trace_html /  trace /; s/(^  |&& | -n [0-9]+ |\`)($names)( |\`|\$)/\1drydock \2\3/g"
}

run() {  # COMMAND ARGUMENT...
  local program
  program=$(file_of "$1")
  [ -n "$program" ] || refuse "no command '$1' (drydock --help lists them)"
  if [ ! -x "$program" ] && [ "$1" = efa-run ]; then refuse "efa-run is not installed: it is in the package drydock-efa-run"; fi
  [ -x "$program" ] || refuse "$program is not there: the installation is not whole"
  if [ "$1" != efa-run ] && [[ " ${*:2} " =~ \ (--help|-h)\  ]]; then help_of "$1"; return; fi
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
    programs | while IFS='|' read -r command _ _ summary; do
      flags=$("$(file_of "$command")" --help 2>/dev/null | sed -nE 's/^  (--[a-z][a-z_-]*).*/\1/p' | tr _ - | sort -u | tr '\n' ' ') || true
      echo "$command|$summary|$flags"
    done | "$helper" "$2"
    ;;
  -*) refuse "unknown flag $1 (drydock --help shows what there is)" ;;
  *) run "$@" ;;
esac
