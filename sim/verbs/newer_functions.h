// Functions that later releases of rdma-core added, for programs that were built against them. The
// headers of the machine may lack them, or declare them with structures of their own: so they have
// other names in C++, and in the library those by which programs ask for them.
//
// Results and errors are those of the manual pages of linux-rdma/rdma-core (libibverbs/man and
// providers/efa/man, under the name that stands in quotation marks).

#ifndef SIM_VERBS_NEWER_FUNCTIONS_H_
#define SIM_VERBS_NEWER_FUNCTIONS_H_

#include <infiniband/verbs.h>

#include <cstdint>

#include "sim/verbs/newer_abi.h"

namespace sim::verbs {

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

}  // namespace sim::verbs

#endif  // SIM_VERBS_NEWER_FUNCTIONS_H_
