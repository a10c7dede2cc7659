#!/usr/bin/env bash
# Writes what a shell completes for `drydock`, from lines of COMMAND|SUMMARY|FLAGS. Argument: bash or zsh.
set -euo pipefail

commands=() summaries=() flags=()
while IFS='|' read -r command summary list; do
  commands+=("$command") summaries+=("$summary") flags+=("$list")
done

bash_script() {
  echo '# Completes `drydock` in bash; written by `drydock completion bash`.'
  echo '_drydock() {'
  echo '  local word=${COMP_WORDS[COMP_CWORD]} words='
  echo '  if [ "$COMP_CWORD" -eq 1 ]; then'
  echo "    words='${commands[*]} help completion --help --version'"
  echo '  else'
  echo '    case "${COMP_WORDS[1]}" in'
  for i in "${!commands[@]}"; do echo "      ${commands[i]}) words='${flags[i]}--help' ;;"; done
  echo "      help) words='${commands[*]}' ;;"
  echo "      completion) words='bash zsh' ;;"
  echo '    esac'
  echo '    case "$word" in -*) ;; *) case "${COMP_WORDS[1]}" in help | completion) ;; *) words= ;; esac ;; esac'
  echo '  fi'
  echo '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
  echo '  if [ ${#COMPREPLY[@]} -eq 0 ] && [ "${COMP_WORDS[1]}" = efa-run ]; then COMPREPLY=($(compgen -c -- "$word")); fi'
  echo '}'
  echo 'complete -o default -F _drydock drydock'
}

zsh_script() {
  local i
  echo '#compdef drydock'
  echo '# Completes `drydock` in zsh; written by `drydock completion zsh`.'
  echo '_drydock() {'
  echo '  local -a commands'
  echo '  commands=('
  for i in "${!commands[@]}"; do echo "    '${commands[i]}:${summaries[i]//\'/\'\\\'\'}'"; done
  echo '  )'
  echo '  if (( CURRENT == 2 )); then'
  echo "    _describe command commands; return"
  echo '  fi'
  echo '  case "$words[2]" in'
  for i in "${!commands[@]}"; do
    echo "    ${commands[i]}) if [[ \$words[CURRENT] == -* ]]; then compadd -- ${flags[i]}--help; else _files; fi ;;"
  done
  echo '    help) _describe command commands ;;'
  echo '    completion) compadd bash zsh ;;'
  echo '  esac'
  echo '}'
  echo 'if [ "$funcstack[1]" = _drydock ]; then _drydock "$@"; else compdef _drydock drydock; fi'
}

case "${1:-}" in
  bash) bash_script ;;
  zsh) zsh_script ;;
  *) echo "completion: bash or zsh" >&2; exit 2 ;;
esac
