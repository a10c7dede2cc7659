// Functions that EFA does not have, or the simulated one has not: each call gives the error that
// its manual page has for that, and prints so once.

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
