// The statuses of the verbs interface for those of the device.

#ifndef DRYDOCK_SIM_VERBS_WC_STATUS_H_
#define DRYDOCK_SIM_VERBS_WC_STATUS_H_

#include <infiniband/verbs.h>

#include <cstdint>

namespace drydock::sim::verbs {

// As libefa translates (linux-rdma/rdma-core providers/efa/verbs.c); a status that it does not know
// is IBV_WC_GENERAL_ERR.
ibv_wc_status WcStatusOf(std::uint8_t efa_status);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_WC_STATUS_H_
