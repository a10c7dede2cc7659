// The contract suite on a provider of libfabric: DRYDOCK_PROVIDER names it (tcp, shm, efa,
// efa-direct). With DRYDOCK_PROCESSES=2 the target is in another process.

#include <rdma/fabric.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/libfabric/libfabric_fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/testing/contract/backend.h"
#include "drydock/testing/two_processes/far_fabric.h"

namespace drydock::contract {
namespace {

using namespace std::chrono_literals;
using fabric::Capability;

std::string Provider() { return std::getenv("DRYDOCK_PROVIDER"); }

bool IsEfa() { return Provider() == "efa" || Provider() == "efa-direct"; }

// Whether the provider efa makes messages of writes: up to libfabric 1.17.
bool IsOldEfa() { return Provider() == "efa" && fi_version() < FI_VERSION(1, 18); }

// Whether tcp is a provider of its own, without the layer (rxm) that makes messages of atomics: from
// libfabric 2.0 on.
bool IsPlainTcp() { return Provider() == "tcp" && fi_version() >= FI_VERSION(2, 0); }

bool IsNewShm() { return Provider() == "shm" && fi_version() >= FI_VERSION(2, 0); }

std::unique_ptr<two_processes::FarFabric> OpenFar() {
  const char* processes = std::getenv("DRYDOCK_PROCESSES");
  if (processes == nullptr || std::string_view(processes) != "2") return nullptr;
  return std::make_unique<two_processes::FarFabric>([]() -> fabric::Fabric* {
    return fabric::libfabric::OpenLibfabric(Provider()).value().release();
  });
}

class LibfabricBackend final : public Backend {
 public:
  fabric::Fabric& initiator() override { return *fabric_; }
  fabric::Fabric& target() override {
    if (far_ != nullptr) return *far_;
    return *fabric_;
  }
  std::pmr::memory_resource& memory() override {
    return far_ == nullptr ? Backend::memory() : far_->shared();
  }
  coro::Time Now() override { return clock_.Now(); }
  // The providers make progress only while they are polled: a short sleep, which leaves the processor to the other
  // process and to the device.
  void Idle() override { std::this_thread::sleep_for(50us); }
  coro::Duration Patience() const override { return 60s; }
  coro::Duration Quiet() const override { return 50ms; }
  std::string Description() const override { return std::string(fabric_->description()); }

  fabric::Address NobodysAddress() override {
    if (Provider() == "shm") {
      static constexpr char kName[] = "fi_shm://999999:0:0";
      return *fabric::Address::FromBytes(
          {reinterpret_cast<const std::uint8_t*>(kName), sizeof kName});
    }
    if (IsEfa()) return StrangerOnOurNic();
    // 127.0.0.1, port 1: there is no listener.
    static constexpr std::array<std::uint8_t, 16> kSocket = {2, 0, 0, 1, 127, 0, 0, 1};
    return *fabric::Address::FromBytes(kSocket);
  }

  fabric::CapabilitySet ExpectedCapabilities() const override {
    using enum Capability;
    fabric::CapabilitySet set{kMessages,      kRemoteWrite,          kRemoteRead,
                              kImmediateData, kUnsolicitedImmediate, kInject,
                              kCounters};
    if (Provider() != "efa-direct") {
      for (const Capability more : {kLongMessages, kSendOrder, kTaggedMessages, kCancel}) {
        set.Add(more);
      }
      if (Provider() != "shm") set.Add(kMultiReceive);
      set.Add(IsPlainTcp() ? kWriteOrder : kAtomics);
      set.Add(IsPlainTcp() ? kReadRights : kDirectedReceive);
    }
    for (const Capability capability : Own()) set.Add(capability);
    return set;
  }

  Traits ExpectedTraits() const override {
    using enum Trait;
    // A write that has begun to arrive is written to its end; a refusal ends the connection.
    if (Provider() == "tcp") {
      Traits tcp{kReadProtection, kSilentWriteProtection, kCloseInFlight,
                 kLongTruncation, kUnexpectedWildcard,    kErrorCounts};
      if (IsPlainTcp()) tcp.insert(kRemoteWriteLength);
      return tcp;
    }
    // An initiator reaches into its target by itself, past all keys; what it hands to the target
    // waits in one line; peers in one process follow pointers into an endpoint that was closed; a
    // long message into a receive that is too short never ends; ignored bits of a tag count where a
    // message was there first; failures raise no counter.
    if (IsNewShm()) {
      return {kRemoteWriteLength, kRevocation, kReadProtection, kSilentWriteProtection,
              kUnexpectedWildcard};
    }
    if (Provider() == "shm") return {kRemoteWriteLength, kRevocation};
    // The target takes a write apart from messages: it alone learns of a write that it refuses, and
    // the initiator waits for ever.
    if (IsOldEfa()) {
      return {kRemoteWriteLength, kRevocation,         kCloseInFlight,
              kLongTruncation,    kUnexpectedWildcard, kErrorCounts};
    }
    Traits efa{kRemoteErrors,          kClosedPeerErrors, kRemoteWriteLength, kReadProtection,
               kSilentWriteProtection, kRevocation,       kFailureIsolation,  kCloseInFlight,
               kLongTruncation,        kErrorCounts};
    efa.insert(Provider() == "efa-direct" ? kSourceTruncation : kUnexpectedWildcard);
    return efa;
  }

