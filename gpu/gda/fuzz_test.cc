// Ring contents that no driver writes: random ones and damaged ones, rung for by doorbells that may
// be wrong. The NIC must neither crash nor write outside of registered memory, and every entry that
// it took ends in one completion. The seed is fixed and printed with any failure;
// DRYDOCK_FUZZ_SEED and DRYDOCK_FUZZ_ROUNDS choose others.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "drydock/gpu/gda/queue/device_queue.h"
#include "drydock/gpu/gda/testing/test_bed.h"
#include "drydock/sim/random.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::gpu::gda {
namespace {

namespace efa = fabric::efa_queue;

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

constexpr std::size_t kFirst = 64 << 10;  // what is registered of each side's memory
constexpr std::size_t kLength = 64 << 10;
constexpr unsigned char kCompletionRequested = 1 << 4;

class Fuzz {
 public:
  explicit Fuzz(std::uint64_t seed)
      : random_(seed, sim::Subsystem::kEngine, 0, 0), bed_(seed, sim_testing::Small(), Options()) {
    bed_.lab.AllowFindings(sim::Check::kUseAfterDeregister);  // a nonsense key may be an old one
    // Only the middle of both memories is registered.
    for (TestSide* side : {&bed_.a, &bed_.b}) {
      EXPECT_TRUE(side->side.region->Close().ok());
      sim_testing::Fill(side->side.memory(), seed);
      side->side.region = side->side.Register(kFirst, kLength, fabric::Access::kAll);
    }
  }

  // A batch of entries, a doorbell, and what came of it.
  void Round() {
    const WorkRing& ring = bed_.a.queue.View().send;
    const auto count = static_cast<std::uint32_t>(1 + random_.NextBelow(ring.max_batch));
    for (std::uint32_t i = 0; i < count; ++i) WriteEntry(announced_ + i);
    std::uint32_t value = announced_ + count;
    if (random_.NextBelow(16) == 0) value = static_cast<std::uint32_t>(random_.Next());
    value &= 0xFFFF;
    const std::uint32_t added = (value - announced_) & 0xFFFF;
    const bool taken = added != 0 && added <= ring.max_batch;
    if (random_.NextBelow(8) == 0) PostReceives();
    StoreBell(ring.bell.word, value);
    bed_.engine.Step();
    if (taken) {
      announced_ += added;
      due_ += added;
    }
    Collect();
  }
  std::uint64_t due() const { return due_; }
  // What came late, such as messages that wait for a receive.
  void Finish() {
    for (int i = 0; i < 100000 && due_ > 0; ++i) {
      PostReceives();
      bed_.engine.Step();
      Collect();
    }
  }

  // Everything outside of the registered parts is as it was.
  bool NothingElseWasWritten(std::uint64_t seed) {
    std::vector<std::byte> all(sim_testing::Side::kBytes);
    sim_testing::Fill(all, seed);
    for (TestSide* side : {&bed_.a, &bed_.b}) {
      const std::span<std::byte> memory = side->side.memory();
      const std::size_t after = kFirst + kLength;
      if (std::memcmp(memory.data(), all.data(), kFirst) != 0) return false;
      if (std::memcmp(memory.data() + after, all.data() + after, all.size() - after) != 0) {
        return false;
      }
    }
    return true;
  }

 private:
  static sim_testing::SideOptions Options() {
    sim_testing::SideOptions options;
    options.retries = 0;  // a message that finds no receive fails at once
    return options;
  }

