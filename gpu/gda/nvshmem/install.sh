#!/usr/bin/env bash
# Wires the hook into an NVSHMEM source tree, or says which of the places it needs are not there.
#
#   install.sh [--check] TREE     --check: look, and change nothing
#
# TREE is the top of NVSHMEM's sources. What is changed: src/modules/transport/libfabric/libfabric.cpp (an include, a
# call after each endpoint was enabled, a call before anything is closed), the CMakeLists.txt beside it (an object
# library), and a new folder drydock_gda there. Each change is marked "drydock_gda"; a tree that has the marks already
# is left alone. Exit status: 0 done, 2 the tree does not match and nothing was changed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repository=$(cd "$here/../../.." && pwd)
readonly HEADERS=(
  fabric/efa_queue/{cqe,host_device,layout,malformed,prepared_send,receive_wqe,ring,wqe,words}.h
  gpu/gda/queue/{channel,device_ops,device_queue,done_ring,entry_writer,proxy_ring,queue,stand_in_stores,transfer}.h
)
readonly OWN=(drydock_gda_hook.h drydock_gda_device.h drydock_gda_hook.cc drydock_gda_device.cu)

manual_steps() {
  cat <<'TEXT'
By hand, in NVSHMEM's libfabric transport:
  1. copy the headers and sources that this script lists with --files into a folder drydock_gda beside libfabric.cpp
  2. near the other includes:            #include "drydock/gpu/gda/nvshmem/drydock_gda_hook.h"
  3. after each fi_enable(ENDPOINT):     drydock_gda_init_on_ep(DOMAIN, ENDPOINT, CQ, INDEX);
     (the endpoint that sends; a failure is no reason to stop)
  4. first in ..._finalize(...):         drydock_gda_fini();
  5. in CMakeLists.txt: an object library of the .cc and the .cu, CUDA standard 17, added to the transport's target
TEXT
}

refuse() {
  printf 'install.sh: %s\n' "$1" >&2
  manual_steps >&2
  exit 2
}

check=0
case "${1:-}" in
  --check) check=1; shift ;;
  --files) printf '%s\n' "${HEADERS[@]}" "${OWN[@]/#/gpu/gda/nvshmem/}"; exit 0 ;;
