#!/usr/bin/env bash
# rdma-core's own tests of EFA, from its source package, on simulated EFA: of Debian 13 and of its successor, each with that
# release's pyverbs and libraries in a root of their own (roots.sh). They are fetched each time a root is made, and nothing of
# them is here.
#
#   testing/systems/rdma_core.sh                                 both releases, tests of EFA, of queue pairs and of buffers
#   testing/systems/rdma_core.sh RELEASE PROFILE MODULE...       others: trixie p5en test_cqex
#
# Exit status: 0 when all passed, and where the root or the tests cannot be had, which a line says.
set -euo pipefail
cd "$(dirname "$0")/../.."
me=rdma_core
source testing/systems/roots.sh

# RELEASE: apt-get with the sources of that release and nothing else, in the folder $apt.
sources_of() {
  apt=$(mktemp -d)
  trap 'rm -rf "$apt"' EXIT
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $1 main" >"$apt/sources.list"
  touch "$apt/status"
  apt_get=(apt-get -qq -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root
    -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$apt"
    -o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache")
  "${apt_get[@]}" update
}

# RELEASE: the tests, in the root. Of the source package only the archive of upstream's is needed, and must come.
fetch_tests() {
  local tests=$root/opt/rdma-core
  [ ! -e "$tests" ] || return 0
  sources_of "$1" || skip "the sources of $1 cannot be had"
  (cd "$apt" && "${apt_get[@]}" source --download-only rdma-core >/dev/null 2>&1) || true
  mkdir "$tests.new"
  tar -xf "$apt"/rdma-core_*.orig.tar.* -C "$tests.new" --strip-components=1 --wildcards '*/tests/*.py' ||
    { rm -rf "$tests.new"; skip "the source package rdma-core of $1 cannot be had"; }
  rm -rf "$apt"
  # Names of network interfaces, which these NICs have none of: the tests ask a program that is not in the root.
  printf '#!/usr/bin/python3\nprint("[]")\n' >"$root/usr/bin/rdma"
  chmod +x "$root/usr/bin/rdma"
  mv "$tests.new" "$tests"
}

# What rdma-core's run_tests.py does, but for the modules that are named only: others want RDMA-CM and other NICs.
readonly RUN='import os, sys, unittest
names = sys.argv[1:]
sys.argv = ["rdma_core"]
os.chdir("/opt/rdma-core")
sys.path[:0] = ["/opt/rdma-core", "/opt/rdma-core/tests"]
from args_parser import parser
parser.parse_args()
unittest.main(module=None, argv=["rdma_core"] + ["tests." + name for name in names])'

run() {  # RELEASE PROFILE MODULE...
  local release=$1 profile=$2
  shift 2
  make_root "$release" base-files,ibverbs-providers,libc6,libfabric-bin,libstdc++6,python3,python3-pyverbs
  fetch_tests "$release"
  cp -fL bazel-bin/sim/verbs/{efa-run,libdrydock_verbs.so} "$root/opt/drydock"
  echo "$me: $* of $release, on $profile"
  inside /opt/drydock/efa-run --profile="$profile" --nics=2 --fabric="rdma-core-$(mktemp -u XXXXXXXXXX)" \
    /usr/bin/python3 -B -c "$RUN" "$@"
}

./bazelw build --color=no --curses=no -- //sim/verbs:efa-run </dev/null
if [ $# -gt 0 ]; then
  run "$@"
  exit
fi
for release in trixie forky; do
  for profile in p5 p5en; do
    modules=(test_efadv test_efa_srd test_qp)
    # Where test_qpex skips a test, 56.1's pyverbs destroys a queue after its device was closed; test_buf is 65's.
    [ "$release" = trixie ] || modules+=(test_qpex test_buf)
    run "$release" "$profile" "${modules[@]}"
  done
done
