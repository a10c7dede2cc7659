// One transfer, as a device says it: a plain value for host and device code.

#ifndef DRYDOCK_GPU_GDA_QUEUE_TRANSFER_H_
#define DRYDOCK_GPU_GDA_QUEUE_TRANSFER_H_

#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

// A write, a read or a message. Addresses are those that the NIC was told of.
struct Transfer {
  fabric::efa_queue::Operation operation = fabric::efa_queue::Operation::kWrite;
  bool has_immediate = false;  // not for reads
  // As it is in the entry; a proxy over libfabric on EFA sends its bytes swapped (docs/gda.md).
  std::uint32_t immediate = 0;
  std::uint32_t length = 0;  // bytes
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;    // not for messages
  std::uint64_t local = 0;   // read: where to; else: where from
  std::uint64_t remote = 0;  // not for messages
};
static_assert(std::is_trivially_copyable_v<Transfer>);

// The work request for it.
DD_HOST_DEVICE DD_HOT fabric::efa_queue::SendWork WorkOf(const Transfer& transfer,
                                                         const PeerView& peer,
                                                         std::uint64_t request_id) {
  fabric::efa_queue::SendWork work;
  work.request_id = request_id;
  work.operation = transfer.operation;
  work.has_immediate = transfer.has_immediate;
  work.immediate = transfer.immediate;
  work.address_handle = peer.address_handle;
  work.destination_queue_pair = peer.queue_pair;
  work.qkey = peer.qkey;
  work.segment_count = 1;
  work.segments[0].length = transfer.length;
  work.segments[0].lkey = transfer.lkey;
  work.segments[0].address = transfer.local;
  if (transfer.operation != fabric::efa_queue::Operation::kSend) {
    work.remote.length = transfer.length;
    work.remote.rkey = transfer.rkey;
    work.remote.address = transfer.remote;
  }
  return work;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_TRANSFER_H_
