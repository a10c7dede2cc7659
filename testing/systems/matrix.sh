#!/usr/bin/env bash
# Builds Drydock on other systems, and runs the core's tests there: Debian 12, 13 and its next release, with GCC and with
# Clang. Each has its own Bazel, compilers and libraries, in a root of its own (roots.sh), where ./bazelw installs them as it
# does on a new machine. What is built then has no network.
#
#   testing/systems/matrix.sh                                all systems, one after the other
#   testing/systems/matrix.sh SYSTEM...                      these: bookworm/gcc trixie/clang ...
#   testing/systems/matrix.sh SYSTEM... -- ARGUMENT...       with these flags and targets of `bazel test`, not the core's
#
# A system needs 2 GB of disk for its packages, 3 GB for what is built, and stays: the next run builds what has changed.
# Prints what Bazel prints, and a line for each system. Exit status: 0 when all passed; a system that cannot be had is told,
# and is no failure, unless NEED_ROOTS is set.
set -euo pipefail
cd "$(dirname "$0")/../.."
me=matrix
source testing/systems/roots.sh

readonly SYSTEMS=(bookworm/gcc bookworm/clang trixie/gcc trixie/clang forky/gcc forky/clang)
readonly CORE=(//coro/... //fabric/... //sim/... //testing/contract/...)

# In the root: installs what these arguments of Bazel need, says what came, and runs the tests without a network.
readonly TEST='cd /drydock || exit
case "$compiler" in gcc) config=(--config=gcc) ;; *) config=() ;; esac
./bazelw info "${config[@]}" workspace >/dev/null && bazel shutdown || exit
echo "$me: Bazel $(dpkg-query -W -f="\${Version}" bazel-bootstrap), $("$compiler" --version | head -n 1), Abseil $(pkg-config --modversion absl_base)"
exec unshare --net bash -c '\''
  ip link set lo up || exit
  ./bazelw test "$@"
  status=$?
  bazel shutdown
  exit $status'\'' "$0" "${config[@]}" "$@"'

# SYSTEM ARGUMENT...: one system.
run() {
  local release=${1%/*} compiler=${1#*/}
  shift
  make_machine "$release"
  # Bazel's links into its output folders would replace those of this machine's.
  inside env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 TERM=dumb compiler="$compiler" me="$me" \
    bash -c "$TEST" "$0" --experimental_convenience_symlinks=ignore --keep_going --curses=no --color=no \
    --show_progress_rate_limit=60 --test_summary=short "$@" </dev/null
}

systems=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case " ${SYSTEMS[*]} " in
    *" $1 "*) ;;
    *) echo "$me: there is no system '$1', only: ${SYSTEMS[*]}" >&2; exit 2 ;;
  esac
  systems+=("$1")
  shift
done
if [ $# -gt 0 ]; then shift; else set -- "${CORE[@]}"; fi
if [ ${#systems[@]} -eq 0 ]; then systems=("${SYSTEMS[@]}"); fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
results=()
failed=0
for system in "${systems[@]}"; do
  echo "$me: $system ($((${#results[@]} + 1)) of ${#systems[@]})"
  before=$SECONDS
  word=passed
  # What skips ends its own shell only.
  (me="$me: $system"; run "$system" "$@") 2>&1 | tee "$log" || word=FAILED
  if [ $word = FAILED ]; then failed=1; fi
  results+=("$(grep "^$me: $system: skipped: " "$log" ||
    echo "$me: $system: $word in $((SECONDS - before)) s. $(grep '^Executed ' "$log" | tail -n 1)")")
done
printf '%s\n' "${results[@]}"
exit $failed
