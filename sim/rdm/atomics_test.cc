// Atomics between machines: every operation on every type, in order with messages, executed one
// after the other.

#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using namespace std::chrono_literals;
using fabric::Access;
using fabric::AtomicOperation;
using fabric::AtomicRequest;
using fabric::AtomicType;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

constexpr AtomicType kTypes[] = {AtomicType::kInt32,  AtomicType::kUint32, AtomicType::kInt64,
                                 AtomicType::kUint64, AtomicType::kFloat,  AtomicType::kDouble};
constexpr AtomicOperation kOperations[] = {
    AtomicOperation::kMin,   AtomicOperation::kMax,    AtomicOperation::kSum,
    AtomicOperation::kBitOr, AtomicOperation::kBitAnd, AtomicOperation::kBitXor,
    AtomicOperation::kRead,  AtomicOperation::kWrite,  AtomicOperation::kCompareSwap};

bool IsBitwise(AtomicOperation operation) {
  return operation >= AtomicOperation::kBitOr && operation <= AtomicOperation::kBitXor;
}

// `value` as a type stores it.
void Store(std::byte* at, AtomicType type, int value) {
  const auto store = [&](auto typed) { std::memcpy(at, &typed, sizeof(typed)); };
  switch (type) {
    case AtomicType::kInt32:
    case AtomicType::kUint32:
      return store(static_cast<std::int32_t>(value));
    case AtomicType::kInt64:
    case AtomicType::kUint64:
      return store(static_cast<std::int64_t>(value));
    case AtomicType::kFloat:
      return store(static_cast<float>(value));
    case AtomicType::kDouble:
      return store(static_cast<double>(value));
  }
}
int Load(const std::byte* at, AtomicType type) {
  const auto load = [&](auto typed) {
    std::memcpy(&typed, at, sizeof(typed));
    return static_cast<int>(typed);
  };
  switch (type) {
    case AtomicType::kInt32:
    case AtomicType::kUint32:
      return load(std::int32_t{});
    case AtomicType::kInt64:
    case AtomicType::kUint64:
      return load(std::int64_t{});
    case AtomicType::kFloat:
      return load(float{});
    case AtomicType::kDouble:
      return load(double{});
  }
  return 0;
}

int Expected(AtomicOperation operation, int old, int operand, int compare) {
  switch (operation) {
    case AtomicOperation::kMin:
      return std::min(old, operand);
    case AtomicOperation::kMax:
      return std::max(old, operand);
    case AtomicOperation::kSum:
      return old + operand;
    case AtomicOperation::kBitOr:
      return old | operand;
    case AtomicOperation::kBitAnd:
      return old & operand;
    case AtomicOperation::kBitXor:
      return old ^ operand;
    case AtomicOperation::kRead:
      return old;
    case AtomicOperation::kWrite:
      return operand;
    case AtomicOperation::kCompareSwap:
      return old == compare ? operand : old;
  }
  return 0;
}

class AtomicsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kOperand = 0, kCompare = 100000, kResult = 200000, kTarget = 300000;

  AtomicRequest RequestOf(AtomicOperation operation, AtomicType type, std::size_t bytes,
                          bool fetches, std::size_t machine = 0) {
    Machine& from = bed_[machine];
    AtomicRequest request{.operation = operation,
                          .type = type,
                          .operand = from.Local(kOperand, bytes),
                          .target = bed_[1].Remote(kTarget),
                          .peer = from.peers[1],
                          .context = Context{1}};
    const bool compares = operation == AtomicOperation::kCompareSwap;
    if (operation == AtomicOperation::kRead) request.operand = {};
    if (compares) request.compare = from.Local(kCompare, bytes);
    if (fetches || compares || operation == AtomicOperation::kRead) {
      request.result = from.Local(kResult, bytes);
    }
    return request;
  }
  ErrorCode Post(const AtomicRequest& request, std::size_t machine = 0) {
    return bed_.Post([&] { return bed_[machine].atomics().Atomic(request); });
  }

  TestBed bed_{{.machines = 3}};
};

TEST_F(AtomicsTest, EveryOperationOnEveryType) {
  for (const AtomicType type : kTypes) {
    const std::size_t size = fabric::SizeOf(type);
    for (const AtomicOperation operation : kOperations) {
      if (IsBitwise(operation) && (type == AtomicType::kFloat || type == AtomicType::kDouble)) {
        EXPECT_EQ(bed_.a().atomics().Atomic(RequestOf(operation, type, size, false)),
                  ErrorCode::kUnsupported);
        continue;
      }
      for (const bool fetches : {false, true}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " "
                                        << static_cast<int>(operation) << " " << fetches);
        for (std::size_t i = 0; i < 10; ++i) {  // half of the comparisons hold
          const int value = static_cast<int>(i);
          Store(&bed_.b().memory[kTarget + i * size], type, value * 3);
          Store(&bed_.a().memory[kOperand + i * size], type, 13 - value);
          Store(&bed_.a().memory[kCompare + i * size], type, value * (i % 2 == 0 ? 3 : 4));
        }
        const AtomicRequest request = RequestOf(operation, type, 10 * size, fetches);
        ASSERT_EQ(Post(request), ErrorCode::kOk);
        const Completion done = bed_.Take(bed_.a(), 1);
        EXPECT_EQ(done.error, ErrorCode::kOk);
        EXPECT_EQ(done.kind, fabric::OperationKind::kAtomic);
        for (std::size_t i = 0; i < 10; ++i) {
          const int value = static_cast<int>(i);
          const int compare = value * (i % 2 == 0 ? 3 : 4);
          EXPECT_EQ(Load(&bed_.b().memory[kTarget + i * size], type),
                    Expected(operation, value * 3, 13 - value, compare));
          if (request.result.has_value()) {
            EXPECT_EQ(Load(&bed_.a().memory[kResult + i * size], type), value * 3);
          }
        }
      }
    }
  }
  bed_.PumpFor(1ms);
  EXPECT_TRUE(bed_.b().completions.empty());  // the target hears nothing
}

