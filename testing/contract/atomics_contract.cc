// Atomic operations on a peer's memory.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "drydock/fabric/atomics.h"
#include "drydock/testing/contract/contract_test.h"

namespace drydock::contract {
namespace {

using fabric::Access;
using fabric::AtomicOperation;
using fabric::AtomicRequest;
using fabric::Atomics;
using fabric::AtomicType;
using fabric::Capability;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;
using fabric::RemoteBuffer;
using enum fabric::AtomicOperation;

const Needs kNeeds("AtomicsContract", {Capability::kAtomics});

template <typename T>
constexpr AtomicType kTypeOf = std::is_same_v<T, std::int32_t>    ? AtomicType::kInt32
                               : std::is_same_v<T, std::uint32_t> ? AtomicType::kUint32
                               : std::is_same_v<T, std::int64_t>  ? AtomicType::kInt64
                               : std::is_same_v<T, std::uint64_t> ? AtomicType::kUint64
                               : std::is_same_v<T, float>         ? AtomicType::kFloat
                                                                  : AtomicType::kDouble;

constexpr AtomicOperation kArithmetic[] = {kMin, kMax, kSum, kWrite};
constexpr AtomicOperation kBits[] = {kBitOr, kBitAnd, kBitXor};

// The values at the target afterwards.
template <typename T>
T Expected(AtomicOperation operation, T old, T operand, T compare) {
  if constexpr (std::is_integral_v<T>) {
    if (operation == kBitOr) return old | operand;
    if (operation == kBitAnd) return old & operand;
    if (operation == kBitXor) return old ^ operand;
  }
  if (operation == kMin) return std::min(old, operand);
  if (operation == kMax) return std::max(old, operand);
  if (operation == kSum) return static_cast<T>(old + operand);
  if (operation == kWrite) return operand;
  if (operation == kCompareSwap) return old == compare ? operand : old;
  return old;
}

class AtomicsContract : public ContractTest {
 protected:
  // Where the buffers of a request lie.
  static constexpr std::size_t kOperand = 0, kCompare = 20000, kResult = 40000, kTarget = 60000;

  Atomics& power() { return *initiator_.endpoint->power<Atomics>(); }

  template <typename T>
  static void Put(Side& side, std::size_t offset, const std::vector<T>& values) {
    std::memcpy(side.memory.data() + offset, values.data(), values.size() * sizeof(T));
  }
  template <typename T>
  static std::vector<T> Get(const Side& side, std::size_t offset, std::size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), side.memory.data() + offset, count * sizeof(T));
    return values;
  }

  // The request of an operation on `count` values, with the buffers that it wants.
  template <typename T>
  AtomicRequest RequestOf(AtomicOperation operation, std::size_t count, bool fetching,
                          std::uint64_t context) const {
    const std::size_t length = count * sizeof(T);
    AtomicRequest request{.operation = operation,
                          .type = kTypeOf<T>,
                          .target = target_.Remote(kTarget),
                          .peer = initiator_.peer,
                          .context = Context{context}};
    if (operation != kRead) request.operand = initiator_.Local(kOperand, length);
    if (operation == kCompareSwap) request.compare = initiator_.Local(kCompare, length);
    if (fetching) request.result = initiator_.Local(kResult, length);
    return request;
  }
  ErrorCode PostAtomic(const AtomicRequest& request) {
    return Post([&] { return power().Atomic(request); });
  }

