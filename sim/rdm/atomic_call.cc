#include "drydock/sim/rdm/atomic_call.h"

#include <cstring>

#include "drydock/sim/rdm/atomic_execution.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Access;
using fabric::AtomicOperation;
using fabric::ErrorCode;

PacketKind KindOf(const fabric::AtomicRequest& request) {
  if (request.operation == AtomicOperation::kCompareSwap) return PacketKind::kCompareAtomic;
  return request.result.has_value() ? PacketKind::kFetchAtomic : PacketKind::kWriteAtomic;
}

bool AlwaysFetches(AtomicOperation operation) {
  return operation == AtomicOperation::kRead || operation == AtomicOperation::kCompareSwap;
}

// The fields that the operation wants are there, and no others; their lengths agree.
bool IsWellFormed(const fabric::AtomicRequest& request) {
  const bool reads = request.operation == AtomicOperation::kRead;
  const bool compares = request.operation == AtomicOperation::kCompareSwap;
  if (AlwaysFetches(request.operation) && !request.result.has_value()) return false;
  if (request.compare.has_value() != compares) return false;
  if (reads && request.operand.length_bytes != 0) return false;
  const std::size_t length = reads ? request.result->length_bytes : request.operand.length_bytes;
  const std::size_t size = fabric::SizeOf(request.type);
  if (length == 0 || length % size != 0 || request.target.address % size != 0) return false;
  if (request.result.has_value() && request.result->length_bytes != length) return false;
  return !compares || request.compare->length_bytes == length;
}

}  // namespace

std::size_t MaxAtomicOperand(AtomicOperation operation, fabric::AtomicType type, bool fetching,
                             std::size_t room) {
  if (!SupportsAtomic(operation, type) || (AlwaysFetches(operation) && !fetching)) return 0;
  const std::size_t size = fabric::SizeOf(type);
  const std::size_t operands = operation == AtomicOperation::kCompareSwap ? 2 : 1;
  return room / operands / size * size;
}

ErrorCode CheckAtomic(const fabric::AtomicRequest& request, const MemoryRegistry& memory,
                      std::size_t most_bytes) {
  if (!SupportsAtomic(request.operation, request.type)) return ErrorCode::kUnsupported;
  if (!IsWellFormed(request)) return ErrorCode::kInvalidArgument;
  const std::size_t length =
      request.result.has_value() ? request.result->length_bytes : request.operand.length_bytes;
  if (length > MaxAtomicOperand(request.operation, request.type, true, most_bytes)) {
    return ErrorCode::kMessageTooLong;
  }
  const bool allowed =
      memory.Allows(request.operand, Access::kWrite) &&
      (!request.compare.has_value() || memory.Allows(*request.compare, Access::kWrite)) &&
      (!request.result.has_value() || memory.Allows(*request.result, Access::kRead));
  return allowed ? ErrorCode::kOk : ErrorCode::kLocalAccess;
}

AtomicCall::AtomicCall(const Services& services, Peer& peer, const fabric::AtomicRequest& request,
                       std::uint32_t message)
    : ServedOperation(services, peer), request_(request), message_(message) {}

Blocked AtomicCall::Advance() {
  if (begun_) return Blocked::kNo;
  begun_ = true;
  const Draft draft = services().packets.Begin(peer(), {.kind = KindOf(request_),
                                                        .message = message_,
                                                        .reply = id(),
                                                        .length = length(),
                                                        .remote = request_.target,
                                                        .atomic = request_.operation,
                                                        .atomic_type = request_.type});
  services().packets.Post(draft, FillOperands(draft), id());
  return Blocked::kNo;
}

std::size_t AtomicCall::FillOperands(const Draft& draft) const {
  const std::size_t length = request_.operand.length_bytes;
  if (length == 0) return 0;
  std::memcpy(draft.payload.data(), request_.operand.data, length);
  if (!request_.compare.has_value()) return length;
  std::memcpy(draft.payload.data() + length, request_.compare->data, length);
  return 2 * length;
}

bool AtomicCall::OnPacket(const Packet& packet) {
  if (!begun_ || answered_) return false;
  const PacketHeader& header = packet.header;
  if (header.kind == PacketKind::kPeerError) {
    outcome_ = FromPeerError(header.tag);
  } else if (header.kind == PacketKind::kAtomicResponse && request_.result.has_value() &&
             header.length == length()) {
    if (services().memory.Allows(*request_.result, Access::kRead)) {
      std::memcpy(request_.result->data, packet.payload.data(), packet.payload.size());
    } else {
      outcome_ = {ErrorCode::kLocalAccess, kErrorReceiveCopy};
    }
  } else if (header.kind != PacketKind::kReceipt || request_.result.has_value()) {
    return false;
  }
  answered_ = true;
  return true;
}

void AtomicCall::OnPacketSent(const Outcome& outcome) {
  sent_ = true;
  if (!answered_ && outcome_.ok()) outcome_ = outcome;
}

void AtomicCall::OnPeerGone(const Outcome& outcome) {
  if (!answered_ && outcome_.ok()) outcome_ = outcome;
}

bool AtomicCall::Done() const { return sent_ && (answered_ || !outcome_.ok()); }

void AtomicCall::Report() {
  services().reporter.Ended(fabric::OperationKind::kAtomic, request_.context, outcome_,
                            request_.result.has_value());
}

}  // namespace drydock::sim::rdm