// Two machines count up together: no count is lost, and every fetched value is seen once.
TEST_F(AtomicsTest, ConcurrentSumsLoseNothing) {
  constexpr std::uint64_t kEach = 200;
  for (const std::size_t machine : {0u, 2u}) {
    Store(&bed_[machine].memory[kOperand], AtomicType::kUint64, 1);
  }
  std::vector<int> seen(2 * kEach, 0);
  for (std::uint64_t i = 0; i < kEach; ++i) {
    for (const std::size_t machine : {0u, 2u}) {
      AtomicRequest request =
          RequestOf(AtomicOperation::kSum, AtomicType::kUint64, 8, true, machine);
      request.result = bed_[machine].Local(kResult + i * 8, 8);
      request.context = Context{i};
      ASSERT_EQ(Post(request, machine), ErrorCode::kOk);
    }
  }
  for (std::uint64_t i = 0; i < kEach; ++i) {
    for (const std::size_t machine : {0u, 2u}) {
      EXPECT_EQ(bed_.Take(bed_[machine], i).error, ErrorCode::kOk);
      ++seen.at(static_cast<std::size_t>(
          Load(&bed_[machine].memory[kResult + i * 8], AtomicType::kUint64)));
    }
  }
  EXPECT_EQ(seen, std::vector<int>(2 * kEach, 1));
  EXPECT_EQ(Load(&bed_.b().memory[kTarget], AtomicType::kUint64), static_cast<int>(2 * kEach));
}

// Atomics of one initiator are executed in order, though the device delivers in any.
TEST_F(AtomicsTest, AtomicsKeepTheirOrder) {
  constexpr std::uint64_t kWrites = 100;
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    AtomicRequest request = RequestOf(AtomicOperation::kWrite, AtomicType::kUint64, 8, true);
    Store(&bed_.a().memory[kOperand + i * 8], AtomicType::kUint64, static_cast<int>(i + 1));
    request.operand = bed_.a().Local(kOperand + i * 8, 8);
    request.result = bed_.a().Local(kResult + i * 8, 8);
    request.context = Context{i};
    ASSERT_EQ(Post(request), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    EXPECT_EQ(bed_.Take(bed_.a(), i).error, ErrorCode::kOk);
    EXPECT_EQ(Load(&bed_.a().memory[kResult + i * 8], AtomicType::kUint64), static_cast<int>(i));
  }
  EXPECT_GT(bed_.b().statistics().early, 0u);
}

