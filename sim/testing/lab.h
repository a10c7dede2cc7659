// Machines of one simulated world, opened and introduced to each other, for the tests of the
// device. They drive the device through the contract, without a loop and without coroutines, so
// that nothing stands between a test and what the device does.
//
//   Lab lab(seed);
//   Side& a = lab.Add("a");
//   Side& b = lab.Add("b");
//   lab.Introduce();
//   ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 4096, 7)), fabric::ErrorCode::kOk);
//   EXPECT_TRUE(lab.Take(a, 7).ok());

#ifndef DRYDOCK_SIM_TESTING_LAB_H_
#define DRYDOCK_SIM_TESTING_LAB_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/driver/queue_access.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

// The value of something that cannot fail in this test; stops the program with the reason when it
// does.
template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status();
    std::abort();
  }
  return *std::move(result);
}

// A copy of the default profile, to be changed. Limits follow from the device's attributes when a
// Lab takes it.
sim::Profile Small();
// The same of another one.
sim::Profile CopyOf(const char* name);
// Nothing is lost, placed twice or split on this one, and all packets take the same time.
sim::Profile Calm();

// How a side is opened.
struct SideOptions {
  std::size_t nic = 0;
  std::size_t queue_depth = 0;  // of its completion queue; 0: the default
  fabric::EndpointType type = fabric::EndpointType::kReliable;
  std::optional<std::uint32_t> retries;  // receiver not ready
  bool receives_take_immediates = false;
  std::size_t inject_bytes = 0;
  fabric::CounterBindings counters;
};

// One machine with one endpoint, and the completions that were read from its queue. Members die in
// reverse order.
struct Side {
  // Page-aligned, so that nothing depends on where the allocator puts it.
  struct alignas(4096) Page {
    std::byte bytes[4096];
  };
  static constexpr std::size_t kBytes = 256 << 10;

  Side(sim::Node& machine, std::size_t nic_index) : node(machine), nic(machine.nic(nic_index)) {}

  sim::Node& node;
  sim::Nic& nic;
  std::vector<Page> pages;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<fabric::Domain> domain;
  std::unique_ptr<fabric::CompletionQueue> queue;
  std::unique_ptr<fabric::AddressVector> peers;
  std::unique_ptr<fabric::MemoryRegion> region;  // all of memory(), with every right
  std::unique_ptr<fabric::Endpoint> endpoint;
  std::map<const Side*, fabric::Peer> known;
  std::vector<fabric::Completion> completions;  // read and not taken

  std::span<std::byte> memory() { return {pages[0].bytes, pages.size() * sizeof(Page)}; }
  std::span<std::byte> Bytes(std::size_t offset, std::size_t length) {
    return memory().subspan(offset, length);
  }
  fabric::LocalBuffer Local(std::size_t offset, std::size_t length) const {
    return region->Local(offset, length);
  }
  fabric::RemoteBuffer Remote(std::size_t offset) const { return region->Remote(offset); }
  // How this side names another one. REQUIRES: it inserted it.
  fabric::Peer PeerOf(const Side& other) const { return known.at(&other); }
  void Insert(const Side& other) { known[&other] = Must(peers->Insert(other.endpoint->address())); }
  sim::QueueAccess& rings() { return *endpoint->power<sim::QueueAccess>(); }

  // Requests between the same offset of both memories. A context of 0: unsignalled.
  fabric::WriteRequest WriteTo(const Side& to, std::size_t offset, std::size_t length,
                               std::uint64_t context) const;
  fabric::ReadRequest ReadFrom(const Side& from, std::size_t offset, std::size_t length,
                               std::uint64_t context) const;
  fabric::SendRequest SendTo(const Side& to, std::size_t offset, std::size_t length,
                             std::uint64_t context) const;
  fabric::RecvRequest RecvAt(std::size_t offset, std::size_t length, std::uint64_t context) const;

