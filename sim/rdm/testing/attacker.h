// The common parts of tests of lying peers: a peer that sends any packets, and the honest
// conversation that goes on beside it.

#ifndef DRYDOCK_SIM_RDM_TESTING_ATTACKER_H_
#define DRYDOCK_SIM_RDM_TESTING_ATTACKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/testing/test_bed.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {

// A bare device endpoint that sends any packets, and keeps the answers.
class Attacker {
 public:
  static constexpr std::size_t kPacket = 8928;
  static constexpr std::size_t kReceives = 32;

  // `receives`: whether it ever posts a receive.
  Attacker(TestBed& bed, const fabric::Address& victim, bool receives = true)
      : bed_(bed),
        fabric_(OpenSimFabric(bed.world(), bed.world().AddNode("attacker"))),
        memory_((kReceives + 1) * kPacket),
        nic_(fabric::OpenNic(*fabric_).value()),
        region_(
            nic_.domain->RegisterMemory({.data = memory_.data(), .length_bytes = memory_.size()})
                .value()),
        victim_(nic_.peers->Insert(victim).value()) {
    for (std::size_t i = 0; receives && i < kReceives; ++i) PostReceive(i);
  }

  fabric::Address address() const { return nic_.endpoint->address(); }
  fabric::RemoteBuffer memory() const { return region_->remote(); }

  // A header that names us as its sender.
  PacketHeader Signed(PacketHeader header) const {
    header.source = address();
    header.connid = ConnidOf(address());
    return header;
  }
  void Send(std::span<const std::byte> bytes) {
    Post(bytes);
    while (!sent_) Step();
    sent_ = false;
  }
  // False when the victim's device does not take it in a while; then it is still on its way.
  bool TrySend(const PacketHeader& header, std::span<const std::byte> payload) {
    std::vector<std::byte> bytes(kMaxHeaderBytes + payload.size());
    const std::size_t length = Encode(header, bytes);
    std::memcpy(bytes.data() + length, payload.data(), payload.size());
    Post(std::span(bytes).first(length + payload.size()));
    for (int turn = 0; turn < 500 && !sent_; ++turn) Step();
    return std::exchange(sent_, false);
  }
  void Post(std::span<const std::byte> bytes) {
    std::byte* place = memory_.data() + kReceives * kPacket;
    if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
    const fabric::SendRequest request{.buffer = region_->Local(kReceives * kPacket, bytes.size()),
                                      .peer = victim_,
                                      .context = fabric::Context{kReceives}};
    ASSERT_EQ(nic_.endpoint->Send(request), fabric::ErrorCode::kOk);
  }
  void Send(const PacketHeader& header, std::span<const std::byte> payload = {}) {
    std::vector<std::byte> bytes(kMaxHeaderBytes + payload.size());
    const std::size_t length = Encode(header, bytes);
    if (!payload.empty()) std::memcpy(bytes.data() + length, payload.data(), payload.size());
    Send(std::span(bytes).first(length + payload.size()));
  }

  // Lets all machines work a little.
  void Step() {
    std::array<fabric::Completion, 16> entries;
    const fabric::ReadResult result = nic_.queue->Read(entries);
    for (std::size_t i = 0; i < result.count; ++i) {
      if (!entries[i].context.has_value()) continue;
      const auto number = static_cast<std::size_t>(*entries[i].context);
      if (number == kReceives) {
        sent_ = true;
        continue;
      }
      const auto packet =
          Decode(std::span(memory_).subspan(number * kPacket, entries[i].length_bytes));
      if (packet.has_value()) answers.push_back(packet->header);
      PostReceive(number);
    }
    bed_.Pump();
  }
  // Waits for an answer of this kind.
  std::optional<PacketHeader> Answer(PacketKind kind) {
    for (int turn = 0; turn < 2000; ++turn) {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].kind != kind) continue;
        const PacketHeader found = answers[i];
        answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(i));
        return found;
      }
      Step();
    }
    return std::nullopt;
  }

  std::vector<PacketHeader> answers;

 private:
  void PostReceive(std::size_t number) {
    const fabric::RecvRequest request{.buffer = region_->Local(number * kPacket, kPacket),
                                      .context = fabric::Context{number}};
    ASSERT_EQ(nic_.endpoint->Recv(request), fabric::ErrorCode::kOk);
  }

  TestBed& bed_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::vector<std::byte> memory_;
  fabric::OpenedNic nic_;
  std::unique_ptr<fabric::MemoryRegion> region_;
  fabric::Peer victim_;
  bool sent_ = false;
};

// An honest conversation between a and b, of every size class, whose data is checked.
inline void ExpectGoodConversation(TestBed& bed, std::uint32_t pattern) {
  std::uint64_t context = 5000;
  for (const std::size_t length : {0u, 500u, 20000u, 300000u, 1500000u}) {
    SCOPED_TRACE(length);
    Fill(bed.a().Bytes(0, length), pattern);
    const fabric::TaggedRecvRequest receive{.buffer = bed.b().Local(0, length),
                                            .tag = context,
                                            .source = bed.b().peers[0],
                                            .context = fabric::Context{context}};
    const fabric::TaggedSendRequest send{.buffer = bed.a().Local(0, length),
                                         .peer = bed.a().peers[1],
                                         .tag = context,
                                         .context = fabric::Context{context}};
    ASSERT_EQ(bed.Post([&] { return bed.b().tagged().RecvTagged(receive); }),
              fabric::ErrorCode::kOk);
    ASSERT_EQ(bed.Post([&] { return bed.a().tagged().SendTagged(send); }), fabric::ErrorCode::kOk);
    const fabric::Completion received = bed.Take(bed.b(), context);
    EXPECT_EQ(received.error, fabric::ErrorCode::kOk);
    EXPECT_EQ(received.length_bytes, length);
    EXPECT_TRUE(Holds(bed.b().Bytes(0, length), pattern));
    EXPECT_EQ(bed.Take(bed.a(), context).error, fabric::ErrorCode::kOk);
    ++context;
  }
}

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_TESTING_ATTACKER_H_
