#include "drydock/sim/rdm/atomic_execution.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::AtomicOperation;
using fabric::AtomicType;

template <typename T>
constexpr AtomicType TypeOf() {
  if constexpr (std::is_same_v<T, std::int32_t>) return AtomicType::kInt32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return AtomicType::kUint32;
  if constexpr (std::is_same_v<T, std::int64_t>) return AtomicType::kInt64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return AtomicType::kUint64;
  if constexpr (std::is_same_v<T, float>) return AtomicType::kFloat;
  if constexpr (std::is_same_v<T, double>) return AtomicType::kDouble;
}

template <typename T>
std::span<std::byte> BytesOf(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

// The value afterwards; checks that the one from before is told.
template <typename T>
T After(AtomicOperation operation, T old, T operand, T compare = T{}) {
  std::vector<T> target{old}, given{operand}, expected{compare}, before{T{}};
  const bool compares = operation == AtomicOperation::kCompareSwap;
  const bool reads = operation == AtomicOperation::kRead;
  ExecuteAtomic(operation, TypeOf<T>(), BytesOf(target),
                reads ? std::span<std::byte>() : BytesOf(given),
                compares ? BytesOf(expected) : std::span<std::byte>(), BytesOf(before));
  EXPECT_EQ(before[0], old);
  return target[0];
}

template <typename T>
class AtomicExecutionTest : public ::testing::Test {};
using AllTypes =
    ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(AtomicExecutionTest, AllTypes);

TYPED_TEST(AtomicExecutionTest, EveryOperationOnNumbers) {
  using T = TypeParam;
  EXPECT_EQ(After<T>(AtomicOperation::kMin, 5, 3), T{3});
  EXPECT_EQ(After<T>(AtomicOperation::kMin, 3, 5), T{3});
  EXPECT_EQ(After<T>(AtomicOperation::kMax, 5, 3), T{5});
  EXPECT_EQ(After<T>(AtomicOperation::kMax, 3, 5), T{5});
  EXPECT_EQ(After<T>(AtomicOperation::kSum, 40, 2), T{42});
  EXPECT_EQ(After<T>(AtomicOperation::kRead, 40, 2), T{40});
  EXPECT_EQ(After<T>(AtomicOperation::kWrite, 40, 2), T{2});
  EXPECT_EQ(After<T>(AtomicOperation::kCompareSwap, 40, 2, 40), T{2});
  EXPECT_EQ(After<T>(AtomicOperation::kCompareSwap, 40, 2, 41), T{40});
}

TYPED_TEST(AtomicExecutionTest, BitsAreForIntegers) {
  using T = TypeParam;
  for (const AtomicOperation operation :
       {AtomicOperation::kBitOr, AtomicOperation::kBitAnd, AtomicOperation::kBitXor}) {
    EXPECT_EQ(SupportsAtomic(operation, TypeOf<T>()), std::is_integral_v<T>);
  }
  if constexpr (std::is_integral_v<T>) {
    EXPECT_EQ(After<T>(AtomicOperation::kBitOr, 12, 10), T{14});
    EXPECT_EQ(After<T>(AtomicOperation::kBitAnd, 12, 10), T{8});
    EXPECT_EQ(After<T>(AtomicOperation::kBitXor, 12, 10), T{6});
  }
}

TYPED_TEST(AtomicExecutionTest, ExtremesCompareAndWrapAround) {
  using T = TypeParam;
  constexpr T kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::lowest();
  EXPECT_EQ(After<T>(AtomicOperation::kMax, kLeast, kMost), kMost);
  EXPECT_EQ(After<T>(AtomicOperation::kMin, kMost, kLeast), kLeast);
  if constexpr (std::is_integral_v<T>) {
    EXPECT_EQ(After<T>(AtomicOperation::kSum, kMost, 1), kLeast);
  }
}

TEST(AtomicExecution, EachValueIsItsOwn) {
  std::vector<std::uint32_t> target{1, 2, 3}, operand{10, 20, 30}, before(3);
  ExecuteAtomic(AtomicOperation::kSum, AtomicType::kUint32, BytesOf(target), BytesOf(operand), {},
                BytesOf(before));
  EXPECT_EQ(target, (std::vector<std::uint32_t>{11, 22, 33}));
  EXPECT_EQ(before, (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(AtomicExecution, ValuesOutsideOfTheEnumsAreNotSupported) {
  EXPECT_FALSE(SupportsAtomic(static_cast<AtomicOperation>(9), AtomicType::kInt32));
  EXPECT_FALSE(SupportsAtomic(AtomicOperation::kSum, static_cast<AtomicType>(6)));
  EXPECT_FALSE(SupportsAtomic(static_cast<AtomicOperation>(255), static_cast<AtomicType>(255)));
}

}  // namespace
}  // namespace drydock::sim::rdm
