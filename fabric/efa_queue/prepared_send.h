// A work request of which most stays as it is: encoded once, then posted again and again with other
// addresses.
//
//   PreparedSend same(work, format);                  // all of it
//   same.Store(phase, request_id, forward, forward, entry);   // three words of it
//
// A GPU thread saves most of a post's time by it, because it does one thing at a time.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_PREPARED_SEND_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_PREPARED_SEND_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/words.h"
#include "drydock/fabric/efa_queue/wqe.h"

namespace drydock::fabric::efa_queue {

// A value. Any thread may Store from it at the same time as others.
class PreparedSend {
 public:
  static constexpr unsigned kBytes = sizeof(NarrowWqe);  // what Store writes

  // REQUIRES: the bytes are in one segment, not inline.
  DD_HOST_DEVICE DD_HOT PreparedSend(const SendWork& work, SendFormat format)
      : is_message_(work.operation == Operation::kSend),
        long_request_ids_(format.long_request_ids) {
    SendWork nameless = work;
    nameless.request_id = 0;
    format.wide = false;  // the other half of a wide entry is the caller's
    EncodeSend(nameless, format, /*phase=*/0, words_);
  }

  // Writes the first kBytes of the entry to `entry` (8-byte aligned), with this phase and request
  // id, the local address moved on by `local_offset` and the remote one by `remote_offset` bytes.
  // Of a wide entry, the caller writes zeros into the second half.
  DD_HOST_DEVICE DD_HOT void Store(unsigned phase, std::uint64_t request_id,
                                   std::uint64_t local_offset, std::uint64_t remote_offset,
                                   void* entry) const {
    using namespace internal;  // NOLINT(build/namespaces)
    StoreWord(entry, 0, words_[0] | (request_id & 0xFFFF) | (phase != 0 ? kPhase : 0));
    StoreWord(entry, 1, words_[1]);
    StoreWord(entry, 2, words_[2]);
    StoreWord(entry, 3, long_request_ids_ ? request_id & kLongRequestId : 0);
    StoreWord(entry, 4, words_[4]);
    StoreWord(entry, 5, words_[5] + (is_message_ ? local_offset : remote_offset));
    StoreWord(entry, 6, words_[6]);
    StoreWord(entry, 7, words_[7] + (is_message_ ? 0 : local_offset));
  }

 private:
  alignas(8) Word words_[kBytes / 8];
  bool is_message_;  // whose first address is the local one
  bool long_request_ids_;
};
static_assert(internal::kDataWord == 4 && internal::kRmaLocalWord == 6);

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_PREPARED_SEND_H_