  // Executes one operation on some values and compares all that it leaves behind.
  template <typename T>
  void ExpectOperation(AtomicOperation operation, bool fetching) {
    SCOPED_TRACE(static_cast<int>(operation) * 10 + (fetching ? 1 : 0));
    const std::vector<T> old = {1, 9, 100, 0, 77}, operand = {5, 3, 100, 12, 1};
    const std::vector<T> compare = {1, 8, 100, 12, 77};
    ASSERT_GE(power().MaxAtomicBytes(operation, kTypeOf<T>, fetching), old.size() * sizeof(T));
    Put(target_, kTarget, old);
    Put(initiator_, kOperand, operand);
    Put(initiator_, kCompare, compare);
    Put(initiator_, kResult, std::vector<T>(old.size(), T{123}));
    ASSERT_EQ(PostAtomic(RequestOf<T>(operation, old.size(), fetching, 1)), ErrorCode::kOk);
    const Completion done = Take(initiator_, 1);
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.kind, OperationKind::kAtomic);
    std::vector<T> expected;
    for (std::size_t i = 0; i < old.size(); ++i) {
      expected.push_back(Expected(operation, old[i], operand[i], compare[i]));
    }
    const auto arrived = [&] { return Get<T>(target_, kTarget, old.size()) == expected; };
    EXPECT_TRUE(PumpUntil(arrived));
    EXPECT_EQ(Get<T>(initiator_, kResult, old.size()),
              fetching ? old : std::vector<T>(old.size(), T{123}));
    EXPECT_EQ(Get<T>(initiator_, kOperand, old.size()), operand);
  }

  // Everything that this type can do.
  template <typename T>
  void ExpectAllOperations() {
    for (const bool fetching : {false, true}) {
      for (const AtomicOperation operation : kArithmetic) ExpectOperation<T>(operation, fetching);
      if constexpr (std::is_integral_v<T>) {
        for (const AtomicOperation operation : kBits) ExpectOperation<T>(operation, fetching);
      }
    }
    ExpectOperation<T>(kRead, true);
    ExpectOperation<T>(kCompareSwap, true);
  }

  // Refused by the post, or by the target where that is told; the target's memory is as it was.
  void ExpectRefused(const AtomicRequest& request, ErrorCode told) {
    const std::vector<std::byte> then(target_.memory.begin(), target_.memory.end());
    const ErrorCode posted = PostAtomic(request);
    if (posted != ErrorCode::kOk) {
      EXPECT_EQ(posted, told);
    } else if (Has(Trait::kRemoteErrors)) {
      EXPECT_EQ(Take(initiator_, 1).error, told);
    }
    PumpQuietly();
    EXPECT_TRUE(std::ranges::equal(then, target_.memory));
    EXPECT_TRUE(target_.completions.empty());
    initiator_.completions.clear();
  }
};

TEST_F(AtomicsContract, Int32KnowsEveryOperation) { ExpectAllOperations<std::int32_t>(); }
TEST_F(AtomicsContract, Uint32KnowsEveryOperation) { ExpectAllOperations<std::uint32_t>(); }
TEST_F(AtomicsContract, Int64KnowsEveryOperation) { ExpectAllOperations<std::int64_t>(); }
TEST_F(AtomicsContract, Uint64KnowsEveryOperation) { ExpectAllOperations<std::uint64_t>(); }
TEST_F(AtomicsContract, FloatKnowsEveryOperationButThoseOnBits) { ExpectAllOperations<float>(); }
TEST_F(AtomicsContract, DoubleKnowsEveryOperationButThoseOnBits) { ExpectAllOperations<double>(); }

TEST_F(AtomicsContract, FloatsHaveNoBits) {
  for (const AtomicOperation operation : kBits) {
    for (const bool fetching : {false, true}) {
      EXPECT_EQ(power().MaxAtomicBytes(operation, AtomicType::kFloat, fetching), 0u);
      EXPECT_EQ(power().MaxAtomicBytes(operation, AtomicType::kDouble, fetching), 0u);
      EXPECT_EQ(power().Atomic(RequestOf<float>(operation, 1, fetching, 1)),
                ErrorCode::kUnsupported);
    }
  }
}

