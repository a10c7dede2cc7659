// The device's counters: exact values of known runs, and the agreement of two ends.

#include "drydock/sim/world/metrics.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/fabric/metrics/counted_fabric.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/scene.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::Access;
using fabric::ErrorCode;
using fabric::metrics::CounterInfo;
using fabric::metrics::NicMetrics;

constexpr std::size_t kMtu = 8928;

std::uint64_t ValueOf(const NicMetrics& metrics, std::string_view name) {
  const auto* counter = fabric::metrics::Find(metrics, name);
  EXPECT_NE(counter, nullptr) << name;
  return counter == nullptr ? 0 : counter->value;
}

// What left one of them has reached the other, and nothing else has.
void ExpectConserved(const Side& from, const Side& to) {
  const sim::DeviceCounters& sent = from.nic.counters();
  const sim::DeviceCounters& received = to.nic.counters();
  EXPECT_EQ(sent.tx_pkts - sent.retrans_pkts, received.rx_pkts);
  EXPECT_EQ(sent.tx_bytes - sent.retrans_bytes, received.rx_bytes);
}

TEST(MetricsTest, EveryCounterOfTheTableIsThereUnderItsNameInItsOrder) {
  const auto named = sim::NamedCounters({});
  const auto table = fabric::metrics::CounterTable();
  ASSERT_EQ(named.size(), table.size());
  for (std::size_t i = 0; i < table.size(); ++i) EXPECT_EQ(named[i].name, table[i].name);
}

TEST(MetricsTest, AreOfEachNicOfEachMachine) {
  Scene s(Calm());
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 100, 1)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  const std::vector<NicMetrics> all = sim::MetricsOf(s.lab.world());
  ASSERT_EQ(all.size(), s.lab.world().nics().size());
  EXPECT_EQ(all[0].node, "initiator");
  EXPECT_EQ(all[0].nic, s.a.fabric->nics()[0].name);
  EXPECT_EQ(all[0].source, "simulated");
  EXPECT_EQ(ValueOf(all[0], "rdma_write_wrs"), 1u);
  EXPECT_EQ(ValueOf(all[0], "rdma_write_bytes"), 100u);
  for (const NicMetrics& nic : all) {
    const std::uint64_t received = ValueOf(nic, "rdma_write_recv_bytes");
    EXPECT_EQ(received, nic.node == "target" && nic.nic == all[0].nic ? 100u : 0u);
  }
}

TEST(MetricsTest, WritesOfManyPacketsAreCountedExactly) {
  Scene s(Calm());
  constexpr std::uint64_t kWrites = 10;
  constexpr std::uint64_t kBytes = 3 * kMtu + 1;  // four packets
  for (std::uint64_t i = 1; i <= kWrites; ++i) {
    ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, kBytes, i)), ErrorCode::kOk);
  }
  for (std::uint64_t i = 1; i <= kWrites; ++i) EXPECT_TRUE(s.lab.Take(s.a, i).ok());
  const sim::DeviceCounters& ours = s.a.nic.counters();
  EXPECT_EQ(ours.rdma_write_wrs, kWrites);
  EXPECT_EQ(ours.rdma_write_bytes, kWrites * kBytes);
  EXPECT_EQ(s.b.nic.counters().rdma_write_recv_bytes, kWrites * kBytes);
  EXPECT_EQ(ours.tx_pkts, 4 * kWrites);
  EXPECT_EQ(ours.tx_bytes, kWrites * (kBytes + 4 * s.lab.world().profile().header_bytes));
  ExpectConserved(s.a, s.b);
}

TEST(MetricsTest, WhatIsSentAgainIsCountedTwice) {
  sim::Profile lossy = Calm();
  lossy.retransmit_one_in = 3;
  Scene s(lossy);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 20 * kMtu, 1)), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Read(s.a.ReadFrom(s.b, 0, 20 * kMtu, 2)), ErrorCode::kOk);
  EXPECT_TRUE(s.lab.Take(s.a, 1).ok());
  EXPECT_TRUE(s.lab.Take(s.a, 2).ok());
  const sim::DeviceCounters& ours = s.a.nic.counters();
  EXPECT_GT(ours.retrans_pkts, 0u);
  EXPECT_GT(ours.retrans_bytes, ours.retrans_pkts * lossy.header_bytes);
  EXPECT_EQ(ours.tx_pkts, 21 + ours.retrans_pkts);  // the write, and the request of the read
  EXPECT_GT(s.b.nic.counters().retrans_pkts, 0u);
  EXPECT_EQ(ours.rdma_write_wrs, 1u);  // and the program sees nothing of it
  ExpectConserved(s.a, s.b);
  ExpectConserved(s.b, s.a);
}