  // Mostly near what is registered.
  std::size_t Offset() {
    return random_.NextBelow(4) == 0 ? random_.NextBelow(sim_testing::Side::kBytes)
                                     : kFirst + random_.NextBelow(kLength);
  }
  std::uint32_t Length() {
    return static_cast<std::uint32_t>(random_.NextBelow(16) == 0 ? random_.NextBelow(1 << 17)
                                                                 : random_.NextBelow(256));
  }
  void WriteEntry(std::uint32_t counter) {
    const WorkRing& ring = bed_.a.queue.View().send;
    auto* const slot = static_cast<unsigned char*>(ring.entries) +
                       std::size_t{counter & (ring.entry_count - 1)} * ring.entry_bytes;
    Transfer transfer = bed_.a.WriteTo(bed_.b, 0, Length());
    const auto base = [](const TestSide& side) {
      return reinterpret_cast<std::uint64_t>(side.side.pages[0].bytes);
    };
    transfer.local = base(bed_.a) + Offset();
    transfer.remote = base(bed_.b) + Offset();
    transfer.operation = static_cast<efa::Operation>(random_.NextBelow(3));
    transfer.has_immediate =
        transfer.operation != efa::Operation::kRead && random_.NextBelow(2) == 0;
    const unsigned phase = (counter & ring.entry_count) != 0 ? 1 : 0;
    efa::EncodeSend(WorkOf(transfer, bed_.to_b, counter), {}, phase, slot);
    Spoil(slot);
    // Of every entry a completion is due.
    slot[offsetof(efa::SendMeta, ctrl2)] |= kCompletionRequested;
  }
  void Spoil(unsigned char* slot) {
    switch (random_.NextBelow(4)) {
      case 0:  // as it is
        return;
      case 1:  // a few bits
        for (std::uint64_t left = 1 + random_.NextBelow(3); left > 0; --left) {
          slot[random_.NextBelow(64)] ^= static_cast<unsigned char>(1 << random_.NextBelow(8));
        }
        return;
      case 2:  // a few bytes
        for (std::uint64_t left = 1 + random_.NextBelow(3); left > 0; --left) {
          slot[random_.NextBelow(64)] = static_cast<unsigned char>(random_.Next());
        }
        return;
      default:  // all of it, or nothing
        if (random_.NextBelow(2) == 0) return;
        for (unsigned i = 0; i < 8; ++i) efa::StoreWord(slot, i, random_.Next());
    }
  }
  // Receives at the other side, some of them nonsense.
  void PostReceives() {
    const WorkRing& ring = bed_.b.queue.View().receive;
    auto* const slot =
        static_cast<unsigned char*>(ring.entries) +
        std::size_t{receives_ & (ring.entry_count - 1)} * sizeof(efa::ReceiveDescriptor);
    efa::ReceiveWork work;
    work.segment_count = 1;
    work.segments[0] = {Length() & 0xFFF, bed_.b.lkey(),
                        reinterpret_cast<std::uint64_t>(bed_.b.side.pages[0].bytes) + Offset()};
    efa::EncodeReceiveDescriptor(work, 0, slot);
    if (random_.NextBelow(4) == 0) {
      slot[random_.NextBelow(16)] ^= static_cast<unsigned char>(1 << random_.NextBelow(8));
    }
    StoreBell(ring.bell.word, ++receives_ & 0xFFFF);
    bed_.engine.Step();
    // A full ring takes no more.
    const std::uint64_t refused = bed_.b.queue.count(QueueFaultKind::kOverRing);
    if (refused != refused_) --receives_;
    refused_ = refused;
  }
  void Collect() {
    const DoneRing& ring = bed_.a.queue.View().send_done;
    for (;;) {
      const unsigned phase = (consumed_ & ring.entry_count) == 0 ? 1 : 0;
      efa::Completion done;
      const efa::Malformed why = efa::DecodeCompletion(
          static_cast<const unsigned char*>(ring.entries) +
              std::size_t{consumed_ & (ring.entry_count - 1)} * ring.entry_bytes,
          efa::CqeSize::k32, phase, done);
      if (why == efa::Malformed::kWrongPhase) return;
      ASSERT_EQ(why, efa::Malformed::kNone) << efa::MalformedName(why);
      ASSERT_GT(due_, 0u) << "a completion of nothing";
      ++consumed_;
      --due_;
    }
  }

  sim::RandomStream random_;
  TestBed bed_;
  std::uint32_t announced_ = 0;
  std::uint32_t consumed_ = 0;
  std::uint32_t receives_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t due_ = 0;
};

TEST(FuzzTest, NonsenseInTheRingsHarmsNobody) {
  const std::uint64_t seed = FromEnvironment("DRYDOCK_FUZZ_SEED", 20261122);
  const std::uint64_t rounds = FromEnvironment("DRYDOCK_FUZZ_ROUNDS", 20000);
  SCOPED_TRACE(::testing::Message() << "DRYDOCK_FUZZ_SEED=" << seed);
  Fuzz fuzz(seed);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    fuzz.Round();
    if (HasFatalFailure()) return;
    if (i % 1000 != 0) continue;
    ASSERT_TRUE(fuzz.NothingElseWasWritten(seed)) << "round " << i;
  }
  fuzz.Finish();
  EXPECT_EQ(fuzz.due(), 0u) << "requests without a completion";
  EXPECT_TRUE(fuzz.NothingElseWasWritten(seed));
}

}  // namespace
}  // namespace drydock::gpu::gda