// The sign counts where there is one, and sums wrap around.
TEST_F(AtomicsContract, NumbersAreOfTheirType) {
  Put<std::int32_t>(target_, kTarget, {-5, std::numeric_limits<std::int32_t>::max()});
  Put<std::int32_t>(initiator_, kOperand, {3, 1});
  ASSERT_EQ(PostAtomic(RequestOf<std::int32_t>(kMin, 1, true, 1)), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  EXPECT_EQ(Get<std::int32_t>(target_, kTarget, 1)[0], -5);
  ASSERT_EQ(PostAtomic(RequestOf<std::uint32_t>(kMin, 1, true, 2)), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 2).ok());
  EXPECT_EQ(Get<std::uint32_t>(target_, kTarget, 1)[0], 3u);
  Put<std::uint64_t>(target_, kTarget, {std::numeric_limits<std::uint64_t>::max()});
  Put<std::uint64_t>(initiator_, kOperand, {2});
  ASSERT_EQ(PostAtomic(RequestOf<std::uint64_t>(kSum, 1, true, 3)), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 3).ok());
  EXPECT_EQ(Get<std::uint64_t>(target_, kTarget, 1)[0], 1u);
}

TEST_F(AtomicsContract, MostThatIsToldIsTaken) {
  const std::size_t most = power().MaxAtomicBytes(kSum, AtomicType::kUint64, false);
  ASSERT_LE(most, 20000u);
  const std::size_t count = most / sizeof(std::uint64_t);
  Put(target_, kTarget, std::vector<std::uint64_t>(count, 1));
  Put(initiator_, kOperand, std::vector<std::uint64_t>(count, 2));
  ASSERT_EQ(PostAtomic(RequestOf<std::uint64_t>(kSum, count, false, 1)), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  const std::vector<std::uint64_t> expected(count, 3);
  EXPECT_TRUE(PumpUntil([&] { return Get<std::uint64_t>(target_, kTarget, count) == expected; }));
  AtomicRequest over = RequestOf<std::uint64_t>(kSum, count + 1, false, 2);
  EXPECT_EQ(power().Atomic(over), ErrorCode::kMessageTooLong);
}

// Two initiators, one counter: no increment is lost.
TEST_F(AtomicsContract, OperationsOfTwoInitiatorsDoNotMix) {
  OpenThird();
  third_.peer = third_.peers->Insert(target_.endpoint->address()).value();
  ASSERT_TRUE(target_.peers->Insert(third_.endpoint->address()).ok());
  constexpr std::uint64_t kRounds = 100;
  Put<std::uint64_t>(initiator_, kOperand, {1});
  Put<std::uint64_t>(third_, kOperand, {1000});
  AtomicRequest of_third = RequestOf<std::uint64_t>(kSum, 1, false, 0);
  of_third.operand = third_.Local(kOperand, 8);
  of_third.peer = third_.peer;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    of_third.context = Context{i};
    ASSERT_EQ(PostAtomic(RequestOf<std::uint64_t>(kSum, 1, false, i)), ErrorCode::kOk);
    ASSERT_EQ(Post([&] { return third_.endpoint->power<Atomics>()->Atomic(of_third); }),
              ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(Take(initiator_, i).ok());
    EXPECT_TRUE(Take(third_, i).ok());
  }
  EXPECT_TRUE(
      PumpUntil([&] { return Get<std::uint64_t>(target_, kTarget, 1)[0] == kRounds * 1001; }));
}

// The values that are fetched are those between which the others happened: each once.
TEST_F(AtomicsContract, FetchedValuesAreAllDifferent) {
  constexpr std::uint64_t kRounds = 60;
  Put<std::uint64_t>(initiator_, kOperand, {1});
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    AtomicRequest request = RequestOf<std::uint64_t>(kSum, 1, true, i);
    request.result = initiator_.Local(kResult + i * 8, 8);
    ASSERT_EQ(PostAtomic(request), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < kRounds; ++i) EXPECT_TRUE(Take(initiator_, i).ok());
  std::vector<std::uint64_t> seen = Get<std::uint64_t>(initiator_, kResult, kRounds);
  std::sort(seen.begin(), seen.end());
  for (std::uint64_t i = 0; i < kRounds; ++i) EXPECT_EQ(seen[i], i);
}

TEST_F(AtomicsContract, TargetNoticesNothing) {
  ASSERT_EQ(Recv(0, 100, 5), ErrorCode::kOk);
  ASSERT_EQ(PostAtomic(RequestOf<std::uint64_t>(kSum, 1, true, 1)), ErrorCode::kOk);
  EXPECT_TRUE(Take(initiator_, 1).ok());
  PumpQuietly();
  EXPECT_TRUE(target_.completions.empty());
}

TEST_F(AtomicsContract, SuccessWithoutContextIsSilent) {
  Put<std::uint64_t>(initiator_, kOperand, {7});
  AtomicRequest request = RequestOf<std::uint64_t>(kSum, 1, false, 1);
  request.context = std::nullopt;
  ASSERT_EQ(PostAtomic(request), ErrorCode::kOk);
  EXPECT_TRUE(PumpUntil([&] { return Get<std::uint64_t>(target_, kTarget, 1)[0] == 7; }));
  PumpQuietly();
  EXPECT_TRUE(initiator_.completions.empty());
}

TEST_F(AtomicsContract, SlotsAreFreedByReading) {
  const std::size_t rounds = 2 * limits().send_queue_depth;
  Put<std::uint64_t>(initiator_, kOperand, {1});
  for (std::size_t i = 0; i < rounds; ++i) {
    ASSERT_EQ(PostAtomic(RequestOf<std::uint64_t>(kSum, 1, false, i)), ErrorCode::kOk) << i;
  }
  for (std::size_t i = 0; i < rounds; ++i) EXPECT_TRUE(Take(initiator_, i).ok());
  EXPECT_TRUE(PumpUntil([&] { return Get<std::uint64_t>(target_, kTarget, 1)[0] == rounds; }));
}

TEST_F(AtomicsContract, NextOneWorksAfterARefusedOne) {
  Put<std::uint64_t>(initiator_, kOperand, {7});
  AtomicRequest guess = RequestOf<std::uint64_t>(kSum, 1, false, 1);
  guess.target.key ^= 0x155;
  ExpectRefused(guess, ErrorCode::kRemoteAccess);
  ASSERT_EQ(PostAtomic(RequestOf<std::uint64_t>(kSum, 1, false, 2)), ErrorCode::kOk);
  EXPECT_TRUE(PumpUntil([&] { return Get<std::uint64_t>(target_, kTarget, 1)[0] == 7; }));
}

TEST_F(AtomicsContract, FetchNeedsTheKey) {
  AtomicRequest guess = RequestOf<std::uint64_t>(kSum, 1, true, 1);
  guess.target.key ^= 0x155;
  ExpectRefused(guess, ErrorCode::kRemoteAccess);
}

TEST_F(AtomicsContract, RangeEndsWithTheRegion) {
  auto region = Register(target_, 4096, 4096, Access::kAll);
  Put<std::uint64_t>(initiator_, kOperand, {1, 1});
  AtomicRequest request = RequestOf<std::uint64_t>(kSum, 2, false, 1);
  request.target = region->remote();
  request.target.address += 4088;
  ExpectRefused(request, ErrorCode::kRemoteAccess);
}

// Address plus length is small again: no check may be fooled by that.
TEST_F(AtomicsContract, RangeThatWrapsAroundIsRefused) {
  Put<std::uint64_t>(initiator_, kOperand, {1, 1});
  for (const bool fetching : {false, true}) {
    AtomicRequest request = RequestOf<std::uint64_t>(kSum, 2, fetching, 1);
    request.target.address = ~std::uint64_t{7};
    ExpectRefused(request, ErrorCode::kRemoteAccess);
  }
}

TEST_F(AtomicsContract, ClosedRegionIsRefused) {
  auto region = Register(target_, 4096, 4096, Access::kAll);
  AtomicRequest request = RequestOf<std::uint64_t>(kWrite, 1, false, 1);
  request.target = region->remote();
  region.reset();
  Put<std::uint64_t>(initiator_, kOperand, {99});
  ExpectRefused(request, ErrorCode::kRemoteAccess);
}

TEST_F(AtomicsContract, TargetNeedsTheRightToBeWritten) {
  auto region = Register(target_, 4096, 4096, Access::kLocal | Access::kRemoteRead);
  AtomicRequest request = RequestOf<std::uint64_t>(kWrite, 1, false, 1);
  request.target = region->remote();
  Put<std::uint64_t>(initiator_, kOperand, {99});
  ExpectRefused(request, ErrorCode::kRemoteAccess);
}

TEST_F(AtomicsContract, TargetMustBeAligned) {
  AtomicRequest request = RequestOf<std::uint64_t>(kWrite, 1, false, 1);
  request.target.address += 4;
  Put<std::uint64_t>(initiator_, kOperand, {99});
  ExpectRefused(request, ErrorCode::kInvalidArgument);
  Put<std::uint32_t>(initiator_, kOperand, {99});
  request = RequestOf<std::uint32_t>(kWrite, 1, false, 2);
  request.target.address += 4;
  ASSERT_EQ(PostAtomic(request), ErrorCode::kOk);
  EXPECT_TRUE(PumpUntil([&] { return Get<std::uint32_t>(target_, kTarget + 4, 1)[0] == 99; }));
}

TEST_F(AtomicsContract, NothingIsNoOperand) {
  EXPECT_EQ(power().Atomic(RequestOf<std::uint64_t>(kSum, 0, false, 1)),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(power().Atomic(RequestOf<std::uint64_t>(kRead, 0, true, 1)),
            ErrorCode::kInvalidArgument);
}

TEST_F(AtomicsContract, LengthsMustFit) {
  AtomicRequest request = RequestOf<std::uint64_t>(kSum, 2, true, 1);
  request.result = initiator_.Local(kResult, 8);
  EXPECT_EQ(power().Atomic(request), ErrorCode::kInvalidArgument);
  request = RequestOf<std::uint64_t>(kCompareSwap, 2, true, 1);
  request.compare = initiator_.Local(kCompare, 8);
  EXPECT_EQ(power().Atomic(request), ErrorCode::kInvalidArgument);
  request = RequestOf<std::uint64_t>(kSum, 1, false, 1);
  request.operand.length_bytes = 12;  // one and a half
  EXPECT_EQ(power().Atomic(request), ErrorCode::kInvalidArgument);
}

TEST_F(AtomicsContract, WhatAnOperationWantsMustBeThere) {
  EXPECT_EQ(power().Atomic(RequestOf<std::uint64_t>(kRead, 1, false, 1)),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(power().Atomic(RequestOf<std::uint64_t>(kCompareSwap, 1, false, 1)),
            ErrorCode::kInvalidArgument);
  AtomicRequest request = RequestOf<std::uint64_t>(kCompareSwap, 1, true, 1);
  request.compare = std::nullopt;
  EXPECT_EQ(power().Atomic(request), ErrorCode::kInvalidArgument);
}

TEST_F(AtomicsContract, UnknownPeerIsRefused) {
  AtomicRequest request = RequestOf<std::uint64_t>(kSum, 1, false, 1);
  request.peer = fabric::Peer{12345};
  EXPECT_EQ(power().Atomic(request), ErrorCode::kUnknownPeer);
}

TEST_F(AtomicsContract, ClosedEndpointPostsNothing) {
  Atomics& atomics = power();
  EXPECT_THAT(initiator_.endpoint->Close(), testing_matchers::IsOk());
  EXPECT_EQ(atomics.Atomic(RequestOf<std::uint64_t>(kSum, 1, false, 1)), ErrorCode::kClosed);
}

}  // namespace
}  // namespace drydock::contract
