// Why the bytes of a queue entry are no valid entry.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_MALFORMED_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_MALFORMED_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/host_device.h"

namespace drydock::fabric::efa_queue {

// Where several apply, one of them is reported, for the same bytes always the same one.
enum class Malformed : std::uint8_t {
  kNone,                 // well formed
  kWrongPhase,           // not written in this lap of the ring: skipped, or not there yet
  kNotMetaDescriptor,    // a send entry whose meta_desc bit is clear, as in a ring never written
  kFirstMissing,         // the first descriptor of a request does not say that it is the first
  kLastMissing,          // the request does not end where it must
  kReservedBits,         // a bit that must be zero is set
  kUnknownOperation,     // an operation type that does not exist, or not for this kind of queue
  kUnknownQueueType,     // a completion of neither a send nor a receive queue
  kReceiveFlagOnSend,    // a send completion with a flag that only receive completions have
  kUnsolicitedMessage,   // unsolicited, but no peer's write with immediate
  kImmediateMissing,     // a peer's write succeeded here without the immediate that reports it
  kReadInline,           // a read has nowhere to put inline bytes
  kReadImmediate,        // a read sends no notification to the target
  kInlineWriteOnNarrow,  // a 64-byte entry has no room for an inline write
  kInlineTooLong,        // more inline bytes than this size of entry holds
  kNoSegments,           // a message without a segment that is not inline
  kTooManySegments,      // more segments than the queue takes
  kRmaSegmentCount,      // a read or write with other than one local segment
  kLengthsDisagree,      // the local and remote lengths of a read or write differ
  kRequestIdsDisagree,   // a receive begins inside another one
};

// A few words for people, such as "reserved bit set". For values outside the enum: "unknown".
DD_HOST_DEVICE inline const char* MalformedName(Malformed why) {
  switch (why) {
    case Malformed::kNone:
      return "well formed";
    case Malformed::kWrongPhase:
      return "wrong phase";
    case Malformed::kNotMetaDescriptor:
      return "not a meta descriptor";
    case Malformed::kFirstMissing:
      return "first bit missing";
    case Malformed::kLastMissing:
      return "last bit missing";
    case Malformed::kReservedBits:
      return "reserved bit set";
    case Malformed::kUnknownOperation:
      return "unknown operation type";
    case Malformed::kUnknownQueueType:
      return "unknown queue type";
    case Malformed::kReceiveFlagOnSend:
      return "receive flag on a send completion";
    case Malformed::kUnsolicitedMessage:
      return "unsolicited, but no write with immediate";
    case Malformed::kImmediateMissing:
      return "write completion without immediate";
    case Malformed::kReadInline:
      return "inline read";
    case Malformed::kReadImmediate:
      return "read with immediate";
    case Malformed::kInlineWriteOnNarrow:
      return "inline write in a 64-byte entry";
    case Malformed::kInlineTooLong:
      return "too many inline bytes";
    case Malformed::kNoSegments:
      return "no segment";
    case Malformed::kTooManySegments:
      return "too many segments";
    case Malformed::kRmaSegmentCount:
      return "read or write without exactly one local segment";
    case Malformed::kLengthsDisagree:
      return "local and remote length disagree";
    case Malformed::kRequestIdsDisagree:
      return "receive begins inside another one";
  }
  return "unknown";
}

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_MALFORMED_H_