TEST(MetricsTest, MessagesWithoutAReceiveAreDropsThatAreSentAgain) {
  Scene s(Calm(), {.retries = 2});
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 500, 1)), ErrorCode::kOk);
  EXPECT_FALSE(s.lab.Take(s.a, 1).ok());
  const sim::DeviceCounters& ours = s.a.nic.counters();
  EXPECT_EQ(s.b.nic.counters().rx_drops, 3u);
  EXPECT_EQ(ours.tx_pkts, 3u);
  EXPECT_EQ(ours.retrans_pkts, 0u);  // the network has lost nothing
  EXPECT_EQ(ours.send_wrs, 1u);
  EXPECT_EQ(ours.send_bytes, 0u);  // it has failed
  EXPECT_EQ(s.b.nic.counters().recv_wrs, 0u);
  ExpectConserved(s.a, s.b);
}

TEST(MetricsTest, FailuresAreCountedByKind) {
  Scene s(Calm());
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 100, 1);
  write.target.key ^= 0x5555;
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  fabric::ReadRequest read = s.a.ReadFrom(s.b, 0, 100, 2);
  read.source.address += 1 << 30;
  ASSERT_EQ(s.a.endpoint->Read(read), ErrorCode::kOk);
  EXPECT_FALSE(s.lab.Take(s.a, 1).ok());
  EXPECT_FALSE(s.lab.Take(s.a, 2).ok());
  const sim::DeviceCounters& ours = s.a.nic.counters();
  EXPECT_EQ(ours.rdma_write_wr_err, 1u);
  EXPECT_EQ(ours.rdma_write_bytes, 0u);
  EXPECT_EQ(ours.rdma_read_wr_err, 1u);
  EXPECT_EQ(ours.rdma_read_bytes, 0u);
  EXPECT_EQ(s.b.nic.counters().rdma_read_resp_bytes, 0u);
  s.lab.world().checks().TakeFindings();  // the checks have seen them too
}

TEST(MetricsTest, SilentPeersAreGivenUpOnce) {
  Scene s(Calm());
  s.b.node.Kill();
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(s.b, 0, 3 * kMtu, 1)), ErrorCode::kOk);
  EXPECT_FALSE(s.lab.Take(s.a, 1).ok());
  EXPECT_EQ(s.a.nic.counters().unresponsive_remote_events, 1u);
  EXPECT_EQ(s.b.nic.counters().rx_pkts, 0u);
}

TEST(MetricsTest, CommandsOfTheDriverAreCountedAndThoseThatFailUnderTheirNames) {
  sim::Profile tight = Calm();
  tight.device.max_mr = 2;
  tight.device.max_cq = 2;
  tight.device.max_qp = 2;
  Lab lab(1, tight);
  Side& a = lab.Add("a");
  const sim::DeviceCounters& counters = a.nic.counters();
  // A domain, a region, a queue; a queue pair is created and modified three times.
  EXPECT_EQ(counters.submitted_cmds, 7u);
  auto region = a.Register(0, 4096, Access::kAll);
  EXPECT_EQ(counters.submitted_cmds, 8u);
  fabric::MemoryRequest request;
  request.data = a.memory().data();
  request.length_bytes = 4096;
  request.access = Access::kAll;
  EXPECT_FALSE(a.domain->RegisterMemory(request).ok());
  EXPECT_EQ(counters.reg_mr_err, 1u);
  {
    const auto queue = Must(a.domain->OpenCompletionQueue({}));
    EXPECT_FALSE(a.domain->OpenCompletionQueue({}).ok());
    EXPECT_EQ(counters.create_cq_err, 1u);
    const auto endpoint = Must(a.domain->OpenEndpoint(a.Parts()));
    EXPECT_FALSE(a.domain->OpenEndpoint(a.Parts()).ok());
    EXPECT_EQ(counters.create_qp_err, 1u);
  }
  EXPECT_TRUE(region->Close().ok());
  EXPECT_EQ(counters.cmds_err, 3u);
  // 8 before; refused 3; a queue and a queue pair that came (5) and went (2); the region went.
  EXPECT_EQ(counters.submitted_cmds, 19u);
  EXPECT_EQ(counters.completed_cmds, counters.submitted_cmds);
  const std::uint64_t before = counters.submitted_cmds;
  lab.Introduce();
  lab.Introduce();
  EXPECT_EQ(counters.submitted_cmds, before + 1);  // one address handle for each destination
}

TEST(MetricsTest, DevicesInRealTimeCountTheSame) {
  const auto run = [](sim::ClockKind clock) {
    Lab lab(1, Calm(), clock);
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    lab.Introduce();
    EXPECT_EQ(b.endpoint->Recv(b.RecvAt(0, 1000, 9)), ErrorCode::kOk);
    EXPECT_EQ(a.endpoint->Send(a.SendTo(b, 0, 700, 1)), ErrorCode::kOk);
    EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 2 * kMtu + 5, 2)), ErrorCode::kOk);
    EXPECT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 64, 3)), ErrorCode::kOk);
    EXPECT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, kMtu + 1, 4)), ErrorCode::kOk);
    for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_TRUE(lab.Take(a, i).ok());
    EXPECT_TRUE(lab.Take(b, 9).ok());
    ExpectConserved(a, b);
    ExpectConserved(b, a);
    EXPECT_GT(a.nic.counters().tx_pkts, 0u);
    std::vector<NicMetrics> all = sim::MetricsOf(lab.world());
    return all;
  };
  const auto simulated = run(sim::ClockKind::kVirtual);
  const auto real = run(sim::ClockKind::kReal);
  ASSERT_EQ(simulated.size(), real.size());
  for (std::size_t i = 0; i < real.size(); ++i) {
    for (std::size_t k = 0; k < real[i].counters.size(); ++k) {
      EXPECT_EQ(real[i].counters[k].value, simulated[i].counters[k].value)
          << real[i].node << " " << real[i].counters[k].name;
    }
  }
}

