#include <rdma/fi_atomic.h>

#include "drydock/fabric/libfabric/atomic_limits.h"
#include "drydock/fabric/libfabric/libfabric_endpoint.h"

namespace drydock::fabric::libfabric {
namespace {

constexpr AtomicOperation kAllOperations[] = {
    AtomicOperation::kMin,   AtomicOperation::kMax,    AtomicOperation::kSum,
    AtomicOperation::kBitOr, AtomicOperation::kBitAnd, AtomicOperation::kBitXor,
    AtomicOperation::kRead,  AtomicOperation::kWrite,  AtomicOperation::kCompareSwap};
constexpr AtomicType kAllTypes[] = {AtomicType::kInt32,  AtomicType::kUint32, AtomicType::kInt64,
                                    AtomicType::kUint64, AtomicType::kFloat,  AtomicType::kDouble};

bool HasOperand(AtomicOperation operation) { return operation != AtomicOperation::kRead; }
bool Fetches(const AtomicRequest& request) { return request.result.has_value(); }

// The length that all of a request's buffers must have.
std::size_t LengthOf(const AtomicRequest& request) {
  if (HasOperand(request.operation)) return request.operand.length_bytes;
  return request.result.has_value() ? request.result->length_bytes : 0;
}

// Whether the buffers are those that the operation wants.
bool IsWellFormed(const AtomicRequest& request) {
  const std::size_t length = LengthOf(request);
  const bool swaps = request.operation == AtomicOperation::kCompareSwap;
  const bool must_fetch = swaps || request.operation == AtomicOperation::kRead;
  if (request.compare.has_value() != swaps || (must_fetch && !Fetches(request))) return false;
  if (!HasOperand(request.operation) && request.operand.length_bytes != 0) return false;
  if (swaps && request.compare->length_bytes != length) return false;
  if (Fetches(request) && request.result->length_bytes != length) return false;
  const std::size_t size = SizeOf(request.type);
  return length != 0 && length % size == 0 && request.target.address % size == 0;
}

// A buffer as the library's atomics name it: in values, not in bytes.
struct Values {
  Values(const LocalBuffer& buffer, AtomicType type)
      : ioc{buffer.data, buffer.length_bytes / SizeOf(type)},
        descriptor(reinterpret_cast<void*>(buffer.local_key)) {}

  fi_ioc ioc;
  void* descriptor;
};

// fi_atomicvalid and its kin; 0 when they refuse.
std::size_t MostValues(fid_ep* endpoint, AtomicOperation operation, AtomicType type,
                       bool fetching) {
  std::size_t count = 0;
  const fi_op op = ToLibfabric(operation);
  const fi_datatype datatype = ToLibfabric(type);
  int result;
  if (operation == AtomicOperation::kCompareSwap) {
    if (!fetching) return 0;
    result = fi_compare_atomicvalid(endpoint, datatype, op, &count);
  } else if (fetching) {
    result = fi_fetch_atomicvalid(endpoint, datatype, op, &count);
  } else if (operation == AtomicOperation::kRead) {
    return 0;
  } else {
    result = fi_atomicvalid(endpoint, datatype, op, &count);
  }
  return result == 0 ? count : 0;
}

}  // namespace

fi_op ToLibfabric(AtomicOperation operation) {
  switch (operation) {
    case AtomicOperation::kMin:
      return FI_MIN;
    case AtomicOperation::kMax:
      return FI_MAX;
    case AtomicOperation::kSum:
      return FI_SUM;
    case AtomicOperation::kBitOr:
      return FI_BOR;
    case AtomicOperation::kBitAnd:
      return FI_BAND;
    case AtomicOperation::kBitXor:
      return FI_BXOR;
    case AtomicOperation::kRead:
      return FI_ATOMIC_READ;
    case AtomicOperation::kWrite:
      return FI_ATOMIC_WRITE;
    case AtomicOperation::kCompareSwap:
      return FI_CSWAP;
  }
  return static_cast<fi_op>(FI_ATOMIC_OP_LAST);  // another enumeration since libfabric 2.0
}

fi_datatype ToLibfabric(AtomicType type) {
  switch (type) {
    case AtomicType::kInt32:
      return FI_INT32;
    case AtomicType::kUint32:
      return FI_UINT32;
    case AtomicType::kInt64:
      return FI_INT64;
    case AtomicType::kUint64:
      return FI_UINT64;
    case AtomicType::kFloat:
      return FI_FLOAT;
    case AtomicType::kDouble:
      return FI_DOUBLE;
  }
  return static_cast<fi_datatype>(FI_DATATYPE_LAST);  // as above
}

AtomicLimits::AtomicLimits(fid_ep* endpoint) {
  for (const AtomicOperation operation : kAllOperations) {
    for (const AtomicType type : kAllTypes) {
      for (const bool fetching : {false, true}) {
        most_[Index(operation, type, fetching)] =
            MostValues(endpoint, operation, type, fetching) * SizeOf(type);
      }
    }
  }
}

std::size_t LibfabricEndpoint::MaxAtomicBytes(AtomicOperation operation, AtomicType type,
                                              bool fetching) const {
  return atomic_limits_->Most(operation, type, fetching);
}

ErrorCode LibfabricEndpoint::Check(const AtomicRequest& request) const {
  if (peers_->Find(request.peer) == FI_ADDR_UNSPEC) return ErrorCode::kUnknownPeer;
  if (!IsWellFormed(request)) return ErrorCode::kInvalidArgument;
  const std::size_t most = MaxAtomicBytes(request.operation, request.type, Fetches(request));
  if (most == 0) return ErrorCode::kUnsupported;
  const std::size_t length = LengthOf(request);
  if (length > most) return ErrorCode::kMessageTooLong;
  return WrapsAround(request.target, length) ? ErrorCode::kRemoteAccess : ErrorCode::kOk;
}

ssize_t LibfabricEndpoint::PostOne(const AtomicRequest& request, void* slot, std::uint64_t flags) {
  // Providers read an operand of every operation, or do not, as they like: a read gets its result's
  // memory for one.
  const LocalBuffer& given = HasOperand(request.operation) ? request.operand : *request.result;
  Values operand(given, request.type);
  const fi_rma_ioc target{request.target.address, operand.ioc.count, request.target.key};
  const fi_msg_atomic message{.msg_iov = &operand.ioc,
                              .desc = &operand.descriptor,
                              .iov_count = 1,
                              .addr = peers_->Find(request.peer),
                              .rma_iov = &target,
                              .rma_iov_count = 1,
                              .datatype = ToLibfabric(request.type),
                              .op = ToLibfabric(request.operation),
                              .context = slot};
  if (!Fetches(request)) return fi_atomicmsg(endpoint_.get(), &message, flags);
  Values result(*request.result, request.type);
  if (!request.compare.has_value()) {
    return fi_fetch_atomicmsg(endpoint_.get(), &message, &result.ioc, &result.descriptor, 1, flags);
  }
  Values compare(*request.compare, request.type);
  return fi_compare_atomicmsg(endpoint_.get(), &message, &compare.ioc, &compare.descriptor, 1,
                              &result.ioc, &result.descriptor, 1, flags);
}

}  // namespace drydock::fabric::libfabric
