// Receives: plain values to the bytes of receive queue descriptors, and back.
//
// A receive takes one descriptor a segment, in consecutive slots of the ring. rdma-core marks only
// the first one with `first` and the request id, libfabric marks every one: both are read, the
// latter is written (ofiwg/libfabric prov/efa/src/efa_data_path_direct_internal.h). A receive ends
// at the descriptor that says `last`. There is no phase bit: only the doorbell tells what is there.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_RECEIVE_WQE_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_RECEIVE_WQE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/malformed.h"
#include "drydock/fabric/efa_queue/words.h"

namespace drydock::fabric::efa_queue {

// One receive: memory for one message.
struct ReceiveWork {
  std::uint16_t request_id = 0;
  std::uint8_t segment_count = 0;  // 1 to kMaxReceiveSegments; so many descriptors
  BufferDescriptor segments[kMaxReceiveSegments]{};
};
static_assert(std::is_trivially_copyable_v<ReceiveWork>);

namespace internal {

// Where the fields are in word 1.
inline constexpr unsigned kReceiveLength = 8 * (offsetof(ReceiveDescriptor, length) - 8);
inline constexpr unsigned kReceiveKey = 8 * (offsetof(ReceiveDescriptor, lkey_ctrl) - 8);
static_assert(offsetof(ReceiveDescriptor, req_id) == 8);

inline constexpr std::uint64_t kReceiveReserved = std::uint64_t{0x3F} << (kReceiveKey + 24);
inline constexpr std::uint64_t kReceiveFirst = std::uint64_t{1} << (kReceiveKey + 30);
inline constexpr std::uint64_t kReceiveLast = std::uint64_t{1} << (kReceiveKey + 31);

}  // namespace internal

// Writes segment `index` of `work` to one descriptor (8-byte aligned). A length over 65535 is
// written as 65535, as the field is 16 bits wide.
// REQUIRES: index < work.segment_count <= kMaxReceiveSegments; keys of 24 bits.
DD_HOST_DEVICE DD_HOT void EncodeReceiveDescriptor(const ReceiveWork& work, unsigned index,
                                                   void* descriptor) {
  using namespace internal;  // NOLINT(build/namespaces)
  const BufferDescriptor& segment = work.segments[index];
  const std::uint64_t length =
      segment.length < kMaxReceiveSegmentBytes ? segment.length : kMaxReceiveSegmentBytes;
  StoreWord(descriptor, 0, segment.address);
  StoreWord(descriptor, 1,
            work.request_id | length << kReceiveLength |
                std::uint64_t{segment.lkey & kLocalKeyMask} << kReceiveKey | kReceiveFirst |
                (index + 1 == work.segment_count ? kReceiveLast : 0));
}

// Writes `work` to a ring of `entries` descriptors (a power of two), beginning at the slot of
// `counter`. REQUIRES: as above, and that so many slots are free.
DD_HOST_DEVICE DD_HOT void EncodeReceive(const ReceiveWork& work, void* ring, std::uint32_t entries,
                                         std::uint32_t counter) {
  for (unsigned i = 0; i < work.segment_count; ++i) {
    const std::size_t slot = (counter + i) & (entries - 1);
    EncodeReceiveDescriptor(work, i, static_cast<ReceiveDescriptor*>(ring) + slot);
  }
}

// Reads the receive that begins at the slot of `counter` in a ring of `entries` descriptors (a
// power of two), of which `announced`, at least one, were announced by the doorbell and not read
// yet. kNone: `work` is set, and its segment_count says how many descriptors it took. kLastMissing:
// it does not end within those announced. kTooManySegments: nor within `max_segments` (at most
// kMaxReceiveSegments). On any failure `work` means nothing.
DD_HOST_DEVICE DD_HOT Malformed DecodeReceive(const void* ring, std::uint32_t entries,
                                              std::uint32_t counter, std::uint32_t announced,
                                              std::uint32_t max_segments, ReceiveWork& work) {
  using namespace internal;  // NOLINT(build/namespaces)
  const std::uint32_t most =
      max_segments < kMaxReceiveSegments ? max_segments : kMaxReceiveSegments;
  work = ReceiveWork{};
  for (std::uint32_t i = 0; i < most; ++i) {
    if (i == announced) return Malformed::kLastMissing;
    const std::size_t slot = (counter + i) & (entries - 1);
    const void* descriptor = static_cast<const ReceiveDescriptor*>(ring) + slot;
    const std::uint64_t word = LoadWord(descriptor, 1);
    const auto request_id = static_cast<std::uint16_t>(word);
    if (i == 0) {
      if ((word & kReceiveFirst) == 0) return Malformed::kFirstMissing;
      work.request_id = request_id;
    }
    if ((word & kReceiveReserved) != 0) return Malformed::kReservedBits;
    if ((word & kReceiveFirst) != 0 && request_id != work.request_id) {
      return Malformed::kRequestIdsDisagree;
    }
    BufferDescriptor& segment = work.segments[i];
    segment.address = LoadWord(descriptor, 0);
    segment.length = static_cast<std::uint16_t>(word >> kReceiveLength);
    segment.lkey = static_cast<std::uint32_t>(word >> kReceiveKey) & kLocalKeyMask;
    work.segment_count = static_cast<std::uint8_t>(i + 1);
    if ((word & kReceiveLast) != 0) return Malformed::kNone;
  }
  return Malformed::kTooManySegments;
}

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_RECEIVE_WQE_H_