  std::vector<std::string> NotApplicable() const override {
    std::vector<std::string> names = {"DatagramContract.*",
                                      "MemoryContract.RefusedWriteLeavesItsNeighboursAlone",
                                      "RetryContract.*", "SolicitedContract.*"};
    if (Provider() == "efa-direct") {
      return {"AtomicsContract.*",
              "CancelContract.*",
              "ClosingContract.LongMessageMayBeUnderWay",
              "DatagramContract.*",
              "DirectedContract.*",
              "InjectContract.TaggedMessageCanBeInjected",
              "MessageLimitContract.LongMessageIsCutAsAShortOneIs",
              "MultiReceiveContract.*",
              "SolicitedContract.*",
              "SourceContract.TaggedReceiveNamesItsSender",
              "TaggedContract.*",
              "WaitContract.*"};
    }
    if (Provider() == "efa" && !IsOldEfa()) {
      return {"DatagramContract.*",
              "RetryContract.FailedMessageDoesNotComeLater",
              "RetryContract.FiniteRetriesEnd",
              "RetryContract.SevenMeansForEver",
              "SolicitedContract.*",
              "WaitContract.*"};
    }
    if (Provider() == "efa") {
      return {"DatagramContract.*",
              "MemoryContract.RefusedWriteLeavesItsNeighboursAlone",
              "RetryContract.FailedMessageDoesNotComeLater",
              "RetryContract.FiniteRetriesEnd",
              "RetryContract.SevenMeansForEver",
              "SolicitedContract.*",
              "WaitContract.*"};
    }
    if (IsPlainTcp()) names.insert(names.end(), {"AtomicsContract.*", "DirectedContract.*"});
    if (Provider() == "shm") {
      names.insert(
          names.end(),
          {"CancelContract.MultiReceiveCanBeCancelled", "ClosingContract.LongMessageMayBeUnderWay",
           "DirectedContract.StrangerMeetsNoDirectedReceive",
           "MessageLimitContract.LongMessageIsCutAsAShortOneIs", "MultiReceiveContract.*",
           "SourceContract.*", "TaggedContract.LongMessageIsCut", "WaitContract.*"});
    }
    return names;
  }

  // Of libfabric 2.1.
  std::vector<std::string> Broken() const override {
    // The message waits for ever.
    if (IsPlainTcp()) return {"MessageLimitContract.EmptyReceiveTakesOnlyEmptyMessages"};
    if (!IsNewShm()) return {};
    return {// Progress after an endpoint of the same process was closed: SIGSEGV.
            "ClosingContract.NextEndpointOnAQueueStartsClean", "ClosingContract.NoRequestEndsTwice",
            "ClosingContract.NothingLandsInAClosedEndpoint",
            // A message that waited does not fit its receive: SIGSEGV.
            "DirectedContract.OldestReceiveThatFitsTakesTheMessage",
            "TaggedContract.OverlongMessageIsCut",
            // A read that its target refuses takes its peer's room (-FI_EAGAIN), or never ends.
            "ProtectionContract.ReadEndsWithTheRegion", "ProtectionContract.ReadNeedsTheKey",
            "ProtectionContract.RightToSendIsNoRightToReadWherePromised"};
  }

 private:
  // An address on EFA has to name a NIC that is there: no queue pair of ours has this number.
  fabric::Address StrangerOnOurNic() {
    const fabric::OpenedNic nic = fabric::OpenNic(*fabric_).value();
    std::array<std::uint8_t, 32> bytes{};
    std::copy_n(nic.endpoint->address().bytes().begin(), 16, bytes.begin());
    bytes[16] = bytes[17] = 0xff;
    return *fabric::Address::FromBytes(bytes);
  }

  // Capabilities that not every provider has.
  static std::vector<Capability> Own() {
    using enum Capability;
    if (Provider() == "tcp") return {kBlockingWait, kSourceAddress};
    if (Provider() == "shm") return {kRemoteCounts};
    if (Provider() == "efa") return {kReceiverNotReadyRetry, kSourceAddress};
    return {kReceiverNotReadyRetry, kMutualInsertion, kSourceAddress, kLocalRegistration};
  }

  coro::SteadyClock clock_;
  // Null: one process. First of all, because it forks.
  const std::unique_ptr<two_processes::FarFabric> far_ = OpenFar();
  const std::unique_ptr<fabric::Fabric> fabric_ =
      fabric::libfabric::OpenLibfabric(Provider()).value();
};

}  // namespace

std::unique_ptr<Backend> MakeBackend() { return std::make_unique<LibfabricBackend>(); }

}  // namespace drydock::contract