esac
[ $# -eq 1 ] || { echo "usage: install.sh [--check] TREE" >&2; exit 2; }
tree=$1
[ -d "$tree" ] || refuse "there is no folder $tree"

for file in "${HEADERS[@]}" "${OWN[@]/#/gpu/gda/nvshmem/}"; do
  [ -f "$repository/$file" ] || refuse "there is no $repository/$file: run the script where it lies in its repository"
done

transport=$(grep -rlE 'nvshmemt_libfabric_connect_endpoints\(' "$tree" --include=libfabric.cpp | head -n 1 || true)
[ -n "$transport" ] || refuse "no libfabric.cpp in $tree has nvshmemt_libfabric_connect_endpoints"
folder=$(dirname "$transport")
cmake=$folder/CMakeLists.txt
[ -f "$cmake" ] || refuse "there is no $cmake"
if grep -q drydock_gda "$transport" && ! grep -q drydock_gda "$cmake"; then
  refuse "$transport is wired, and $cmake is not: restore the first one"
fi
if grep -q drydock_gda "$transport"; then
  echo "$transport is wired already"
  exit 0
fi

# The places. The endpoint is state->eps[i].endpoint or state->eps[i]->endpoint, by NVSHMEM's version.
enable=$(grep -nE '^ *status = fi_enable\(state->eps\[[a-z]+\](\.|->)endpoint\);' "$transport" || true)
[ "$(grep -c . <<<"$enable")" -eq 1 ] || refuse "not exactly one 'status = fi_enable(state->eps[i]...endpoint);' in $transport"
line=${enable%%:*}
endpoint=$(sed -nE "${line}s/.*fi_enable\\((.*)\\);.*/\\1/p" "$transport")
cq=${endpoint%endpoint}cq
index=$(sed -nE 's/.*eps\[([a-z]+)\].*/\1/p' <<<"$endpoint")
domain=$(sed -nE '/fi_endpoint\(/,/;/p' "$transport" | tr -d ' \n' | sed -nE 's/.*fi_endpoint\(([^,]+),.*/\1/p' | head -n 1)
[ -n "$domain" ] || refuse "no fi_endpoint(DOMAIN, ...) in $transport"
# The statement that looks at the status ends here.
after=$(awk -v from="$line" 'NR > from && /;[[:space:]]*$/ { print NR; exit }' "$transport")
sed -n "$((line + 1)),${after}p" "$transport" | grep -q NZ_ERROR_JMP || refuse "fi_enable's status is not looked at in the next statement of $transport"
grep -qE '^static int nvshmemt_libfabric_finalize\(.*\{' "$transport" || refuse "no nvshmemt_libfabric_finalize(...) { in $transport"
assertion=$(awk '/^static int nvshmemt_libfabric_finalize\(/ { inside = 1 } inside && /assert\(/ { print NR; exit } inside && /^}/ { exit }' "$transport")
[ -n "$assertion" ] || refuse "nvshmemt_libfabric_finalize has no assert(...) to go on from in $transport"
include=$(grep -nE '^#include "' "$transport" | tail -n 1 | cut -d: -f1 || true)
[ -n "$include" ] || refuse "no #include \"...\" in $transport"
target=$(sed -nE 's/.*add_library\( *([A-Za-z0-9_]+).*/\1/p' "$cmake" | head -n 1)
[ -n "$target" ] || refuse "no add_library(...) in $cmake"

echo "transport   $transport"
echo "endpoint    $endpoint, line $line; domain $domain"
echo "target      $target"
if [ $check -eq 1 ]; then
  echo "The tree matches."
  exit 0
fi

for file in "${HEADERS[@]}" "${OWN[@]/#/gpu/gda/nvshmem/}"; do
  mkdir -p "$folder/drydock_gda/drydock/$(dirname "$file")"
  cp "$repository/$file" "$folder/drydock_gda/drydock/$file"
done
# From the last line to the first, so that the numbers stay right.
sed -i \
  -e "${assertion}a\\    drydock_gda_fini();" \
  -e "${after}a\\        drydock_gda_init_on_ep($domain, $endpoint, $cq, $index);  /* it may fail: kernels find no queue then */" \
  -e "${include}a\\#include \"drydock/gpu/gda/nvshmem/drydock_gda_hook.h\"" \
  "$transport"
cat >>"$cmake" <<TEXT

# drydock_gda: queues for kernels
add_library(drydock_gda_objs OBJECT
  drydock_gda/drydock/gpu/gda/nvshmem/drydock_gda_hook.cc
  drydock_gda/drydock/gpu/gda/nvshmem/drydock_gda_device.cu)
set_target_properties(drydock_gda_objs PROPERTIES
  CUDA_STANDARD 17 CXX_STANDARD 17 POSITION_INDEPENDENT_CODE ON CUDA_SEPARABLE_COMPILATION ON)
target_include_directories(drydock_gda_objs PUBLIC
  \${CMAKE_CURRENT_SOURCE_DIR}/drydock_gda
  \$<TARGET_PROPERTY:$target,INCLUDE_DIRECTORIES>)
target_include_directories($target PRIVATE \${CMAKE_CURRENT_SOURCE_DIR}/drydock_gda)
target_sources($target PRIVATE \$<TARGET_OBJECTS:drydock_gda_objs>)
TEXT
echo "An endpoint that kernels use must be left out of the transport's own posts and reads: see README.md."
echo "Wired. Build NVSHMEM with -DNVSHMEM_LIBFABRIC_SUPPORT=ON, and run with:"
"$here/environment.sh"
