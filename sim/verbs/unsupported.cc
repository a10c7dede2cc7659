// Functions that EFA does not have, or the simulated one has not: each call gives the error that
// its manual page has for that, and prints so once.

#include "drydock/sim/verbs/unsupported.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/refusal.h"

namespace drydock::sim::verbs {
namespace {

constexpr char kShared[] = "ibv_create_srq: EFA has no shared receive queues";
constexpr char kMulticast[] = "ibv_attach_mcast: EFA has no multicast";
constexpr char kEce[] = "ibv_query_ece: EFA has no connection establishment";
constexpr char kImport[] = "ibv_import_device: objects of other processes cannot be imported";
constexpr char kFromCompletion[] =
    "ibv_create_ah_from_wc: a completion of EFA does not tell an address to answer to";
constexpr char kDeviceMemory[] = "ibv_import_dm: EFA has no device memory";
constexpr char kHints[] = "ibv_alloc_dmah: the simulated NICs take no hints on how to reach memory";

}  // namespace

void* AllocateHints(ibv_context*, void*) { return RefuseObject(kHints); }
int FreeHints(void*) { return Refuse(kHints); }
int ExportDeviceMemory(ibv_dm*) {
  errno = Refuse(kDeviceMemory);
  return -1;
}

void RefuseByContext(verbs_context& verbs) {
  verbs.context.ops.alloc_mw = [](ibv_pd*, ibv_mw_type) -> ibv_mw* {
    return RefuseObject("ibv_alloc_mw: EFA has no memory windows");
  };
  verbs.advise_mr = [](ibv_pd*, ibv_advise_mr_advice, std::uint32_t, ibv_sge*, std::uint32_t) {
    return Refuse("ibv_advise_mr: EFA's regions are pinned and take no advice");
  };
  verbs.alloc_null_mr = [](ibv_pd*) -> ibv_mr* {
    return RefuseObject("ibv_alloc_null_mr: EFA has no regions without memory");
  };
  verbs.create_counters = [](ibv_context*, ibv_counters_init_attr*) -> ibv_counters* {
    return RefuseObject("ibv_create_counters: EFA has no counters of flows");
  };
  verbs.alloc_dm = [](ibv_context*, ibv_alloc_dm_attr*) -> ibv_dm* {
    return RefuseObject("ibv_alloc_dm: EFA has no device memory");
  };
  verbs.modify_cq = [](ibv_cq*, ibv_modify_cq_attr*) {
    return Refuse("ibv_modify_cq: EFA does not moderate completions");
  };
  verbs.create_wq = [](ibv_context*, ibv_wq_init_attr*) -> ibv_wq* {
    return RefuseObject("ibv_create_wq: EFA has no work queues of their own");
  };
  verbs.create_rwq_ind_table = [](ibv_context*, ibv_rwq_ind_table_init_attr*) {
    return static_cast<ibv_rwq_ind_table*>(
        RefuseObject("ibv_create_rwq_ind_table: EFA has no work queues of their own"));
  };
  verbs.query_rt_values = [](ibv_context*, ibv_values_ex*) {
    return Refuse("ibv_query_rt_values_ex: EFA shows no clock");
  };
  verbs.create_srq_ex = [](ibv_context*, ibv_srq_init_attr_ex*) -> ibv_srq* {
    return RefuseObject(kShared);
  };
  verbs.open_xrcd = [](ibv_context*, ibv_xrcd_init_attr*) -> ibv_xrcd* {
    return RefuseObject("ibv_open_xrcd: EFA has no extended reliable connections");
  };
}

}  // namespace drydock::sim::verbs

using namespace drydock::sim::verbs;  // NOLINT(build/namespaces)

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) { return RefuseObject(kShared); }
int ibv_modify_srq(ibv_srq*, ibv_srq_attr*, int) { return Refuse(kShared); }
int ibv_query_srq(ibv_srq*, ibv_srq_attr*) { return Refuse(kShared); }
int ibv_destroy_srq(ibv_srq*) { return Refuse(kShared); }
int ibv_attach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) { return Refuse(kMulticast); }
int ibv_detach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) { return Refuse(kMulticast); }
int ibv_resize_cq(ibv_cq*, int) { return Refuse("ibv_resize_cq: EFA's queues keep their size"); }
int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, std::size_t, int) {
  Refuse("ibv_rereg_mr: EFA's regions stay as they are");
  return IBV_REREG_MR_ERR_INPUT;
}
int ibv_query_ece(ibv_qp*, ibv_ece*) { return Refuse(kEce); }
int ibv_set_ece(ibv_qp*, ibv_ece*) { return Refuse(kEce); }
int ibv_init_ah_from_wc(ibv_context*, std::uint8_t, ibv_wc*, ibv_grh*, ibv_ah_attr*) {
  errno = Refuse(kFromCompletion);
  return -1;
}
ibv_ah* ibv_create_ah_from_wc(ibv_pd*, ibv_wc*, ibv_grh*, std::uint8_t) {
  return RefuseObject(kFromCompletion);
}
int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t*, std::uint16_t*) {
  errno = Refuse("ibv_resolve_eth_l2_from_gid: EFA is no Ethernet device");
  return -1;
}
ibv_context* ibv_import_device(int) { return RefuseObject(kImport); }
ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) { return RefuseObject(kImport); }
ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) { return RefuseObject(kImport); }
ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) { return RefuseObject(kDeviceMemory); }
void ibv_unimport_pd(ibv_pd*) {}
void ibv_unimport_mr(ibv_mr*) {}
void ibv_unimport_dm(ibv_dm*) {}

// Drivers of other NICs that are loaded into the program: there are none but ours.
void ibv_register_driver(const char*, void*) {}

// librdmacm asks for these when it is loaded; it has no business with EFA.
void ibv_copy_ah_attr_from_kern(void*, void*) {}
void ibv_copy_qp_attr_from_kern(void*, void*) {}
void ibv_copy_path_rec_from_kern(void*, void*) {}
void ibv_copy_path_rec_to_kern(void*, void*) {}

}  // extern "C"
