// Everything at once, at random, for many seeds: each byte that arrives is checked, each request
// ends exactly once, and messages keep their order.

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {
namespace {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;
using fabric::OperationKind;

constexpr std::size_t kMachines = 3;
constexpr int kSteps = 60;
constexpr std::size_t kSlot = 200000;  // memory of one request
constexpr std::size_t kSlots = 2 * kSteps;

// The message that its receiver must get.
struct Sent {
  std::uint32_t pattern;
  std::size_t length;
};

class Workload {
 public:
  explicit Workload(std::uint64_t seed)
      : dice_(seed), bed_(OptionsOf(seed)), pending_(kMachines), next_slot_(kMachines, 0) {}

  void Run() {
    for (int step = 0; step < kSteps && !::testing::Test::HasFatalFailure(); ++step) {
      const std::size_t from = dice_.Below(kMachines), to = dice_.Below(kMachines);
      switch (dice_.Below(6)) {
        case 0:
        case 1:
        case 2:
          SendMessage(from, to);
          break;
        case 3:
          Write(from, to);
          break;
        case 4:
          Read(from, to);
          break;
        default:
          Count(from, to);
      }
      if (dice_.OneIn(3)) bed_.Pump();
      Collect();
    }
    ASSERT_TRUE(bed_.PumpUntil([&] {
      Collect();
      return open_ == 0;
    })) << open_
        << " requests never ended";
    bed_.PumpFor(std::chrono::milliseconds(2));
    Collect();
    CheckMessages();
    CheckCounters();
  }

 private:
  static TestBedOptions OptionsOf(std::uint64_t seed) {
    Dice dice(seed ^ 0x5555);
    TestBedOptions options{
        .seed = seed, .machines = kMachines, .memory_bytes = kSlots * kSlot + 4096};
    options.settings.medium_bytes = 20000;
    options.settings.read_message_bytes = 100000;
    options.settings.read_write_bytes = 40000;
    options.settings.credit_packets = 1 + static_cast<std::uint32_t>(dice.Below(32));
    if (dice.OneIn(3)) options.settings.send_packets = 2 + dice.Below(10);
    if (dice.OneIn(3)) options.settings.receive_packets = 2 + dice.Below(10);
    options.alterations.resize(kMachines);
    for (Alteration& alteration : options.alterations) {
      if (dice.OneIn(4)) alteration.without.push_back(fabric::Capability::kRemoteWrite);
      if (dice.OneIn(4)) alteration.without.push_back(fabric::Capability::kRemoteRead);
      if (dice.OneIn(3)) alteration.max_rma_bytes = 3000 + dice.Below(50000);
      if (dice.OneIn(3)) {
        const auto chance = std::make_shared<Dice>(dice.Next());
        alteration.refuses_send = [chance](const fabric::SendRequest&) { return chance->OneIn(8); };
      }
    }
    return options;
  }

  std::size_t Length() {
    switch (dice_.Below(5)) {
      case 0:
        return dice_.Below(100);
      case 1:
        return 8740 + dice_.Below(40);  // about one packet
      case 2:
        return dice_.Below(20000);
      case 3:
        return dice_.Below(100000);
      default:
        return 99990 + dice_.Below(100000);
    }
  }
  // Memory that no other request uses.
  std::size_t Place(std::size_t machine) { return next_slot_[machine]++ * kSlot; }
  std::uint64_t NewRequest(std::size_t machine, OperationKind kind) {
    const std::uint64_t context = next_context_++;
    pending_[machine][context] = kind;
    ++open_;
    return context;
  }

  // Half of the messages have a tag for their pair of machines; all are received in order.
  void SendMessage(std::size_t from, std::size_t to) {
    const std::size_t length = Length();
    const std::size_t source = Place(from), target = Place(to);
    const std::uint32_t pattern = next_pattern_++;
    Fill(bed_[from].Bytes(source, length), pattern);
    const std::uint64_t sent = NewRequest(from, OperationKind::kTaggedSend);
    const std::uint64_t received = NewRequest(to, OperationKind::kTaggedReceive);
    const fabric::TaggedSendRequest send{.buffer = bed_[from].Local(source, length),
                                         .peer = bed_[from].peers[to],
                                         .tag = 100 + from,
                                         .immediate = pattern,
                                         .context = Context{sent}};
    const fabric::TaggedRecvRequest receive{.buffer = bed_[to].Local(target, kSlot),
                                            .tag = 100 + from,
                                            .source = bed_[to].peers[from],
                                            .context = Context{received}};
    const bool first = dice_.OneIn(2);
    const auto post_receive = [&] {
      ASSERT_EQ(bed_.Post([&] { return bed_[to].tagged().RecvTagged(receive); }), ErrorCode::kOk);
    };
    if (first) post_receive();
    ASSERT_EQ(bed_.Post([&] { return bed_[from].tagged().SendTagged(send); }), ErrorCode::kOk);
    if (!first) post_receive();
    sent_[{from, to}].push_back({pattern, length});
    receives_[received] = {from, to, target};
    order_[{from, to}].push_back(received);
  }

  void Write(std::size_t from, std::size_t to) {
    const std::size_t length = Length();
    const std::size_t source = Place(from), target = Place(to);
    const std::uint32_t pattern = next_pattern_++;
    Fill(bed_[from].Bytes(source, length), pattern);
    const std::uint64_t context = NewRequest(from, OperationKind::kWrite);
    fabric::WriteRequest write{.source = bed_[from].Local(source, length),
                               .target = bed_[to].Remote(target),
                               .peer = bed_[from].peers[to],
                               .context = Context{context}};
    if (dice_.OneIn(2)) write.immediate = pattern;
    ASSERT_EQ(bed_.Post([&] { return bed_[from].endpoint->Write(write); }), ErrorCode::kOk);
    if (write.immediate.has_value()) {
      announced_[pattern] = {from, to, target};
      announced_lengths_[pattern] = length;
      ++open_;
    }
  }

  void Read(std::size_t from, std::size_t to) {
    const std::size_t length = Length();
    const std::size_t target = Place(from), source = Place(to);
    const std::uint32_t pattern = next_pattern_++;
    Fill(bed_[to].Bytes(source, length), pattern);
    const std::uint64_t context = NewRequest(from, OperationKind::kRead);
    const fabric::ReadRequest read{.target = bed_[from].Local(target, length),
                                   .source = bed_[to].Remote(source),
                                   .peer = bed_[from].peers[to],
                                   .context = Context{context}};
    ASSERT_EQ(bed_.Post([&] { return bed_[from].endpoint->Read(read); }), ErrorCode::kOk);
    reads_[context] = {{pattern, length}, target};
  }

  // Adds one to the target's counter, which lies behind all slots.
  void Count(std::size_t from, std::size_t to) {
    const std::size_t operand = Place(from);
    const std::uint64_t one = 1;
    std::memcpy(&bed_[from].memory[operand], &one, sizeof(one));
    const std::uint64_t context = NewRequest(from, OperationKind::kAtomic);
    fabric::AtomicRequest atomic{.operand = bed_[from].Local(operand, 8),
                                 .target = bed_[to].Remote(kSlots * kSlot),
                                 .peer = bed_[from].peers[to],
                                 .context = Context{context}};
    if (dice_.OneIn(2)) atomic.result = bed_[from].Local(operand + 64, 8);
    ASSERT_EQ(bed_.Post([&] { return bed_[from].atomics().Atomic(atomic); }), ErrorCode::kOk);
    ++counts_[to];
  }

  // Takes the completions that were read, and checks that each was asked for, once.
  void Collect() {
    for (std::size_t machine = 0; machine < kMachines; ++machine) {
      for (const Completion& done : bed_[machine].completions) {
        EXPECT_EQ(done.error, ErrorCode::kOk) << Name(done.kind);
        --open_;
        if (done.kind == OperationKind::kRemoteWrite) {
          CheckRemoteWrite(machine, done);
          continue;
        }
        const auto context = static_cast<std::uint64_t>(*done.context);
        const auto found = pending_[machine].find(context);
        ASSERT_NE(found, pending_[machine].end()) << "ended twice, or never begun";
        EXPECT_EQ(done.kind, found->second);
        pending_[machine].erase(found);
        if (done.kind == OperationKind::kTaggedReceive) received_[context] = done;
        if (done.kind == OperationKind::kRead) {
          const auto& [expected, place] = reads_[context];
          EXPECT_TRUE(Holds(bed_[machine].Bytes(place, expected.length), expected.pattern));
        }
      }
      bed_[machine].completions.clear();
    }
  }

  void CheckRemoteWrite(std::size_t machine, const Completion& seen) {
    const std::uint32_t pattern = seen.immediate.value_or(0);
    const auto found = announced_.find(pattern);
    ASSERT_NE(found, announced_.end()) << "an immediate that nobody sent, or twice";
    EXPECT_EQ(found->second.to, machine);
    EXPECT_EQ(seen.length_bytes, announced_lengths_[pattern]);
    EXPECT_TRUE(Holds(bed_[machine].Bytes(found->second.place, seen.length_bytes), pattern));
    announced_.erase(found);
  }

  // The i-th receive from a machine holds the i-th message of that machine.
  void CheckMessages() {
    for (const auto& [pair, messages] : sent_) {
      const std::vector<std::uint64_t>& receives = order_[pair];
      ASSERT_EQ(receives.size(), messages.size());
      for (std::size_t i = 0; i < messages.size(); ++i) {
        const Completion& received = received_[receives[i]];
        EXPECT_EQ(received.immediate, messages[i].pattern);
        EXPECT_EQ(received.length_bytes, messages[i].length);
        const auto& [from, to, place] = receives_[receives[i]];
        EXPECT_EQ(received.source, bed_[to].peers[from]);
        EXPECT_TRUE(Holds(bed_[to].Bytes(place, messages[i].length), messages[i].pattern));
        EXPECT_TRUE(
            Untouched(bed_[to].Bytes(place + messages[i].length, kSlot - messages[i].length)));
      }
    }
  }

  void CheckCounters() {
    for (std::size_t machine = 0; machine < kMachines; ++machine) {
      std::uint64_t value = 0;
      std::memcpy(&value, &bed_[machine].memory[kSlots * kSlot], sizeof(value));
      EXPECT_EQ(value, counts_[machine]);
      const Statistics& seen = bed_[machine].statistics();
      EXPECT_EQ(seen.malformed + seen.duplicates + seen.strays + seen.wrong_connid, 0u);
    }
  }

  struct Transfer {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t place = 0;
  };
  using Pair = std::pair<std::size_t, std::size_t>;

  Dice dice_;
  TestBed bed_;
  std::vector<std::map<std::uint64_t, OperationKind>> pending_;  // by machine and context
  std::vector<std::size_t> next_slot_;
  std::uint64_t next_context_ = 1;
  std::uint32_t next_pattern_ = 1;
  std::int64_t open_ = 0;  // completions that must still come
  std::map<Pair, std::vector<Sent>> sent_;
  std::map<Pair, std::vector<std::uint64_t>> order_;  // receives, in the order of posting
  std::map<std::uint64_t, Transfer> receives_;
  std::map<std::uint64_t, Completion> received_;
  std::map<std::uint64_t, std::pair<Sent, std::size_t>> reads_;
  std::map<std::uint32_t, Transfer> announced_;
  std::map<std::uint32_t, std::size_t> announced_lengths_;
  std::map<std::size_t, std::uint64_t> counts_;
};

TEST(WorkloadTest, TwoHundredSeeds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Workload workload(seed);
    workload.Run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace drydock::sim::rdm
