// Atomic operations on a peer's memory: a power of endpoints whose NIC has Capability::kAtomics.
//
// On EFA they are software: the target's CPU executes them while it reads its completion queue, one
// after the other. They are atomic with respect to each other on that endpoint, and to nothing
// else: not to writes, not to another NIC, not to the target's own threads or GPU (ofiwg/libfabric
// prov/efa/docs/efa_rdm_protocol_v4.md).

#ifndef DRYDOCK_FABRIC_ATOMICS_H_
#define DRYDOCK_FABRIC_ATOMICS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "drydock/fabric/capability.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric {

enum class AtomicType : std::uint8_t { kInt32, kUint32, kInt64, kUint64, kFloat, kDouble };

constexpr std::size_t SizeOf(AtomicType type) {
  const bool four =
      type == AtomicType::kInt32 || type == AtomicType::kUint32 || type == AtomicType::kFloat;
  return four ? 4 : 8;
}

enum class AtomicOperation : std::uint8_t {
  kMin,
  kMax,
  kSum,
  kBitOr,  // integers only, as the two below
  kBitAnd,
  kBitXor,
  kRead,         // fetching only: no operand
  kWrite,        // replaces
  kCompareSwap,  // replaces where the old value equals `compare`
};

// Applies `operation` to consecutive values at `target`, which is aligned to the type. The length
// of the operand, for kRead that of the result, divided by SizeOf(type) is their number; all
// buffers that are there have that length. Rights: the operand and `compare` need Access::kWrite
// here, the result Access::kRead; the target needs Access::kRemoteWrite, and kRemoteRead as well
// where values are fetched; for kRead it needs kRemoteRead alone.
struct AtomicRequest {
  AtomicOperation operation = AtomicOperation::kSum;
  AtomicType type = AtomicType::kUint64;
  LocalBuffer operand;                 // empty for kRead
  std::optional<LocalBuffer> compare;  // kCompareSwap only
  // Receives the values from before; always set for kRead and kCompareSwap.
  std::optional<LocalBuffer> result;
  RemoteBuffer target;
  Peer peer{};
  std::optional<Context> context;
};
static_assert(std::is_trivially_destructible_v<AtomicRequest>);

class Atomics {
 public:
  static constexpr PowerId kPower{"Atomics"};
  virtual ~Atomics() = default;

  // Completes with kind kAtomic. Errors of the post: as Endpoint's; kUnsupported: this operation on
  // this type; kInvalidArgument: a length is 0, differs, or is no multiple of the type; the target
  // is not aligned; a buffer is missing, or means nothing to this operation; kMessageTooLong: over
  // MaxAtomicBytes. Any other bad remote key or range arrives as a failed completion
  // (kRemoteAccess).
  [[nodiscard]] virtual ErrorCode Atomic(const AtomicRequest& request) = 0;

  // Most bytes of a buffer; 0: this operation on this type is not supported. Also 0 for kRead and
  // kCompareSwap without `fetching`: they always fetch.
  virtual std::size_t MaxAtomicBytes(AtomicOperation operation, AtomicType type,
                                     bool fetching) const = 0;
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_ATOMICS_H_
