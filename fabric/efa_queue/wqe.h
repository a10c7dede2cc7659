// Work requests: plain values to the bytes of send queue entries, and back.
//
//   SendWork work;
//   work.operation = Operation::kWrite;
//   work.segments[0] = {.length = 4096, .lkey = lkey, .address = source};
//   work.segment_count = 1;
//   work.remote = {.length = 4096, .rkey = rkey, .address = target};
//   EncodeSend(work, format, ring.phase(), slot);
//
// The encoder trusts its caller and writes no byte outside the entry; the decoder trusts no input.
// The decoder refuses an encoded value exactly if the value was wrong. Both may run on any thread,
// keep no state, and have no other errors. Receives are in receive_wqe.h.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_WQE_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_WQE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/malformed.h"
#include "drydock/fabric/efa_queue/words.h"

namespace drydock::fabric::efa_queue {

// The format of one send queue's entries; fixed when the queue is made.
struct SendFormat {
  bool wide = false;              // 128-byte entries, not 64
  bool long_request_ids = false;  // request ids of 64 bits, not 16

  DD_HOST_DEVICE constexpr std::uint32_t entry_bytes() const {
    return wide ? sizeof(WideWqe) : sizeof(NarrowWqe);
  }
  DD_HOST_DEVICE constexpr std::uint32_t inline_bytes() const {
    return wide ? kWideInlineBytes : kNarrowInlineBytes;
  }
};

// One send, read or write.
struct SendWork {
  std::uint64_t request_id = 0;  // only the low 16 bits without SendFormat::long_request_ids
  Operation operation = Operation::kSend;
  bool has_immediate = false;
  bool is_inline = false;            // the bytes themselves are in the entry: no segments
  bool completion_requested = true;  // as every known driver asks
  std::uint8_t hints = 0;            // kHint..., two bits
  std::uint8_t segment_count = 0;    // send: 1 or 2; read and write: 1; inline: 0
  std::uint16_t inline_bytes = 0;    // inline: how many; a message of none is inline
  std::uint16_t address_handle = 0;
  std::uint16_t destination_queue_pair = 0;
  std::uint32_t qkey = 0;
  std::uint32_t immediate = 0;  // as it is in the entry: the drivers' byte swap is not done here
  RemoteAddress remote{};       // read, write; its length is that of the local bytes
  BufferDescriptor segments[kMaxSendSegments]{};
  // Encode: where to take the inline bytes, any alignment. Decode: where they are in the entry.
  const std::uint8_t* inline_data = nullptr;
};
static_assert(std::is_trivially_copyable_v<SendWork>);

namespace internal {

// Where the fields of SendMeta are in its words.
inline constexpr unsigned kControl1 = 8 * offsetof(SendMeta, ctrl1);             // word 0
inline constexpr unsigned kControl2 = 8 * offsetof(SendMeta, ctrl2);             // word 0
inline constexpr unsigned kDestinationQp = 8 * offsetof(SendMeta, dest_qp_num);  // word 0
inline constexpr unsigned kLength = 8 * offsetof(SendMeta, length);              // word 0
inline constexpr unsigned kAddressHandle = 8 * (offsetof(SendMeta, ah) - 8);     // word 1
inline constexpr unsigned kControl3 = 8 * (offsetof(SendMeta, ctrl3) - 8);       // word 1
static_assert(offsetof(SendMeta, qkey) == 16);                                   // word 2
static_assert(offsetof(SendMeta, req_id_ex) == 26);                              // word 3
static_assert(offsetof(BufferDescriptor, length) == 0 && offsetof(BufferDescriptor, lkey) == 4);
static_assert(offsetof(RemoteAddress, length) == 0 && offsetof(RemoteAddress, rkey) == 4);

inline constexpr std::uint64_t kOperationMask = 0xF;  // after a shift by kControl1
inline constexpr std::uint64_t kHasImmediate = std::uint64_t{1} << (kControl1 + 4);
inline constexpr std::uint64_t kInlineMessage = std::uint64_t{1} << (kControl1 + 5);
inline constexpr std::uint64_t kMetaDescriptor = std::uint64_t{1} << (kControl1 + 7);
inline constexpr std::uint64_t kPhase = std::uint64_t{1} << kControl2;
inline constexpr std::uint64_t kFirst = std::uint64_t{1} << (kControl2 + 2);
inline constexpr std::uint64_t kLast = std::uint64_t{1} << (kControl2 + 3);
inline constexpr std::uint64_t kCompletionRequested = std::uint64_t{1} << (kControl2 + 4);

inline constexpr std::uint64_t kAlwaysSet = kMetaDescriptor | kFirst | kLast;
inline constexpr std::uint64_t kReserved0 =
    (std::uint64_t{0x40} << kControl1) | (std::uint64_t{0xE2} << kControl2);
inline constexpr std::uint64_t kReserved1 = std::uint64_t{0xFFFC} << kControl3;
inline constexpr std::uint64_t kReserved2 = std::uint64_t{0xFFFFFFFF} << 32;
inline constexpr std::uint64_t kLongRequestId = ~std::uint64_t{0xFFFF};  // word 3

// The words of the data area.
inline constexpr unsigned kDataWord = sizeof(SendMeta) / 8;
inline constexpr unsigned kRmaLocalWord = offsetof(NarrowWqe, data.rma.local) / 8;
inline constexpr unsigned kInlineWriteWord = offsetof(WideWqe, data.inline_write.bytes) / 8;

DD_HOST_DEVICE DD_HOT void StoreSegment(void* wqe, unsigned word, std::uint32_t length,
                                        std::uint32_t key, std::uint64_t address) {
  StoreWord(wqe, word, length | std::uint64_t{key} << 32);
  StoreWord(wqe, word + 1, address);
}

// Writes the meta descriptor of `work`.
DD_HOST_DEVICE DD_HOT void StoreMeta(const SendWork& work, SendFormat format, unsigned phase,
                                     void* wqe) {
  const std::uint64_t count = work.is_inline ? work.inline_bytes : work.segment_count;
  StoreWord(wqe, 0,
            (work.request_id & 0xFFFF) |
                (static_cast<std::uint64_t>(work.operation) & kOperationMask) << kControl1 |
                (work.has_immediate ? kHasImmediate : 0) | (work.is_inline ? kInlineMessage : 0) |
                (work.completion_requested ? kCompletionRequested : 0) | kAlwaysSet |
                (phase != 0 ? kPhase : 0) |
                std::uint64_t{work.destination_queue_pair} << kDestinationQp | count << kLength);
  StoreWord(wqe, 1,
            (work.has_immediate ? work.immediate : 0) |
                std::uint64_t{work.address_handle} << kAddressHandle |
                std::uint64_t{work.hints} << kControl3);
  StoreWord(wqe, 2, work.qkey);
  StoreWord(wqe, 3, format.long_request_ids ? work.request_id & kLongRequestId : 0);
}

// Fills the entry from `word` to its end with the inline bytes, then zeros. No more bytes are taken
// than fit in the format.
DD_HOST_DEVICE inline void StoreInline(const SendWork& work, SendFormat format, void* wqe,
                                       unsigned word) {
  const std::uint32_t capacity = format.inline_bytes();
  const std::uint32_t bytes = work.inline_bytes < capacity ? work.inline_bytes : capacity;
  const unsigned end = format.entry_bytes() / 8;
  std::uint32_t taken = 0;
  for (; word < end; ++word) {
    const std::uint32_t left = bytes - taken;
    StoreWord(wqe, word, GatherWord(work.inline_data + taken, left));
    taken += left < 8 ? left : 8;
  }
}

// Why the meta descriptor with these words is refused: called only when one of the masks hit.
DD_HOST_DEVICE DD_COLD Malformed DiagnoseMeta(std::uint64_t word0, unsigned phase) {
  if (((word0 & kPhase) != 0) != (phase != 0)) return Malformed::kWrongPhase;
  if ((word0 & kMetaDescriptor) == 0) return Malformed::kNotMetaDescriptor;
  if ((word0 & kFirst) == 0) return Malformed::kFirstMissing;
  if ((word0 & kLast) == 0) return Malformed::kLastMissing;
  return Malformed::kReservedBits;
}

// Takes the meta descriptor with these words, whose reserved bits are clear.
DD_HOST_DEVICE DD_HOT void LoadMeta(std::uint64_t word0, std::uint64_t word1, std::uint64_t word2,
                                    std::uint64_t word3, SendWork& work) {
  work.request_id = (word0 & 0xFFFF) | word3;
  work.operation = static_cast<Operation>((word0 >> kControl1) & kOperationMask);
  work.has_immediate = (word0 & kHasImmediate) != 0;
  work.is_inline = (word0 & kInlineMessage) != 0;
  work.completion_requested = (word0 & kCompletionRequested) != 0;
  work.hints = static_cast<std::uint8_t>(word1 >> kControl3);
  work.address_handle = static_cast<std::uint16_t>(word1 >> kAddressHandle);
  work.destination_queue_pair = static_cast<std::uint16_t>(word0 >> kDestinationQp);
  work.qkey = static_cast<std::uint32_t>(word2);
  work.immediate = work.has_immediate ? static_cast<std::uint32_t>(word1) : 0;
  work.segment_count = 0;
  work.inline_bytes = 0;
  work.inline_data = nullptr;
}

// Takes a local segment.
DD_HOST_DEVICE DD_HOT void LoadSegment(const void* wqe, unsigned word, BufferDescriptor& segment) {
  const std::uint64_t head = LoadWord(wqe, word);
  segment.length = static_cast<std::uint32_t>(head);
  segment.lkey = static_cast<std::uint32_t>(head >> 32);
  segment.address = LoadWord(wqe, word + 1);
}

// Takes the data area of a message.
DD_HOST_DEVICE DD_HOT Malformed DecodeMessage(const void* wqe, SendFormat format,
                                              std::uint32_t count, SendWork& work) {
  work.remote = RemoteAddress{};
  if (work.is_inline) {
    work.segments[0] = BufferDescriptor{};
    work.segments[1] = BufferDescriptor{};
    work.inline_bytes = static_cast<std::uint16_t>(count);
    work.inline_data = static_cast<const std::uint8_t*>(wqe) + 8 * kDataWord;
    return count <= format.inline_bytes() ? Malformed::kNone : Malformed::kInlineTooLong;
  }
  if (count - 1 >= kMaxSendSegments) {
    return count == 0 ? Malformed::kNoSegments : Malformed::kTooManySegments;
  }
  work.segment_count = static_cast<std::uint8_t>(count);
  LoadSegment(wqe, kDataWord, work.segments[0]);
  if (count == 2) {
    LoadSegment(wqe, kDataWord + 2, work.segments[1]);
  } else {
    work.segments[1] = BufferDescriptor{};
  }
  const std::uint32_t keys = work.segments[0].lkey | work.segments[1].lkey;
  return (keys & ~kLocalKeyMask) == 0 ? Malformed::kNone : Malformed::kReservedBits;
}

// Takes the data area of an inline write.
DD_HOST_DEVICE DD_HOT Malformed DecodeInlineRma(const void* wqe, SendFormat format,
                                                std::uint32_t count, SendWork& work) {
  if (work.operation == Operation::kRead) return Malformed::kReadInline;
  if (!format.wide) return Malformed::kInlineWriteOnNarrow;
  if (count > kWideInlineBytes) return Malformed::kInlineTooLong;
  work.segments[0] = BufferDescriptor{};
  work.inline_bytes = static_cast<std::uint16_t>(count);
  work.inline_data = static_cast<const std::uint8_t*>(wqe) + 8 * kInlineWriteWord;
  return count == work.remote.length ? Malformed::kNone : Malformed::kLengthsDisagree;
}

// Takes the data area of a read or write.
DD_HOST_DEVICE DD_HOT Malformed DecodeRma(const void* wqe, SendFormat format, std::uint32_t count,
                                          SendWork& work) {
  const std::uint64_t remote = LoadWord(wqe, kDataWord);
  work.remote.length = static_cast<std::uint32_t>(remote);
  work.remote.rkey = static_cast<std::uint32_t>(remote >> 32);
  work.remote.address = LoadWord(wqe, kDataWord + 1);
  work.segments[1] = BufferDescriptor{};
  if (work.is_inline) return DecodeInlineRma(wqe, format, count, work);
  LoadSegment(wqe, kRmaLocalWord, work.segments[0]);
  work.segment_count = 1;
  if ((work.segments[0].lkey & ~kLocalKeyMask) != 0) return Malformed::kReservedBits;
  if (work.operation == Operation::kRead && work.has_immediate) return Malformed::kReadImmediate;
  if (count != 1) return Malformed::kRmaSegmentCount;
  if (work.segments[0].length != work.remote.length) return Malformed::kLengthsDisagree;
  return Malformed::kNone;
}

}  // namespace internal

// Writes `work` to the entry at `wqe` (8-byte aligned, format.entry_bytes() long): all of it, and
// none is read back. `phase` is the ring's for this slot. For a ring in device memory, encode into
// an entry of your own and use CopyToDeviceRing.
DD_HOST_DEVICE DD_HOT void EncodeSend(const SendWork& work, SendFormat format, unsigned phase,
                                      void* wqe) {
  using namespace internal;  // NOLINT(build/namespaces)
  StoreMeta(work, format, phase, wqe);
  const bool message = work.operation == Operation::kSend;
  if (!message) {
    StoreSegment(wqe, kDataWord, work.remote.length, work.remote.rkey, work.remote.address);
  }
  if (work.is_inline) {
    StoreInline(work, format, wqe, message ? kDataWord : kInlineWriteWord);
    return;
  }
  const BufferDescriptor& first = work.segments[0];
  const BufferDescriptor& second = work.segments[1];
  if (!message) {
    StoreSegment(wqe, kRmaLocalWord, first.length, first.lkey, first.address);
  } else {
    const bool two = work.segment_count > 1;
    StoreSegment(wqe, kDataWord, first.length, first.lkey, first.address);
    StoreSegment(wqe, kDataWord + 2, two ? second.length : 0, two ? second.lkey : 0,
                 two ? second.address : 0);
  }
  for (unsigned i = sizeof(NarrowWqe) / 8; i < format.entry_bytes() / 8; ++i) StoreWord(wqe, i, 0);
}

// Reads the entry at `wqe` (8-byte aligned, format.entry_bytes() long, constant during the call)
// that should have this phase. kNone: all of `work` is set, `inline_data` points into the entry,
// and fields that the operation does not use are zero. Otherwise the reason, and `work` is
// unspecified.
DD_HOST_DEVICE DD_HOT Malformed DecodeSend(const void* wqe, SendFormat format, unsigned phase,
                                           SendWork& work) {
  using namespace internal;  // NOLINT(build/namespaces)
  const std::uint64_t word0 = LoadWord(wqe, 0);
  const std::uint64_t word1 = LoadWord(wqe, 1);
  const std::uint64_t word2 = LoadWord(wqe, 2);
  const std::uint64_t word3 = LoadWord(wqe, 3);
  const std::uint64_t expected = kAlwaysSet | (phase != 0 ? kPhase : 0);
  const std::uint64_t reserved3 = format.long_request_ids ? ~kLongRequestId : ~std::uint64_t{0};
  const std::uint64_t wrong = ((word0 & (kAlwaysSet | kPhase | kReserved0)) ^ expected) |
                              (word1 & kReserved1) | (word2 & kReserved2) | (word3 & reserved3);
  if (wrong != 0) [[unlikely]] {
    return DiagnoseMeta(word0, phase);
  }
  LoadMeta(word0, word1, word2, word3, work);
  const auto count = static_cast<std::uint32_t>(word0 >> kLength);
  if (work.operation == Operation::kSend) return DecodeMessage(wqe, format, count, work);
  if (work.operation > Operation::kWrite) [[unlikely]] {
    return Malformed::kUnknownOperation;
  }
  return DecodeRma(wqe, format, count, work);
}

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_WQE_H_
