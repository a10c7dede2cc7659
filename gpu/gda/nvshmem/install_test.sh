#!/usr/bin/env bash
# install.sh on a small tree with the lines that it looks for, in both forms that NVSHMEM has had.
set -uo pipefail
source bazel/shell_test.sh

readonly INSTALL=$PWD/gpu/gda/nvshmem/install.sh
readonly ENVIRONMENT=$PWD/gpu/gda/nvshmem/environment.sh

make_tree() {  # OPERATOR: how the transport reaches an endpoint's members
  make_world
  folder=$WORLD/src/modules/transport/libfabric
  transport=$folder/libfabric.cpp
  mkdir -p "$folder"
  cat >"$transport" <<TEXT
#include <cassert>
#include "stand_ins.h"

static int nvshmemt_libfabric_connect_endpoints(nvshmem_transport_t t, int dev) {
    state_t *state = (state_t *)t->state;
    int status = 0;
    for (int i = 0; i < 2; i++) {
        status = fi_endpoint(state->domain, state->info,
                             &state->eps[i]$1endpoint, nullptr);
        NZ_ERROR_JMP(status, "no endpoint");
        status = fi_enable(state->eps[i]$1endpoint);
        NZ_ERROR_JMP(status, 7, out,
                     "Unable to enable endpoint: %d\n",
                     status);
        status = dev;
    }
    return status;
}

static int nvshmemt_libfabric_finalize(nvshmem_transport_t transport) {
    state_t *state;

    assert(transport);

    state = (state_t *)transport->state;
    return fi_close(state->eps[0]$1endpoint);
}
TEXT
  local pointer=''
  if [ "$1" = '->' ]; then pointer='*'; fi
  cat >"$folder/stand_ins.h" <<TEXT
struct fid_domain {}; struct fid_ep {}; struct fid_cq {};
struct ep_t { fid_ep *endpoint; fid_cq *cq; };
struct state_t { fid_domain *domain; void *info; ep_t ${pointer}eps[2]; };
struct transport_t { void *state; };
typedef transport_t *nvshmem_transport_t;
inline int fi_endpoint(fid_domain *, void *, fid_ep **, void *) { return 0; }
inline int fi_enable(fid_ep *) { return 0; }
inline int fi_close(fid_ep *) { return 0; }
#define NZ_ERROR_JMP(...) (void)0
#define NVSHMEMI_NZ_ERROR_JMP NZ_ERROR_JMP
TEXT
  printf 'add_library(nvshmem_transport_libfabric SHARED libfabric.cpp)\n' >"$folder/CMakeLists.txt"
}

compiles() {
  local compiler
  compiler=$(type -P g++ || type -P clang++) || return 0  # nothing here to ask
  printf 'int main() { transport_t t{}; nvshmemt_libfabric_connect_endpoints(&t, 1); return nvshmemt_libfabric_finalize(&t); }\n' >>"$transport"
  "$compiler" -std=c++17 -fsyntax-only -Werror -I "$folder/drydock_gda" "$transport"
}
has_in_order() {  # TEXT...: each on a line after the one before
  local at=0 next text
  for text in "$@"; do
    next=$(awk -v from="$at" -v text="$text" 'NR > from && index($0, text) { print NR; exit }' "$transport")
    [ -n "$next" ] || return 1
    at=$next
  done
}
unchanged() { ! grep -rq drydock_gda "$WORLD"; }

both_forms__are_wired() {
  local form
  for form in . '->'; do
    make_tree "$form"
    run_script "$INSTALL" "$WORLD"
    expect "done" status_is 0
    expect "in order, $form" has_in_order '#include "drydock/gpu/gda/nvshmem/drydock_gda_hook.h"' \
      "fi_enable(state->eps[i]${form}endpoint);" 'Unable to enable' 'status);' \
      "drydock_gda_init_on_ep(state->domain, state->eps[i]${form}endpoint, state->eps[i]${form}cq, i);" \
      'status = dev;' nvshmemt_libfabric_finalize 'assert(transport);' 'drydock_gda_fini();' fi_close
    expect "the target" grep -q 'target_sources(nvshmem_transport_libfabric PRIVATE' "$folder/CMakeLists.txt"
    expect "the headers" test -f "$folder/drydock_gda/drydock/gpu/gda/queue/device_queue.h"
    expect "their headers" test -f "$folder/drydock_gda/drydock/fabric/efa_queue/wqe.h"
    expect "the promise" said "must be left out of the transport's own posts and reads"
    expect "the exports" said 'export NVSHMEM_REMOTE_TRANSPORT=libfabric'
    expect "it compiles" compiles
  done
}

every_header__that_is_included_is_there() {
  make_tree .
  run_script "$INSTALL" "$WORLD"
  local name
  for name in $(grep -rhoE '#include "drydock/[^"]*"' "$folder/drydock_gda" | cut -d'"' -f2 | sort -u); do
    expect "$name" test -f "$folder/drydock_gda/$name"
  done
}

a_second_time__changes_nothing() {
  make_tree .
  run_script "$INSTALL" "$WORLD"
  local before
  before=$(cat "$transport" "$folder/CMakeLists.txt")
  run_script "$INSTALL" "$WORLD"
  expect "done" status_is 0
  expect "it says so" said "wired already"
  expect "the same" test "$before" = "$(cat "$transport" "$folder/CMakeLists.txt")"
}

a_tree_that_is_wired_in_half__is_refused() {
  make_tree .
  run_script "$INSTALL" "$WORLD"
  sed -i /drydock_gda/d "$folder/CMakeLists.txt"
  run_script "$INSTALL" "$WORLD"
  expect "refused" status_is 2
  expect "it says which" said "$folder/CMakeLists.txt is not"
}

a_check__changes_nothing() {
  make_tree .
  run_script "$INSTALL" --check "$WORLD"
  expect "done" status_is 0
  expect "it matches" ends_with "The tree matches."
  expect "nothing changed" unchanged
}

what_does_not_match__is_refused_with_the_steps_by_hand() {
  local edit
  for edit in 's/fi_enable/fi_able/' 's/static int nvshmemt_libfabric_finalize/int finish/' 's/assert(transport)/check(transport)/' \
    's/fi_endpoint(/fi_end(/' 's/NZ_ERROR_JMP(status, 7/LOOK(status, 7/' '/#include "/d' \
    's/nvshmemt_libfabric_connect_endpoints/connect/'; do
    make_tree .
    sed -i "$edit" "$transport"
    run_script "$INSTALL" "$WORLD"
    expect "$edit" status_is 2
    expect "$edit: the steps" said "By hand, in NVSHMEM's libfabric transport:"
    expect "$edit: nothing changed" unchanged
  done
  make_tree .
  echo >"$folder/CMakeLists.txt"
  run_script "$INSTALL" "$WORLD"
  expect "no target" said "no add_library(...)"
  run_script "$INSTALL" "$WORLD/nowhere"
  expect "no folder" said "there is no folder"
  run_script "$INSTALL"
  expect "no argument" said "usage: install.sh [--check] TREE"
}

the_environment__can_be_evaluated() {
  make_world
  run_script bash -c "eval \"\$($ENVIRONMENT)\"; echo \$NVSHMEM_LIBFABRIC_PROVIDER"
  expect "efa" ends_with efa
}

run_tests
