// One end of a conversation through a provider of libfabric, in a process of its own.

#ifndef DRYDOCK_TESTING_TWO_PROCESSES_PROVIDER_NODE_H_
#define DRYDOCK_TESTING_TWO_PROCESSES_PROVIDER_NODE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drydock/fabric/fabric.h"
#include "drydock/fabric/libfabric/libfabric_fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/hosts/testing/child_process.h"

namespace drydock::two_processes {

// Everything that a program opens, and memory with every right. What cannot be opened ends the
// process.
struct ProviderNode {
  explicit ProviderNode(std::size_t memory_bytes, const std::string& provider = "efa")
      : fabric(fabric::libfabric::OpenLibfabric(provider).value()), memory(memory_bytes) {}
  ~ProviderNode() { nic.endpoint.reset(); }  // before its memory
  ProviderNode(const ProviderNode&) = delete;
  ProviderNode& operator=(const ProviderNode&) = delete;

  // Tells the other process where this endpoint is; hears where its is, and knows it from then on.
  void TellAddress(sim_testing::Talk& talk) const {
    const fabric::Address address = nic.endpoint->address();
    FarAddress own{.size = address.size()};
    std::copy(address.bytes().begin(), address.bytes().end(), own.bytes.begin());
    talk.Say(own);
  }
  fabric::Peer HearPeer(sim_testing::Talk& talk) {
    const auto far = talk.Hear<FarAddress>();
    return nic.peers->Insert(*fabric::Address::FromBytes({far.bytes.data(), far.size})).value();
  }

  std::unique_ptr<fabric::Fabric> fabric;
  fabric::OpenedNic nic = fabric::OpenNic(*fabric).value();
  std::vector<std::byte> memory;
  std::unique_ptr<fabric::MemoryRegion> region =
      nic.domain->RegisterMemory({.data = memory.data(), .length_bytes = memory.size()}).value();

 private:
  struct FarAddress {
    std::array<std::uint8_t, fabric::Address::kMaxBytes> bytes{};
    std::size_t size = 0;
  };
};

}  // namespace drydock::two_processes

#endif  // DRYDOCK_TESTING_TWO_PROCESSES_PROVIDER_NODE_H_
