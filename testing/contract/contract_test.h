// The fixture of the contract suite: two sides, ready to talk, and the verbs that its tests are
// written in.

#ifndef DRYDOCK_TESTING_CONTRACT_CONTRACT_TEST_H_
#define DRYDOCK_TESTING_CONTRACT_CONTRACT_TEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "drydock/fabric/fabric.h"
#include "drydock/testing/contract/applicability.h"
#include "drydock/testing/contract/backend.h"
#include "drydock/testing/contract/side_memory.h"
#include "drydock/testing/contract/trait.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::contract {

// One end of the conversation: all objects that a program opens on one node, and the completions
// that it has read from its queue.
struct Side {
  // `memory` will be allocated from `resource`.
  explicit Side(std::pmr::memory_resource& resource) : memory(resource) {}

  std::unique_ptr<fabric::Domain> domain;
  std::unique_ptr<fabric::CompletionQueue> queue;
  std::unique_ptr<fabric::AddressVector> peers;
  std::unique_ptr<fabric::Endpoint> endpoint;
  SideMemory memory;
  std::unique_ptr<fabric::MemoryRegion> region;  // all of `memory`, with every right
  fabric::Peer peer{};                           // the other side
  std::vector<fabric::Completion> completions;   // read and not taken, in the order of reading

  fabric::LocalBuffer Local(std::size_t offset, std::size_t length) const {
    return region->Local(offset, length);
  }
  fabric::RemoteBuffer Remote(std::size_t offset) const { return region->Remote(offset); }
};

// A fixture opens both sides before each test, unless the backend lacks what the behaviour needs
// (applicability.h): then it says so, and the body does not run.
class ContractTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kMemoryBytes = 1 << 20;
  // A message that every backend can carry.
  static constexpr std::size_t kMessageBytes = 4096;

  ContractTest();
  ~ContractTest() override;

  void SetUp() final;
  // For fixtures: runs when both sides are open and know each other.
  virtual void Prepare() {}
  // For fixtures: the options of the queues and endpoints of all sides, beside their parts.
  virtual fabric::CompletionQueueOptions QueueOptions() { return {}; }
  virtual fabric::EndpointOptions Options(Side& side);

  // Opens a side on a fabric.
  void Open(fabric::Fabric& fabric, Side& side);
  // Closes everything of a side, in order.
  static void Close(Side& side);
  // Opens one more side beside the target, with a domain of its own; it knows the initiator, as its
  // `peer`. Returns the initiator's peer for it.
  fabric::Peer OpenThird();
  // Another endpoint of a side's domain, on the same queue and address vector.
  std::unique_ptr<fabric::Endpoint> OpenAnother(Side& side);
  // The parts of a side's endpoint, for tests that add options of their own.
  static fabric::EndpointOptions PartsOf(const Side& side);
  // A region over a part of a side's memory.
  static std::unique_ptr<fabric::MemoryRegion> Register(Side& side, std::size_t offset,
                                                        std::size_t length, fabric::Access access);

  bool Has(fabric::Capability capability) const {
    return initiator_.domain->nic().capabilities.Has(capability);
  }
  bool Has(Trait trait) const { return traits_.count(trait) > 0; }
  const fabric::Limits& limits() const { return initiator_.domain->nic().limits; }

  // Both sides have talked: from here on, kAgain means a full queue and not a connection that is
  // being made.
  void Connect();

  // Posts until it is accepted, reading all queues while it is not. Returns the final answer.
  fabric::ErrorCode Post(const std::function<fabric::ErrorCode()>& post);
  // The same for a batch: requests that a kAgain left over are posted again.
  template <typename Request>
  fabric::ErrorCode PostAll(
      const std::vector<Request>& requests,
      const std::function<fabric::PostResult(std::span<const Request>)>& post) {
    std::span<const Request> rest = requests;
    return Post([&] {
      const fabric::PostResult result = post(rest);
      rest = rest.subspan(result.accepted);
      return result.error;
    });
  }

  // Requests of the initiator to its peer, in its own memory.
  fabric::SendRequest SendOf(std::size_t offset, std::size_t length,
                             std::optional<fabric::Context> context) const;
  fabric::WriteRequest WriteOf(std::size_t from, std::size_t length, fabric::RemoteBuffer to,
                               std::optional<fabric::Context> context) const;
  fabric::ReadRequest ReadOf(std::size_t to, std::size_t length, fabric::RemoteBuffer from,
                             std::optional<fabric::Context> context) const;
  // A receive of the target.
  fabric::RecvRequest RecvOf(std::size_t offset, std::size_t length,
                             std::optional<fabric::Context> context) const;

  fabric::ErrorCode Send(std::size_t offset, std::size_t length, std::uint64_t context,
                         std::optional<std::uint32_t> immediate = std::nullopt);
  fabric::ErrorCode Write(std::size_t from, std::size_t length, fabric::RemoteBuffer to,
                          std::uint64_t context,
                          std::optional<std::uint32_t> immediate = std::nullopt);
  fabric::ErrorCode Read(std::size_t to, std::size_t length, fabric::RemoteBuffer from,
                         std::uint64_t context);
  // The target posts a receive into its own memory.
  fabric::ErrorCode Recv(std::size_t offset, std::size_t length, std::uint64_t context);

  // Reads a side's queue once; every side's.
  static void ReadQueue(Side& side);
  void Pump();
  // Pumps until `done`, at most the backend's patience; returns whether it is done.
  bool PumpUntil(const std::function<bool()>& done);
  // Pumps for Backend's watch time, to see that an event does not happen.
  void PumpQuietly();

  // Waits for the completion with this context, and takes it out of the side's list. Fails the test
  // when none comes.
  fabric::Completion Take(Side& side, std::uint64_t context);
  // The same for a peer's write with immediate.
  fabric::Completion TakeRemoteWrite(Side& side);
  // Waits for the completion of an operation that this backend may not be able to see failing;
  // empty when none came.
  std::optional<fabric::Completion> TakeIfAny(Side& side, std::uint64_t context);

  // Fills a range with a pattern that depends on `seed`; checks it.
  static void Fill(std::span<std::byte> bytes, std::uint8_t seed);
  static bool Holds(std::span<const std::byte> bytes, std::uint8_t seed);
  // True when every byte of the range is zero, as memory is in the beginning.
  static bool Untouched(std::span<const std::byte> bytes);

  std::span<std::byte> Bytes(Side& side, std::size_t offset, std::size_t length) {
    return std::span(side.memory).subspan(offset, length);
  }

  std::unique_ptr<Backend> backend_;
  const Traits traits_;
  Side initiator_{backend_->memory()};
  Side target_{backend_->memory()};
  Side third_{backend_->memory()};  // empty before OpenThird

 private:
  std::size_t CompletionsRead() const;
  fabric::Completion TakeMatching(Side& side,
                                  const std::function<bool(const fabric::Completion&)>& matches,
                                  const char* what);
};

}  // namespace drydock::contract

#endif  // DRYDOCK_TESTING_CONTRACT_CONTRACT_TEST_H_