// ---- Counted where the program posts ----

TEST(CountedFabricTest, CountsWhatTheDeviceCountsAsFarAsItCanBeSeen) {
  Lab lab(1, Calm());
  Side& b = lab.Add("b");
  sim::Node& node = lab.world().AddNode("a");
  fabric::metrics::CountedFabric counted(sim::OpenSimFabric(lab.world(), node));
  const auto fabric = counted.Take();
  EXPECT_TRUE(counted.Metrics().empty());  // nothing was opened
  const auto domain = Must(fabric->OpenDomain(0));
  const auto queue = Must(domain->OpenCompletionQueue({}));
  const auto peers = Must(domain->OpenAddressVector());
  std::vector<std::byte> memory(65536);
  fabric::MemoryRequest request;
  request.data = memory.data();
  request.length_bytes = memory.size();
  request.access = Access::kAll;
  const auto region = Must(domain->RegisterMemory(request));
  request.data = nullptr;
  EXPECT_FALSE(domain->RegisterMemory(request).ok());
  EXPECT_FALSE(fabric->OpenDomain(1000).ok());
  fabric::EndpointOptions parts;
  parts.send_queue = parts.receive_queue = queue.get();
  parts.address_vector = peers.get();
  const auto endpoint = Must(domain->OpenEndpoint(parts));
  const fabric::Peer peer = Must(peers->Insert(b.endpoint->address()));
  const fabric::Peer back = Must(b.peers->Insert(endpoint->address()));

  ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 1000, 1)), ErrorCode::kOk);
  fabric::SendRequest send{.buffer = region->Local(0, 600), .peer = peer};
  const fabric::LocalBuffer more[] = {region->Local(1000, 100)};
  send.more = more;
  ASSERT_EQ(endpoint->Send(send), ErrorCode::kOk);
  fabric::WriteRequest write{.source = region->Local(0, 5000), .target = b.Remote(0), .peer = peer};
  const fabric::WriteRequest writes[] = {write, write, write};
  ASSERT_EQ(endpoint->Write(writes).accepted, 3u);
  ASSERT_EQ(endpoint->Read({.target = region->Local(0, 77), .source = b.Remote(0), .peer = peer}),
            ErrorCode::kOk);
  ASSERT_EQ(endpoint->Recv({.buffer = region->Local(0, 4096), .context = fabric::Context{6}}),
            ErrorCode::kOk);
  fabric::SendRequest answer{.buffer = b.Local(0, 300), .peer = back};
  ASSERT_EQ(b.endpoint->Send(answer), ErrorCode::kOk);
  write.target.key ^= 0x5555;
  write.context = fabric::Context{7};
  ASSERT_EQ(endpoint->Write(write), ErrorCode::kOk);
  std::vector<fabric::Completion> entries(16);
  lab.Until([&] {
    for (std::size_t i = queue->Read(entries).count; i > 0; --i) {
      if (!entries[i - 1].ok()) return true;
    }
    return false;
  });
  lab.Watch();
  queue->Read(entries);

  const std::vector<NicMetrics> all = counted.Metrics();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].source, "program");
  EXPECT_EQ(all[0].nic, fabric->nics()[0].name);
  EXPECT_EQ(fabric::metrics::Find(all[0], "tx_pkts"), nullptr);  // not known, and not 0
  NicMetrics device;
  for (const NicMetrics& nic : sim::MetricsOf(lab.world())) {
    if (nic.node == "a" && nic.nic == all[0].nic) device = nic;
  }
  for (const char* name :
       {"send_wrs", "send_bytes", "recv_wrs", "recv_bytes", "rdma_read_wrs", "rdma_read_bytes",
        "rdma_read_wr_err", "rdma_write_wrs", "rdma_write_wr_err"}) {
    EXPECT_EQ(ValueOf(all[0], name), ValueOf(device, name)) << name;
  }
  EXPECT_EQ(ValueOf(all[0], "send_bytes"), 700u);
  EXPECT_EQ(ValueOf(all[0], "rdma_write_wr_err"), 1u);
  EXPECT_EQ(ValueOf(all[0], "rdma_write_bytes"), 20000u);  // the one that failed, too
  EXPECT_EQ(ValueOf(all[0], "reg_mr_err"), 1u);
  lab.world().checks().TakeFindings();
}

}  // namespace
}  // namespace drydock::sim_testing
