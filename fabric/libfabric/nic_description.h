// Translates an fi_info to the contract's description of a NIC.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_NIC_DESCRIPTION_H_
#define DRYDOCK_FABRIC_LIBFABRIC_NIC_DESCRIPTION_H_

#include <cstddef>

#include "drydock/fabric/libfabric/api.h"
#include "drydock/fabric/nic_info.h"

namespace drydock::fabric::libfabric {

// Segments of one request that we pass on, where a provider would take more.
inline constexpr std::size_t kMostSegments = 8;

// Asked of every endpoint that can take several messages into one buffer (FI_OPT_MIN_MULTI_RECV).
inline constexpr std::size_t kMultiReceiveBytes = 256;

// The NIC, and the limits of an endpoint that is opened with this info. Capabilities that only a
// trial shows (blocking queues, counters, retries) are not in it.
NicInfo Describe(const fi_info& info);

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_NIC_DESCRIPTION_H_
