// Writing entries of a send ring, by any thread that was told which.

#ifndef DRYDOCK_GPU_GDA_QUEUE_ENTRY_WRITER_H_
#define DRYDOCK_GPU_GDA_QUEUE_ENTRY_WRITER_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/prepared_send.h"
#include "drydock/fabric/efa_queue/words.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/gpu/gda/queue/queue.h"

namespace drydock::gpu::gda {

// `Stores` as DirectStores. `counter` is the running number of the entry; writes whole entries, and
// keeps no count.
template <typename Stores>
class EntryWriter {
 public:
  DD_HOST_DEVICE explicit EntryWriter(const QueueView& view)
      : entries_(static_cast<unsigned char*>(view.send.entries)), count_(view.send.entry_count) {
    format_.wide = view.send.entry_bytes == sizeof(fabric::efa_queue::WideWqe);
    format_.long_request_ids = view.long_request_ids;
  }

  DD_HOST_DEVICE DD_HOT fabric::efa_queue::SendFormat format() const { return format_; }

  DD_HOST_DEVICE DD_HOT void Write(std::uint32_t counter, const fabric::efa_queue::SendWork& work,
                                   Stores& stores) {
    // A size that is a constant keeps the entry in registers on its way.
    format_.wide ? WriteAs<true>(counter, work, stores) : WriteAs<false>(counter, work, stores);
  }
  // The same for a request that was prepared, whose id is the counter, with both addresses moved on
  // by `offset` bytes.
  DD_HOST_DEVICE DD_HOT void Write(std::uint32_t counter,
                                   const fabric::efa_queue::PreparedSend& prepared,
                                   std::uint64_t offset, Stores& stores) {
    constexpr unsigned kBytes = fabric::efa_queue::PreparedSend::kBytes;
    unsigned char* const slot = SlotOf(counter);
    alignas(8) fabric::efa_queue::Word entry[kBytes / 8];
    prepared.Store(PhaseOf(counter), counter, offset, offset, entry);
    stores.Entry(slot, entry, kBytes);
    if (!format_.wide) return;
    constexpr fabric::efa_queue::Word kNothing[kBytes / 8] = {};
    stores.Entry(slot + kBytes, kNothing, kBytes);
  }

 private:
  DD_HOST_DEVICE DD_HOT unsigned PhaseOf(std::uint32_t counter) const {
    return (counter & count_) != 0 ? 1 : 0;
  }
  DD_HOST_DEVICE DD_HOT unsigned char* SlotOf(std::uint32_t counter) const {
    return entries_ + std::uint64_t{counter & (count_ - 1)} * format_.entry_bytes();
  }

  template <bool kWide>
  DD_HOST_DEVICE DD_HOT void WriteAs(std::uint32_t counter, const fabric::efa_queue::SendWork& work,
                                     Stores& stores) {
    fabric::efa_queue::SendFormat format = format_;
    format.wide = kWide;
    constexpr unsigned kBytes =
        kWide ? sizeof(fabric::efa_queue::WideWqe) : sizeof(fabric::efa_queue::NarrowWqe);
    alignas(8) unsigned char entry[kBytes];
    fabric::efa_queue::EncodeSend(work, format, PhaseOf(counter), entry);
    stores.Entry(SlotOf(counter), entry, kBytes);
  }

  unsigned char* entries_;
  std::uint32_t count_;  // a power of two
  fabric::efa_queue::SendFormat format_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_ENTRY_WRITER_H_