TEST_F(AtomicsTest, LargestOperandFitsOnePacket) {
  for (const bool fetches : {false, true}) {
    const std::size_t most =
        bed_.a().atomics().MaxAtomicBytes(AtomicOperation::kSum, AtomicType::kUint64, fetches);
    EXPECT_EQ(most, 8760u);
    std::memset(&bed_.b().memory[kTarget], 0, most + 8);
    for (std::size_t i = 0; i < most + 8; i += 8) {
      Store(&bed_.a().memory[kOperand + i], AtomicType::kUint64, static_cast<int>(i));
    }
    ASSERT_EQ(Post(RequestOf(AtomicOperation::kSum, AtomicType::kUint64, most, fetches)),
              ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
    EXPECT_EQ(Load(&bed_.b().memory[kTarget + most - 8], AtomicType::kUint64),
              static_cast<int>(most - 8));
    EXPECT_EQ(bed_.a().atomics().Atomic(
                  RequestOf(AtomicOperation::kSum, AtomicType::kUint64, most + 8, fetches)),
              ErrorCode::kMessageTooLong);
  }
  const auto& atomics = bed_.a().atomics();
  EXPECT_EQ(atomics.MaxAtomicBytes(AtomicOperation::kCompareSwap, AtomicType::kUint64, true),
            4376u);
  EXPECT_EQ(atomics.MaxAtomicBytes(AtomicOperation::kCompareSwap, AtomicType::kUint64, false), 0u);
  EXPECT_EQ(atomics.MaxAtomicBytes(AtomicOperation::kRead, AtomicType::kInt32, false), 0u);
  EXPECT_EQ(atomics.MaxAtomicBytes(AtomicOperation::kRead, AtomicType::kInt32, true), 8760u);
  EXPECT_EQ(atomics.MaxAtomicBytes(AtomicOperation::kBitOr, AtomicType::kFloat, true), 0u);
}

TEST_F(AtomicsTest, RequestsThatMakeNoSenseAreRefused) {
  const auto refused = [&](const AtomicRequest& request) {
    return bed_.a().atomics().Atomic(request);
  };
  const AtomicRequest good = RequestOf(AtomicOperation::kSum, AtomicType::kUint64, 16, true);
  AtomicRequest bad = good;
  bad.operand.length_bytes = 12;
  EXPECT_EQ(refused(bad), ErrorCode::kInvalidArgument);
  bad = good;
  bad.result->length_bytes = 8;
  EXPECT_EQ(refused(bad), ErrorCode::kInvalidArgument);
  bad = good;
  bad.compare = bad.operand;
  EXPECT_EQ(refused(bad), ErrorCode::kInvalidArgument);
  bad = good;
  bad.target.address += 4;
  EXPECT_EQ(refused(bad), ErrorCode::kInvalidArgument);
  bad = good;
  bad.operand.length_bytes = bad.result->length_bytes = 0;
  EXPECT_EQ(refused(bad), ErrorCode::kInvalidArgument);
  bad = good;
  bad.peer = fabric::Peer{777};
  EXPECT_EQ(refused(bad), ErrorCode::kUnknownPeer);
  bad = good;
  bad.operand.local_key ^= 0x77777;
  EXPECT_EQ(refused(bad), ErrorCode::kLocalAccess);
  bad = RequestOf(AtomicOperation::kRead, AtomicType::kUint64, 16, true);
  bad.result.reset();
  EXPECT_EQ(refused(bad), ErrorCode::kInvalidArgument);
  bad = RequestOf(AtomicOperation::kCompareSwap, AtomicType::kUint64, 16, true);
  bad.compare.reset();
  EXPECT_EQ(refused(bad), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused(good), ErrorCode::kOk);
}

TEST_F(AtomicsTest, TargetsRightsAreChecked) {
  const auto outcome = [&](Access access, AtomicOperation operation, bool fetches) {
    auto region = bed_.b()
                      .domain
                      ->RegisterMemory(
                          {.data = &bed_.b().memory[kTarget], .length_bytes = 64, .access = access})
                      .value();
    AtomicRequest request = RequestOf(operation, AtomicType::kUint64, 64, fetches);
    request.target = region->remote();
    EXPECT_EQ(Post(request), ErrorCode::kOk);
    return bed_.Take(bed_.a(), 1).error;
  };
  constexpr auto kSum = AtomicOperation::kSum, kRead = AtomicOperation::kRead;
  EXPECT_EQ(outcome(Access::kRemoteWrite, kSum, false), ErrorCode::kOk);
  EXPECT_EQ(outcome(Access::kRemoteRead, kSum, false), ErrorCode::kRemoteAccess);
  EXPECT_EQ(outcome(Access::kRemoteWrite, kSum, true), ErrorCode::kRemoteAccess);
  EXPECT_EQ(outcome(Access::kRemoteRead, kRead, true), ErrorCode::kOk);
  EXPECT_EQ(outcome(Access::kRemoteWrite, kRead, true), ErrorCode::kRemoteAccess);
}

TEST_F(AtomicsTest, TargetsRangeIsChecked) {
  auto region = bed_.b()
                    .domain->RegisterMemory({.data = &bed_.b().memory[kTarget], .length_bytes = 64})
                    .value();
  AtomicRequest request = RequestOf(AtomicOperation::kSum, AtomicType::kUint64, 64, false);
  for (const std::int64_t moved : {std::int64_t{8}, std::int64_t{-8}, std::int64_t{1} << 40}) {
    request.target = region->remote();
    request.target.address += static_cast<std::uint64_t>(moved);
    ASSERT_EQ(Post(request), ErrorCode::kOk);
    EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kRemoteAccess);
  }
  request.target = region->remote();
  request.target.key ^= 0x155;
  ASSERT_EQ(Post(request), ErrorCode::kOk);
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kRemoteAccess);
  EXPECT_TRUE(Untouched(bed_.b().memory));
}

// Nothing is executed while the target's program does not read its queue.
TEST_F(AtomicsTest, TargetsProgramExecutes) {
  Store(&bed_.a().memory[kOperand], AtomicType::kUint64, 5);
  ASSERT_EQ(Post(RequestOf(AtomicOperation::kSum, AtomicType::kUint64, 8, false)), ErrorCode::kOk);
  const coro::Time end = bed_.world().Now() + 5ms;
  while (bed_.world().Now() < end) {
    bed_.a().Poll();
    bed_.world().WaitUntil(bed_.world().Now() + 10us);
  }
  EXPECT_TRUE(bed_.a().completions.empty());
  EXPECT_TRUE(Untouched(bed_.b().memory));
  EXPECT_EQ(bed_.Take(bed_.a(), 1).error, ErrorCode::kOk);
  EXPECT_EQ(Load(&bed_.b().memory[kTarget], AtomicType::kUint64), 5);
}

}  // namespace
}  // namespace drydock::sim::rdm
