// Machines of one simulated world that talk over the `efa` fabric, and the verbs that tests of it
// are written in.

#ifndef DRYDOCK_SIM_RDM_TESTING_TEST_BED_H_
#define DRYDOCK_SIM_RDM_TESTING_TEST_BED_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/atomics.h"
#include "drydock/fabric/cancel.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/rdm/settings.h"
#include "drydock/sim/rdm/statistics.h"
#include "drydock/sim/rdm/testing/altered_device.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::rdm {

// One machine: all objects that its program opens, and the completions that it has read.
struct Machine {
  Node* node = nullptr;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<fabric::Domain> domain;
  std::unique_ptr<fabric::CompletionQueue> queue;
  std::unique_ptr<fabric::AddressVector> vector;
  std::vector<std::byte> memory;
  std::unique_ptr<fabric::MemoryRegion> region;  // all of `memory`, with every right
  std::unique_ptr<fabric::Endpoint> endpoint;
  std::vector<fabric::Peer> peers;              // the other machines, by their number; and itself
  std::vector<fabric::Completion> completions;  // read and not taken

  fabric::LocalBuffer Local(std::size_t offset, std::size_t length) const {
    return region->Local(offset, length);
  }
  fabric::RemoteBuffer Remote(std::size_t offset) const { return region->Remote(offset); }
  std::span<std::byte> Bytes(std::size_t offset, std::size_t length) {
    return std::span(memory).subspan(offset, length);
  }
  fabric::TaggedMessages& tagged() { return *endpoint->power<fabric::TaggedMessages>(); }
  fabric::Atomics& atomics() { return *endpoint->power<fabric::Atomics>(); }
  fabric::Cancel& cancel() { return *endpoint->power<fabric::Cancel>(); }
  const Statistics& statistics() const {
    return endpoint->power<EndpointStatistics>()->statistics();
  }
  // Reads the queue once.
  void Poll();
};

struct TestBedOptions {
  std::uint64_t seed = 1;
  std::size_t machines = 2;
  const char* profile = "small";
  Settings settings;
  Alteration alteration;                // of every machine,
  std::vector<Alteration> alterations;  // but for those that have one of their own
  std::size_t memory_bytes = 8 << 20;
};

class TestBed {
 public:
  static constexpr coro::Duration kPatience = std::chrono::seconds(20);

  explicit TestBed(const TestBedOptions& options = {});
  // Fails the test if contexts of the protocol's own were taken for the program's.
  ~TestBed();

  World& world() { return world_; }
  Machine& operator[](std::size_t number) { return machines_[number]; }
  Machine& a() { return machines_[0]; }
  Machine& b() { return machines_[1]; }

  // Opens another endpoint for a machine, on the same queue, vector and memory; the old one goes.
  // `options` beside these parts.
  void ReopenEndpoint(Machine& machine, fabric::EndpointOptions options = {});
  // The same, and every machine knows it by its old number.
  void ReplaceEndpoint(std::size_t number, const fabric::EndpointOptions& options);

  // Reads every queue once; then, when nothing came, lets a little time pass.
  void Pump();
  // Pumps until `done`; false when that does not happen in a long time.
  bool PumpUntil(const std::function<bool()>& done);
  void PumpFor(coro::Duration duration);
  // Both sides of every pair of machines have shaken hands.
  void Connect();

  // Posts until it is accepted. Returns the final answer.
  fabric::ErrorCode Post(const std::function<fabric::ErrorCode()>& post);
  // Waits for a completion with this context, and takes it out of the machine's list; fails the
  // test when none comes.
  fabric::Completion Take(Machine& machine, std::uint64_t context);
  // The same for a peer's write with immediate.
  fabric::Completion TakeRemoteWrite(Machine& machine);

  // Shorthands: whole requests between machines 0 and 1 with context `context`.
  fabric::ErrorCode Send(std::size_t offset, std::size_t length, std::uint64_t context);
  fabric::ErrorCode Recv(std::size_t offset, std::size_t length, std::uint64_t context);

 private:
  void Open(std::size_t number);

  World world_;
  const TestBedOptions options_;
  std::vector<Machine> machines_;
};

// A pattern that depends on `seed` and differs from byte to byte; and whether it is there.
void Fill(std::span<std::byte> bytes, std::uint32_t seed);
bool Holds(std::span<const std::byte> bytes, std::uint32_t seed);
// Every byte is zero, as memory is in the beginning.
bool Untouched(std::span<const std::byte> bytes);

// Small numbers from a seed, the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
    return word ^ (word >> 31);
  }
  // From [0, bound).
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_TESTING_TEST_BED_H_
