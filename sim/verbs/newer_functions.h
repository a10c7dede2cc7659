// Functions that later releases of rdma-core added, for programs that were built against them. The
// headers of the machine may lack them, or declare them with structures of their own: so they have
// other names in C++, and in the library those by which programs ask for them.
//
// Results and errors are those of the manual pages of linux-rdma/rdma-core (libibverbs/man and
// providers/efa/man, under the name that stands in quotation marks).

#ifndef DRYDOCK_SIM_VERBS_NEWER_FUNCTIONS_H_
#define DRYDOCK_SIM_VERBS_NEWER_FUNCTIONS_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "drydock/sim/verbs/newer_abi.h"

namespace drydock::sim::verbs {

// ---- libefa ----

int QueryEfaRegion(ibv_mr* region, MrAttr* attr, std::uint32_t length) asm("efadv_query_mr");
int QueryEfaRings(ibv_qp* queue_pair, WqAttr* sends, WqAttr* receives,
                  std::uint32_t length) asm("efadv_query_qp_wqs");
int QueryEfaQueue(ibv_cq* queue, CqAttr* attr, std::uint32_t length) asm("efadv_query_cq");
int MaxSendDepth(ibv_context* context, SqDepthAttr* attr,
                 std::uint32_t length) asm("efadv_get_max_sq_depth");
int MaxReceiveDepth(ibv_context* context, RqDepthAttr* attr,
                    std::uint32_t length) asm("efadv_get_max_rq_depth");
QpFunctions* EfaFunctionsOf(ibv_qp_ex* queue_pair) asm("efadv_qp_from_ibv_qp_ex");

// ---- libibverbs: ports and memory ----

int QueryPortSpeed(ibv_context* context, std::uint32_t port,
                   std::uint64_t* speed) asm("ibv_query_port_speed");
ibv_mr* RegisterExtended(ibv_pd* domain, MrInitAttr* attr) asm("ibv_reg_mr_ex");
void* AllocateBuffer(ibv_pd* domain, std::size_t bytes, Buffer** buffer) asm("ibv_alloc_buf");
void FreeBuffer(Buffer* buffer) asm("ibv_free_buf");
ibv_mr* RegisterBuffer(ibv_pd* domain, Buffer* buffer, void* address, std::size_t length,
                       int access) asm("ibv_reg_buf_mr");
int ExportBuffer(Buffer* buffer) asm("ibv_export_buf_dmabuf_fd");
int ExportDeviceMemory(ibv_dm* memory) asm("ibv_dm_export_dmabuf_fd");
void* AllocateHints(ibv_context* context, void* attr) asm("ibv_alloc_dmah");
int FreeHints(void* hints) asm("ibv_dealloc_dmah");

// ---- libibverbs and libefa: completion counters (ibv_comp_cntr) ----

int QueryCounterCaps(ibv_context* context, CompCntrCaps* caps,
                     std::size_t bytes) asm("_ibv_query_comp_cntr_caps");
CompCntr* CreateCounter(ibv_context* context, CompCntrInitAttr* attr) asm("ibv_create_comp_cntr");
CompCntr* CreateEfaCounter(ibv_context* context, CompCntrInitAttr* attr, EfaCompCntrInitAttr* efa,
                           std::uint32_t length) asm("efadv_create_comp_cntr");
int DestroyCounter(CompCntr* counter) asm("ibv_destroy_comp_cntr");
int SetCounter(CompCntr* counter, std::uint64_t value) asm("ibv_set_comp_cntr");
int SetErrorCounter(CompCntr* counter, std::uint64_t value) asm("ibv_set_err_comp_cntr");
int AddToCounter(CompCntr* counter, std::uint64_t amount) asm("ibv_inc_comp_cntr");
int AddToErrorCounter(CompCntr* counter, std::uint64_t amount) asm("ibv_inc_err_comp_cntr");
int ReadCounter(CompCntr* counter, std::uint64_t* value) asm("ibv_read_comp_cntr");
int ReadErrorCounter(CompCntr* counter, std::uint64_t* value) asm("ibv_read_err_comp_cntr");
int AttachCounter(ibv_qp* queue_pair, CompCntr* counter,
                  AttachCompCntrAttr* attr) asm("ibv_qp_attach_comp_cntr");

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_NEWER_FUNCTIONS_H_