  // The parts for another endpoint of this side's domain.
  fabric::EndpointOptions Parts() const;
  // A region over a part of the memory.
  std::unique_ptr<fabric::MemoryRegion> Register(std::size_t offset, std::size_t length,
                                                 fabric::Access access);
};

inline std::optional<fabric::Context> ContextOf(std::uint64_t number) {
  return number == 0 ? std::nullopt : std::optional(fabric::Context{number});
}
// 0 when there is none.
std::uint64_t NumberOf(const fabric::Completion& completion);

// Writes a pattern that depends on `seed`; says whether it is there.
void Fill(std::span<std::byte> bytes, std::uint64_t seed);
bool Holds(std::span<const std::byte> bytes, std::uint64_t seed);
bool IsZero(std::span<const std::byte> bytes);
// The same for equal bytes, on every machine.
std::uint64_t Checksum(std::span<const std::byte> bytes);

class Lab {
 public:
  // How long to wait for an event that must happen: longer than every timeout of a profile.
  static constexpr coro::Duration kPatience = std::chrono::seconds(20);

  // `faults`: the fault plan that the devices apply; null: there are no faults. On the machine's
  // clock the profile is taken WithoutDelays, unless `real_delays`.
  explicit Lab(std::uint64_t seed, sim::Profile profile = Small(),
               sim::ClockKind clock = sim::ClockKind::kVirtual,
               std::shared_ptr<fabric::faults::FaultEngine> faults = nullptr,
               bool real_delays = false);
  // Fails the test when the program broke a rule that no ExpectFinding took.
  ~Lab();

  sim::World& world() { return world_; }

  // Wraps the fabrics of machines that are added from now on.
  using Decorate = std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>,
                                                                 const std::string& machine)>;
  void set_decorate(Decorate decorate) { decorate_ = std::move(decorate); }

  // A machine with an open endpoint, in the world's profile or another one (which outlives the
  // lab).
  Side& Add(const std::string& name, const SideOptions& options = {},
            const sim::Profile* profile = nullptr);
  // One more endpoint, with a domain and a queue of its own, on the machine of `side`.
  Side& AddBeside(const Side& side, const SideOptions& options = {});
  // Every machine inserts all of them, itself included.
  void Introduce();

  // Reads every side's queue once; true when something was there.
  bool Pump();
  // Pumps until `done`, at most `patience`; returns whether it is done.
  bool Until(const std::function<bool()>& done, coro::Duration patience = kPatience);
  // Pumps for a while, to see that an event does not happen.
  void Watch(coro::Duration duration = std::chrono::milliseconds(5));

  // Waits for the completion with this context and takes it from the side's list; fails the test
  // when none comes.
  fabric::Completion Take(Side& side, std::uint64_t context);
  // The same for the first one without a context.
  fabric::Completion TakeNameless(Side& side) { return Take(side, 0); }

  // The machine of `side` works: a write and a message from `from` arrive, with the right bytes.
  // Uses the last 4 KiB of both memories.
  void ExpectWorks(Side& from, Side& side);
  // The program broke this rule, at one place, so many times; it has broken no other one.
  void ExpectFinding(sim::Check check, std::uint64_t times);
  // The test breaks this rule, on purpose, as often as it likes.
  void AllowFindings(sim::Check check) { allowed_.push_back(check); }
  // Closes every side, and takes the findings of the program's life. Sides are gone afterwards.
  std::vector<sim::Finding> End();
  // Nothing more is in the queues than was taken.
  void ExpectNoMore(coro::Duration watch = std::chrono::milliseconds(5));

 private:
  Side& Open(sim::Node& node, const SideOptions& options);

  ::testing::ScopedTrace trace_;
  sim::Profile profile_;
  sim::World world_;
  std::vector<std::unique_ptr<Side>> sides_;
  std::vector<sim::Check> allowed_;
  Decorate decorate_;
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_TESTING_LAB_H_
