#include "drydock/sim/rdm/atomic_execution.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace drydock::sim::rdm {
namespace {

using fabric::AtomicOperation;
using fabric::AtomicType;

// The memory need not hold objects of the type: bytes in, bytes out.
template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(
        static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

template <typename T>
T Bits(AtomicOperation operation, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (operation == AtomicOperation::kBitOr) return static_cast<T>(a | b);
    if (operation == AtomicOperation::kBitAnd) return static_cast<T>(a & b);
    return static_cast<T>(a ^ b);
  } else {
    return a;  // excluded by SupportsAtomic
  }
}

// The new value. `operand` is meaningless for kRead, `compare` for all but kCompareSwap.
template <typename T>
T Apply(AtomicOperation operation, T old, T operand, T compare) {
  switch (operation) {
    case AtomicOperation::kMin:
      return std::min(old, operand);
    case AtomicOperation::kMax:
      return std::max(old, operand);
    case AtomicOperation::kSum:
      return Sum(old, operand);
    case AtomicOperation::kRead:
      return old;
    case AtomicOperation::kWrite:
      return operand;
    case AtomicOperation::kCompareSwap:
      return old == compare ? operand : old;
    default:
      return Bits(operation, old, operand);
  }
}

template <typename T>
void ExecuteAs(AtomicOperation operation, std::span<std::byte> target,
               std::span<const std::byte> operand, std::span<const std::byte> compare,
               std::span<std::byte> before) {
  for (std::size_t at = 0; at < target.size(); at += sizeof(T)) {
    const T old = Load<T>(&target[at]);
    const T given = operand.empty() ? T{} : Load<T>(&operand[at]);
    const T expected = compare.empty() ? T{} : Load<T>(&compare[at]);
    const T now = Apply(operation, old, given, expected);
    std::memcpy(&before[at], &old, sizeof(T));
    std::memcpy(&target[at], &now, sizeof(T));
  }
}

bool IsBitwise(AtomicOperation operation) {
  return operation == AtomicOperation::kBitOr || operation == AtomicOperation::kBitAnd ||
         operation == AtomicOperation::kBitXor;
}

}  // namespace

bool SupportsAtomic(AtomicOperation operation, AtomicType type) {
  if (operation > AtomicOperation::kCompareSwap || type > AtomicType::kDouble) return false;
  const bool integer = type != AtomicType::kFloat && type != AtomicType::kDouble;
  return integer || !IsBitwise(operation);
}

void ExecuteAtomic(AtomicOperation operation, AtomicType type, std::span<std::byte> target,
                   std::span<const std::byte> operand, std::span<const std::byte> compare,
                   std::span<std::byte> before) {
  switch (type) {
    case AtomicType::kInt32:
      return ExecuteAs<std::int32_t>(operation, target, operand, compare, before);
    case AtomicType::kUint32:
      return ExecuteAs<std::uint32_t>(operation, target, operand, compare, before);
    case AtomicType::kInt64:
      return ExecuteAs<std::int64_t>(operation, target, operand, compare, before);
    case AtomicType::kUint64:
      return ExecuteAs<std::uint64_t>(operation, target, operand, compare, before);
    case AtomicType::kFloat:
      return ExecuteAs<float>(operation, target, operand, compare, before);
    case AtomicType::kDouble:
      return ExecuteAs<double>(operation, target, operand, compare, before);
  }
}

}  // namespace drydock::sim::rdm
