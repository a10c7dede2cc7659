#!/usr/bin/env bash
# Writes what a shell completes for `drydock` and `efa-run`, from lines of COMMAND|SUMMARY|FLAGS. Argument: bash or zsh.
set -euo pipefail

commands=() summaries=() flags=()
while IFS='|' read -r command summary list; do
  commands+=("$command") summaries+=("$summary") flags+=("$list")
done

bash_script() {
  local i
  echo '# Completes `drydock` and `efa-run` in bash; written by `drydock completion bash`.'
  echo '_drydock() {'
  echo '  local word=${COMP_WORDS[COMP_CWORD]} at=$COMP_CWORD command=${COMP_WORDS[1]} words='
  echo '  if [ "${COMP_WORDS[0]##*/}" = efa-run ]; then at=$((at + 1)) command=efa-run; fi'
  echo '  COMPREPLY=()'
  # Behind the program are its own words: files are the best guess.
  echo '  if [ "$command" = efa-run ]; then'
  echo '    local i=$((2 + COMP_CWORD - at))'
  echo '    for (( ; i < COMP_CWORD; ++i )); do'
  echo '      case "${COMP_WORDS[i]}" in'
  echo '        =) i=$((i + 1)) ;;'
  echo '        -*) ;;'
  echo '        *) return ;;'
  echo '      esac'
  echo '    done'
  echo '  fi'
  # Words end at `=`: behind it is the value of a flag, and bash itself knows the files.
  echo '  if [ "$word" = = ] || [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then return; fi'
  echo '  if [ "$at" -eq 1 ]; then'
  echo "    words='${commands[*]} help completion --help --version'"
  echo '  else'
  echo '    case "$command" in'
  for i in "${!commands[@]}"; do echo "      ${commands[i]}) words='${flags[i]}--help' ;;"; done
  echo "      help) words='${commands[*]}' ;;"
  echo "      completion) words='bash zsh' ;;"
  echo '    esac'
  echo '    case "$word" in -*) ;; *) case "$command" in help | completion) ;; *) words= ;; esac ;; esac'
  echo '  fi'
  echo '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
  echo '  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi'
  echo '  if [ ${#COMPREPLY[@]} -eq 0 ] && [ "$command" = efa-run ]; then COMPREPLY=($(compgen -c -- "$word")); fi'
  echo '}'
  echo 'complete -o bashdefault -o default -F _drydock drydock efa-run'
}

zsh_flags() {  # FLAG...: those with a value have no space behind their `=`
  local each bare=() valued=()
  for each in "$@"; do
    case "$each" in *=) valued+=("$each") ;; *) bare+=("$each") ;; esac
  done
  [ ${#valued[@]} -eq 0 ] || printf '%s' "compadd -S '' -- ${valued[*]}; "
  echo "compadd -- ${bare[*]}"
}

zsh_script() {
  local i own=()
  echo '#compdef drydock efa-run'
  echo '# Completes `drydock` and `efa-run` in zsh; written by `drydock completion zsh`.'
  echo '_drydock() {'
  echo '  local at=$CURRENT command=$words[2]'
  echo '  local -a commands others'
  echo '  commands=('
  for i in "${!commands[@]}"; do echo "    '${commands[i]}:${summaries[i]//\'/\'\\\'\'}'"; done
  echo '  )'
  echo "  others=('help:what a command does' 'completion:what a shell completes')"
  echo '  if [[ ${words[1]:t} == efa-run ]]; then at=$((CURRENT + 1)) command=efa-run; fi'
  echo '  if (( at == 2 )); then'
  echo '    if [[ $words[CURRENT] == -* ]]; then compadd -- --help --version; else _describe command commands -- others; fi'
  echo '    return'
  echo '  fi'
  echo "  if [[ \$words[CURRENT] == --*=* ]]; then compset -P '*='; _files; return; fi"
  # Behind the program are its own words: files are the best guess.
  echo '  local -a before'
  echo '  before=(${words[3 + CURRENT - at,CURRENT - 1]:#-*})'
  echo '  if [[ $command == efa-run ]] && (( $#before > 0 )); then _files; return; fi'
  echo '  case "$command" in'
  for i in "${!commands[@]}"; do
    read -ra own <<<"${flags[i]}--help"
    echo "    ${commands[i]}) if [[ \$words[CURRENT] == -* ]]; then $(zsh_flags "${own[@]}"); else _files; fi ;;"
  done
  echo '    help) _describe command commands ;;'
  echo '    completion) compadd bash zsh ;;'
  echo '  esac'
  echo '}'
  echo 'if [ "$funcstack[1]" = _drydock ]; then _drydock "$@"; else compdef _drydock drydock efa-run; fi'
}

case "${1:-}" in
  bash) bash_script ;;
  zsh) zsh_script ;;
  *) echo "completion: bash or zsh" >&2; exit 2 ;;
esac
