#include "drydock/fabric/efa_queue/testing/image_checks.h"

#include <cstring>

#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"

namespace drydock::fabric::efa_queue {
namespace {

// ---- the second reading of the formats: byte by byte, slow, sharing nothing with the decoders
// ----

std::uint32_t Read32(const std::uint8_t* at) {
  return at[0] | at[1] << 8 | at[2] << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

std::uint32_t Read16(const std::uint8_t* at) { return at[0] | at[1] << 8; }

bool AllZero(const std::uint8_t* from, const std::uint8_t* to) {
  for (; from != to; ++from) {
    if (*from != 0) return false;
  }
  return true;
}

bool SendIsSound(const std::uint8_t* wqe, SendFormat format, unsigned phase) {
  if ((wqe[2] & 0xC0) != 0x80) return false;            // meta_desc without the reserved bit
  if ((wqe[3] & 0xEF) != (0x0C | phase)) return false;  // first, last, phase; any comp_req
  if ((wqe[14] & 0xFC) != 0 || wqe[15] != 0) return false;
  if (!AllZero(wqe + 20, wqe + (format.long_request_ids ? 26 : 32))) return false;
  const unsigned operation = wqe[2] & 0x0F;
  const bool has_immediate = (wqe[2] & 0x10) != 0;
  const bool is_inline = (wqe[2] & 0x20) != 0;
  const std::uint32_t count = Read16(wqe + 6);
  if (operation == 0) {
    if (is_inline) return count <= (format.wide ? 80u : 32u);
    return (count == 1 && wqe[39] == 0) || (count == 2 && wqe[39] == 0 && wqe[55] == 0);
  }
  if (operation > 2) return false;
  if (is_inline) {
    return operation == 2 && format.wide && count <= 80 && count == Read32(wqe + 32);
  }
  if (operation == 1 && has_immediate) return false;
  return count == 1 && wqe[55] == 0 && Read32(wqe + 48) == Read32(wqe + 32);
}

bool ReceiveIsSound(const std::uint8_t* ring, std::uint32_t entries, std::uint32_t counter,
                    std::uint32_t announced, std::uint32_t max_segments) {
  const std::uint8_t* first = ring + 16 * (counter % entries);
  if ((first[15] & 0x40) == 0) return false;
  for (std::uint32_t i = 0; i < announced && i < max_segments && i < 3; ++i) {
    const std::uint8_t* descriptor = ring + 16 * ((counter + i) % entries);
    if ((descriptor[15] & 0x3F) != 0) return false;
    if ((descriptor[15] & 0x40) != 0 && Read16(descriptor + 8) != Read16(first + 8)) return false;
    if ((descriptor[15] & 0x80) != 0) return true;
  }
  return false;
}

bool CompletionIsSound(const std::uint8_t* cqe, unsigned phase) {
  const std::uint8_t flags = cqe[3];
  if ((flags & 1) != phase) return false;
  const unsigned operation = (flags >> 4) & 7;
  const bool has_immediate = (flags & 0x08) != 0;
  const bool unsolicited = (flags & 0x80) != 0;
  switch ((flags >> 1) & 3) {
    case 1:
      return operation <= 2 && !has_immediate && !unsolicited && AllZero(cqe + 12, cqe + 16);
    case 2:
      if (operation == 0) return !unsolicited;
      return operation == 2 && (has_immediate || (!unsolicited && cqe[2] != 0));
    default:
      return false;
  }
}

// ---- the same meaning ----

bool Same(const BufferDescriptor& a, const BufferDescriptor& b) {
  return a.length == b.length && a.lkey == b.lkey && a.address == b.address;
}

bool Same(const SendWork& a, const SendWork& b) {
  return a.request_id == b.request_id && a.operation == b.operation &&
         a.has_immediate == b.has_immediate && a.is_inline == b.is_inline &&
         a.completion_requested == b.completion_requested && a.hints == b.hints &&
         a.segment_count == b.segment_count && a.inline_bytes == b.inline_bytes &&
         a.address_handle == b.address_handle &&
         a.destination_queue_pair == b.destination_queue_pair && a.qkey == b.qkey &&
         a.immediate == b.immediate && a.remote.length == b.remote.length &&
         a.remote.rkey == b.remote.rkey && a.remote.address == b.remote.address &&
         Same(a.segments[0], b.segments[0]) && Same(a.segments[1], b.segments[1]) &&
         (a.inline_bytes == 0 || std::memcmp(a.inline_data, b.inline_data, a.inline_bytes) == 0);
}

bool Same(const ReceiveWork& a, const ReceiveWork& b) {
  return a.request_id == b.request_id && a.segment_count == b.segment_count &&
         Same(a.segments[0], b.segments[0]) && Same(a.segments[1], b.segments[1]) &&
         Same(a.segments[2], b.segments[2]);
}

bool Same(const Completion& a, const Completion& b) {
  return a.request_id == b.request_id && a.queue_pair == b.queue_pair && a.status == b.status &&
         a.queue == b.queue && a.operation == b.operation && a.has_immediate == b.has_immediate &&
         a.unsolicited == b.unsolicited && a.address_handle == b.address_handle &&
         a.source_queue_pair == b.source_queue_pair && a.immediate == b.immediate &&
         a.length == b.length && a.source_gid[0] == b.source_gid[0] &&
         a.source_gid[1] == b.source_gid[1];
}

constexpr char kDisagree[] = "the decoder and the plain reading of the format disagree";
constexpr char kRefusedAgain[] = "the encoding of an accepted entry is refused";
constexpr char kOtherMeaning[] = "the encoding of an accepted entry means something else";
constexpr char kOtherBytes[] = "two encodings of the same meaning differ";
constexpr char kLostBytes[] = "the encoding changes bytes that have a meaning";

// How many bytes of an entry have a meaning once it is accepted.
std::size_t MeaningfulBytes(const SendWork& work) {
  if (work.is_inline) {
    return (work.operation == Operation::kSend ? 32 : 48) + std::size_t{work.inline_bytes};
  }
  return work.operation == Operation::kSend ? 32 + 16 * std::size_t{work.segment_count} : 64;
}

}  // namespace

ImageVerdict CheckSendImage(const std::uint8_t* wqe, SendFormat format, unsigned phase) {
  SendWork work;
  const Malformed why = DecodeSend(wqe, format, phase, work);
  if ((why == Malformed::kNone) != SendIsSound(wqe, format, phase)) return {why, kDisagree};
  if (why != Malformed::kNone) return {why};
  alignas(8) std::uint8_t encoded[128];
  EncodeSend(work, format, phase, encoded);
  SendWork again;
  if (DecodeSend(encoded, format, phase, again) != Malformed::kNone) return {why, kRefusedAgain};
  if (!Same(work, again)) return {why, kOtherMeaning};
  alignas(8) std::uint8_t twice[128];
  EncodeSend(again, format, phase, twice);
  if (std::memcmp(encoded, twice, format.entry_bytes()) != 0) return {why, kOtherBytes};
  // The immediate of a request without one is the only gap.
  if (std::memcmp(wqe, encoded, 8) != 0 ||
      std::memcmp(wqe + 12, encoded + 12, MeaningfulBytes(work) - 12) != 0) {
    return {why, kLostBytes};
  }
  return {why};
}

ImageVerdict CheckReceiveImage(const std::uint8_t* ring, std::uint32_t entries,
                               std::uint32_t counter, std::uint32_t announced,
                               std::uint32_t max_segments) {
  ReceiveWork work;
  const Malformed why = DecodeReceive(ring, entries, counter, announced, max_segments, work);
  if ((why == Malformed::kNone) !=
      ReceiveIsSound(ring, entries, counter, announced, max_segments)) {
    return {why, kDisagree};
  }
  if (why != Malformed::kNone) return {why};
  alignas(8) std::uint8_t encoded[64] = {};
  EncodeReceive(work, encoded, entries, counter);
  ReceiveWork again;
  if (DecodeReceive(encoded, entries, counter, announced, max_segments, again) !=
      Malformed::kNone) {
    return {why, kRefusedAgain};
  }
  if (!Same(work, again)) return {why, kOtherMeaning};
  for (std::uint32_t i = 0; i < work.segment_count; ++i) {
    const std::size_t at = 16 * ((counter + i) % entries);
    // Request id and `first` of later descriptors may differ from what they were.
    if (std::memcmp(ring + at, encoded + at, 8) != 0 ||
        std::memcmp(ring + at + 10, encoded + at + 10, 5) != 0) {
      return {why, kLostBytes};
    }
  }
  return {why};
}

ImageVerdict CheckCompletionImage(const std::uint8_t* cqe, CqeSize size, unsigned phase) {
  Completion completion;
  const Malformed why = DecodeCompletion(cqe, size, phase, completion);
  if ((why == Malformed::kNone) != CompletionIsSound(cqe, phase)) return {why, kDisagree};
  if (why != Malformed::kNone) return {why};
  alignas(8) std::uint8_t encoded[32];
  EncodeCompletion(completion, size, phase, encoded);
  Completion again;
  if (DecodeCompletion(encoded, size, phase, again) != Malformed::kNone) {
    return {why, kRefusedAgain};
  }
  if (!Same(completion, again)) return {why, kOtherMeaning};
  alignas(8) std::uint8_t twice[32];
  EncodeCompletion(again, size, phase, twice);
  if (std::memcmp(encoded, twice, static_cast<std::size_t>(size)) != 0) return {why, kOtherBytes};
  if (std::memcmp(cqe, encoded, 12) != 0) return {why, kLostBytes};
  return {why};
}

}  // namespace drydock::fabric::efa_queue
