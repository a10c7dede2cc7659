// Completions: plain values to the bytes of completion queue entries, and back.
//
// The device writes an entry's first word, which holds the phase, last; a reader that sees the
// phase of this lap sees the whole entry. That holds between threads, and between host and CUDA
// device.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_CQE_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_CQE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/host_device.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/malformed.h"
#include "drydock/fabric/efa_queue/words.h"

namespace drydock::fabric::efa_queue {

// How a request ended. A device may report others (ofiwg/libfabric prov/efa/src/efa_errno.h).
enum class CompletionStatus : std::uint8_t {
  kOk = 0,
  kFlushed = 1,
  kLocalQpInternalError = 2,
  kLocalUnsupportedOp = 3,
  kLocalInvalidAh = 4,
  kLocalInvalidLkey = 5,
  kLocalBadLength = 6,
  kRemoteBadAddress = 7,
  kRemoteAbort = 8,
  kRemoteBadDestQpn = 9,
  kRemoteReceiverNotReady = 10,
  kRemoteBadLength = 11,
  kRemoteBadStatus = 12,
  kLocalUnresponsiveRemote = 13,
  kRemoteUnknownPeer = 14,
  kLocalUnreachableRemote = 15,
  kRemoteFeatureMismatch = 18,
};

// The size of all entries of one completion queue. Extended queues, the usual kind, have 32 bytes.
enum class CqeSize : std::uint8_t { k16 = 16, k32 = 32 };

// One completion, of a send queue or of a receive queue. The fields from address_handle on belong
// to receive queues only.
struct Completion {
  std::uint64_t request_id = 0;  // receive: 16 bits; unsolicited: undefined
  std::uint16_t queue_pair = 0;  // ours
  CompletionStatus status = CompletionStatus::kOk;
  QueueType queue = QueueType::kSend;
  Operation operation = Operation::kSend;  // receive: kSend, or kWrite for a peer's write
  bool has_immediate = false;
  bool unsolicited = false;          // a peer's write with immediate that took no receive
  std::uint16_t address_handle = 0;  // the sender's, or kUnknownAddressHandle
  std::uint16_t source_queue_pair = 0;
  std::uint32_t immediate = 0;
  // Bytes received. Messages: 16 bits. Writes: 32 bits, but only 15:0 in entries of 16 bytes.
  std::uint32_t length = 0;
  // The sender of a message with an unknown address handle, in entries of 32 bytes of queues that
  // were made to report it; zeros otherwise. In the order of the bytes of the GID.
  std::uint64_t source_gid[2] = {0, 0};
};
static_assert(std::is_trivially_copyable_v<Completion>);

namespace internal {

// Where the fields of CompletionCommon are in word 0, and the others in theirs.
inline constexpr unsigned kStatus = 8 * offsetof(CompletionCommon, status);
inline constexpr unsigned kFlags = 8 * offsetof(CompletionCommon, flags);
inline constexpr unsigned kQueuePair = 8 * offsetof(CompletionCommon, qp_num);
inline constexpr unsigned kCqeLength = 8 * offsetof(ReceiveCompletion, length);
static_assert(offsetof(ReceiveCompletion, ah) == 8);
inline constexpr unsigned kSourceQp = 8 * (offsetof(ReceiveCompletion, src_qp_num) - 8);
inline constexpr unsigned kImmediate = 8 * (offsetof(ReceiveCompletion, imm) - 8);
static_assert(kCqeLength == 8 * offsetof(SendCompletion, req_id_ex) && kCqeLength == 48);
static_assert(offsetof(SendCompletion, reserved12) == 12);

inline constexpr std::uint64_t kCqePhase = std::uint64_t{1} << kFlags;

// Of the flags without the phase: 1:0 queue type, 2 has_imm, 5:3 operation, 6 unsolicited.
DD_HOST_DEVICE constexpr Malformed CheckFlags(unsigned flags) {
  const unsigned queue = flags & 3;
  const unsigned operation = (flags >> 3) & 7;
  const bool has_immediate = (flags & 4) != 0;
  const bool unsolicited = (flags & 0x40) != 0;
  if (queue == static_cast<unsigned>(QueueType::kSend)) {
    if (operation > static_cast<unsigned>(Operation::kWrite)) return Malformed::kUnknownOperation;
    return has_immediate || unsolicited ? Malformed::kReceiveFlagOnSend : Malformed::kNone;
  }
  if (queue != static_cast<unsigned>(QueueType::kReceive)) return Malformed::kUnknownQueueType;
  const bool write = operation == static_cast<unsigned>(Operation::kWrite);
  if (!write && operation != static_cast<unsigned>(Operation::kSend)) {
    return Malformed::kUnknownOperation;
  }
  return unsolicited && !(write && has_immediate) ? Malformed::kUnsolicitedMessage
                                                  : Malformed::kNone;
}

// One bit for each of the 64 flags with the same `unsolicited`: whether they go together.
constexpr std::uint64_t SoundFlags(unsigned unsolicited) {
  std::uint64_t sound = 0;
  for (unsigned i = 0; i < 64; ++i) {
    if (CheckFlags(unsolicited << 6 | i) == Malformed::kNone) sound |= std::uint64_t{1} << i;
  }
  return sound;
}
inline constexpr std::uint64_t kSoundSolicited = SoundFlags(0);
inline constexpr std::uint64_t kSoundUnsolicited = SoundFlags(1);

DD_HOST_DEVICE DD_COLD Malformed DiagnoseFlags(unsigned flags) { return CheckFlags(flags); }

// Loads the fields that only completions of receive queues have.
DD_HOST_DEVICE DD_HOT Malformed LoadReceiveFields(const void* cqe, CqeSize size,
                                                  std::uint64_t word0, std::uint64_t word1,
                                                  Completion& completion) {
  completion.length = static_cast<std::uint16_t>(word0 >> kCqeLength);
  completion.address_handle = static_cast<std::uint16_t>(word1);
  completion.source_queue_pair = static_cast<std::uint16_t>(word1 >> kSourceQp);
  if (completion.has_immediate) {
    completion.immediate = static_cast<std::uint32_t>(word1 >> kImmediate);
  }
  if (completion.operation == Operation::kWrite) {
    if (size == CqeSize::k32) {
      completion.length |= static_cast<std::uint32_t>(LoadWord(cqe, 2) & 0xFFFF) << 16;
    }
    const bool silent = !completion.has_immediate && completion.status == CompletionStatus::kOk;
    return silent ? Malformed::kImmediateMissing : Malformed::kNone;
  }
  if (size == CqeSize::k32 && completion.address_handle == kUnknownAddressHandle) {
    completion.source_gid[0] = LoadWord(cqe, 2);
    completion.source_gid[1] = LoadWord(cqe, 3);
  }
  return Malformed::kNone;
}

}  // namespace internal

// Writes `completion` to the entry at `cqe` (8-byte aligned, of this size) and publishes it.
// `phase` is the ring's for this slot. What the entry has no room for is cut off.
DD_HOST_DEVICE DD_HOT void EncodeCompletion(const Completion& completion, CqeSize size,
                                            unsigned phase, void* cqe) {
  using namespace internal;  // NOLINT(build/namespaces)
  const bool receive = completion.queue == QueueType::kReceive;
  const unsigned flags = (phase != 0 ? 1 : 0) | (static_cast<unsigned>(completion.queue) & 3) << 1 |
                         (completion.has_immediate ? 8 : 0) |
                         (static_cast<unsigned>(completion.operation) & 7) << 4 |
                         (completion.unsolicited ? 0x80 : 0);
  std::uint64_t high = (completion.request_id >> 16) & 0xFFFF;
  std::uint64_t word1 = completion.request_id >> 32;
  if (receive) {
    high = completion.length & 0xFFFF;
    word1 = completion.address_handle | std::uint64_t{completion.source_queue_pair} << kSourceQp |
            std::uint64_t{completion.has_immediate ? completion.immediate : 0} << kImmediate;
  }
  if (size == CqeSize::k32) {
    const bool write = receive && completion.operation == Operation::kWrite;
    const bool stranger = receive && !write && completion.address_handle == kUnknownAddressHandle;
    StoreWord(cqe, 3, stranger ? completion.source_gid[1] : 0);
    StoreWord(cqe, 2, write ? completion.length >> 16 : stranger ? completion.source_gid[0] : 0);
  }
  StoreWord(cqe, 1, word1);
  PublishWord(cqe, 0,
              (completion.request_id & 0xFFFF) |
                  static_cast<std::uint64_t>(completion.status) << kStatus |
                  std::uint64_t{flags} << kFlags |
                  std::uint64_t{completion.queue_pair} << kQueuePair | high << kCqeLength);
}

// Whether the entry at `cqe` was written in the lap with this phase.
DD_HOST_DEVICE DD_HOT bool CompletionIsThere(const void* cqe, unsigned phase) {
  return ((LoadPublishedWord(cqe, 0) & internal::kCqePhase) != 0) == (phase != 0);
}

// Whose completion the entry at `cqe` is. REQUIRES: CompletionIsThere.
DD_HOST_DEVICE DD_HOT std::uint16_t QueuePairOf(const void* cqe) {
  return static_cast<std::uint16_t>(LoadWord(cqe, 0) >> internal::kQueuePair);
}

// Reads the entry at `cqe` (8-byte aligned, of this size) if it has this phase. kNone: all of
// `completion` is set. kWrongPhase: no entry is there yet; `completion` is untouched. Any other:
// the entry is not one that an EFA writes; `completion` is unspecified. The padding of a 32-byte
// entry is not checked.
DD_HOST_DEVICE DD_HOT Malformed DecodeCompletion(const void* cqe, CqeSize size, unsigned phase,
                                                 Completion& completion) {
  using namespace internal;  // NOLINT(build/namespaces)
  const std::uint64_t word0 = LoadPublishedWord(cqe, 0);
  if (((word0 & kCqePhase) != 0) != (phase != 0)) return Malformed::kWrongPhase;
  const std::uint64_t word1 = LoadWord(cqe, 1);
  const unsigned flags = static_cast<unsigned>(word0 >> (kFlags + 1)) & 0x7F;
  const std::uint64_t sound = (flags & 0x40) != 0 ? kSoundUnsolicited : kSoundSolicited;
  if (((sound >> (flags & 0x3F)) & 1) == 0) [[unlikely]] {
    return DiagnoseFlags(flags);
  }
  completion.request_id = word0 & 0xFFFF;
  completion.queue_pair = static_cast<std::uint16_t>(word0 >> kQueuePair);
  completion.status = static_cast<CompletionStatus>(word0 >> kStatus & 0xFF);
  completion.queue = static_cast<QueueType>(flags & 3);
  completion.operation = static_cast<Operation>((flags >> 3) & 7);
  completion.has_immediate = (flags & 4) != 0;
  completion.unsolicited = (flags & 0x40) != 0;
  completion.immediate = 0;
  completion.source_gid[0] = 0;
  completion.source_gid[1] = 0;
  if (completion.queue == QueueType::kSend) {
    completion.address_handle = 0;
    completion.source_queue_pair = 0;
    completion.length = 0;
    completion.request_id |= (word0 >> kCqeLength) << 16 | word1 << 32;
    return word1 >> 32 == 0 ? Malformed::kNone : Malformed::kReservedBits;
  }
  return LoadReceiveFields(cqe, size, word0, word1, completion);
}

// A successful completion of a send queue, read from the low 32 bits of an entry's first word,
// which say all that there is about it. For pollers that load the words of several entries at once.
struct SendSuccess {
  bool is_one = false;         // of this phase, ended well, and as an EFA writes it
  bool brought_bytes = false;  // of a read
};
DD_HOST_DEVICE DD_HOT SendSuccess ReadSendSuccess(std::uint32_t low_word0, unsigned phase) {
  using namespace internal;  // NOLINT(build/namespaces)
  constexpr unsigned kOperation = kFlags + 4;
  constexpr std::uint32_t kLowOperation = 3u << kOperation;
  constexpr std::uint32_t kFixed = (0xFFu << kStatus | 0xFFu << kFlags) & ~kLowOperation;
  const std::uint32_t expected = static_cast<std::uint32_t>(QueueType::kSend) << (kFlags + 1) |
                                 (phase != 0 ? static_cast<std::uint32_t>(kCqePhase) : 0);
  const bool known = (low_word0 & kLowOperation) != kLowOperation;  // 3 is none
  return {.is_one = ((low_word0 ^ expected) & kFixed) == 0 && known,
          .brought_bytes =
              (low_word0 >> kOperation & 3) == static_cast<std::uint32_t>(Operation::kRead)};
}
// Whether an entry with these bits is of this phase at all.
DD_HOST_DEVICE DD_HOT bool HasPhase(std::uint32_t low_word0, unsigned phase) {
  return ((low_word0 & static_cast<std::uint32_t>(internal::kCqePhase)) != 0) == (phase != 0);
}

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_CQE_H_
