// The limits of a device, the separation of its domains, and its counters.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/fabric/memory.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/testing/lab.h"
#include "drydock/sim/testing/scene.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using namespace std::chrono_literals;

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

using fabric::Access;
using fabric::Completion;
using fabric::ErrorCode;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

// ---- Limits ----

TEST(LimitTest, ProtectionDomains) {
  Lab lab(1);
  Side& a = lab.Add("a");
  const std::size_t most = lab.world().profile().device.max_pd;
  std::vector<std::unique_ptr<fabric::Domain>> domains;
  for (std::size_t i = 1; i < most; ++i) {  // the side has one itself
    domains.push_back(Must(a.fabric->OpenDomain(0)));
  }
  EXPECT_THAT(a.fabric->OpenDomain(0), StatusIs(kExhausted, AllOf(HasSubstr("protection domain"),
                                                                  HasSubstr(absl::StrCat(most)))));
  EXPECT_THAT(a.fabric->OpenDomain(1), IsOk());  // another NIC has its own
  domains.pop_back();
  EXPECT_THAT(a.fabric->OpenDomain(0), IsOk());
}

TEST(LimitTest, QueuePairs) {
  Lab lab(1);
  Side& a = lab.Add("a");
  const std::size_t most = lab.world().profile().device.max_qp;
  std::vector<std::unique_ptr<fabric::Endpoint>> endpoints;
  for (std::size_t i = 1; i < most; ++i) {  // the side has one itself
    fabric::EndpointOptions options = a.Parts();
    if (i % 2 == 0) options.type = fabric::EndpointType::kDatagram;  // both kinds together
    endpoints.push_back(Must(a.domain->OpenEndpoint(options)));
  }
  EXPECT_THAT(a.domain->OpenEndpoint(a.Parts()),
              StatusIs(kExhausted, AllOf(HasSubstr("queue pair"), HasSubstr(absl::StrCat(most)))));
  endpoints.pop_back();
  EXPECT_THAT(a.domain->OpenEndpoint(a.Parts()), IsOk());
}

TEST(LimitTest, CompletionQueues) {
  Lab lab(1);
  Side& a = lab.Add("a");
  const std::size_t most = lab.world().profile().device.max_cq;
  std::vector<std::unique_ptr<fabric::CompletionQueue>> queues;
  for (std::size_t i = 1; i < most; ++i) {
    queues.push_back(Must(a.domain->OpenCompletionQueue({.depth = 1})));
  }
  EXPECT_THAT(
      a.domain->OpenCompletionQueue({.depth = 1}),
      StatusIs(kExhausted, AllOf(HasSubstr("completion queue"), HasSubstr(absl::StrCat(most)))));
  queues.pop_back();
  EXPECT_THAT(a.domain->OpenCompletionQueue({.depth = 1}), IsOk());
}

TEST(LimitTest, CompletionQueueDepth) {
  Lab lab(1);
  Side& a = lab.Add("a");
  const std::size_t most = lab.world().profile().device.max_cq_depth;
  EXPECT_EQ(Must(a.domain->OpenCompletionQueue({.depth = most}))->depth(), most);
  EXPECT_EQ(Must(a.domain->OpenCompletionQueue({.depth = 33}))->depth(), 64u);
  EXPECT_THAT(a.domain->OpenCompletionQueue({.depth = most + 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(absl::StrCat(most))));
}

TEST(LimitTest, AddressHandles) {
  sim::Profile profile = Small();
  profile.device.max_ah = 5;
  Lab lab(1, profile);
  Side& a = lab.Add("a");
  auto vector = Must(a.domain->OpenAddressVector());
  std::vector<fabric::Peer> peers;
  int next = 1;
  const auto stranger = [&] {
    sim::Node& machine = lab.world().AddNode(absl::StrCat("machine ", next++));
    return sim::EfaAddress{.gid = machine.nic(0).gid(), .queue_pair = 1, .qkey = 1}.Encode();
  };
  for (int i = 0; i < 5; ++i) peers.push_back(Must(vector->Insert(stranger())));
  EXPECT_THAT(vector->Insert(stranger()),
              StatusIs(kExhausted, AllOf(HasSubstr("address handle"), HasSubstr("5"))));
  // More endpoints of a machine that is known need no handle of their own.
  EXPECT_THAT(vector->Insert(Must(vector->Lookup(peers[0]))), IsOk());
  EXPECT_THAT(vector->Remove(peers[1]), IsOk());
  EXPECT_THAT(vector->Insert(stranger()), IsOk());
  // Another domain of the NIC shares the limit, and gets the handles of a vector that closes.
  auto other = Must(a.fabric->OpenDomain(0));
  auto another = Must(other->OpenAddressVector());
  EXPECT_THAT(another->Insert(stranger()), StatusIs(kExhausted));
  EXPECT_THAT(vector->Close(), IsOk());
  for (int i = 0; i < 5; ++i) EXPECT_THAT(another->Insert(stranger()), IsOk());
}

TEST(LimitTest, MemoryRegions) {
  sim::Profile profile = Small();
  profile.device.max_mr = 7;
  Lab lab(1, profile);
  Side& a = lab.Add("a");
  std::vector<std::unique_ptr<fabric::MemoryRegion>> regions;
  for (int i = 0; i < 6; ++i) regions.push_back(a.Register(0, 64, Access::kAll));
  EXPECT_THAT(a.domain->RegisterMemory({.data = a.memory().data(), .length_bytes = 64}),
              StatusIs(kExhausted, AllOf(HasSubstr("key"), HasSubstr("7"))));
  regions.pop_back();
  EXPECT_THAT(a.domain->RegisterMemory({.data = a.memory().data(), .length_bytes = 64}), IsOk());
}

TEST(LimitTest, PagesOfARegion) {
  sim::Profile profile = Small();
  profile.device.max_mr_pages = 100;
  profile.device.max_remote_write_pages = 80;
  Lab lab(1, profile);
  Side& a = lab.Add("a");                     // registers 64 pages
  std::byte* const data = a.memory().data();  // never touched past its end
  const auto all = [&](std::byte* begin, std::size_t bytes, Access access) {
    return a.domain->RegisterMemory({.data = begin, .length_bytes = bytes, .access = access});
  };
  EXPECT_THAT(all(data, 80 * 4096, Access::kAll), IsOk());
  EXPECT_THAT(all(data, 80 * 4096 + 1, Access::kAll),
              StatusIs(kExhausted, AllOf(HasSubstr("81 pages"), HasSubstr("80"))));
  EXPECT_THAT(all(data, 100 * 4096, Access::kLocal | Access::kRemoteRead), IsOk());
  EXPECT_THAT(all(data, 101 * 4096, Access::kLocal),
              StatusIs(kExhausted, AllOf(HasSubstr("101 pages"), HasSubstr("100"))));
  // Pages, not bytes: a range that does not begin at a page has one more.
  EXPECT_THAT(all(data + 4095, 80 * 4096, Access::kAll), StatusIs(kExhausted, HasSubstr("81")));
}

TEST(LimitTest, PagesOfTheDevice) {
  sim::Profile profile = Small();
  profile.device.max_total_pages = 64 + 10;
  Lab lab(1, profile);
  Side& a = lab.Add("a");  // registers 64 pages
  auto region = a.Register(0, 8 * 4096, Access::kAll);
  EXPECT_THAT(a.domain->RegisterMemory({.data = a.memory().data(), .length_bytes = 3 * 4096}),
              StatusIs(kExhausted, AllOf(HasSubstr("3 pages"), HasSubstr("2"))));
  EXPECT_THAT(region->Close(), IsOk());
  EXPECT_THAT(a.domain->RegisterMemory({.data = a.memory().data(), .length_bytes = 10 * 4096}),
              IsOk());
}

TEST(LimitTest, RangesThatAreNone) {
  Lab lab(1);
  Side& a = lab.Add("a");
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(a.domain->RegisterMemory({.data = nullptr, .length_bytes = 1}), StatusIs(invalid));
  EXPECT_THAT(a.domain->RegisterMemory({.data = a.memory().data(), .length_bytes = 0}),
              StatusIs(invalid));
  EXPECT_THAT(a.domain->RegisterMemory({.data = a.memory().data(), .length_bytes = SIZE_MAX}),
              StatusIs(invalid, HasSubstr("address space")));
}

TEST(LimitTest, DeviceWithoutReadsAndWritesRegistersNoMemoryForThem) {
  Lab lab(1, CopyOf("p4d"));
  Side& a = lab.Add("a");
  for (const Access access :
       {Access::kAll, Access::kRemoteWrite, Access::kRemoteRead, Access::kWrite, Access::kRead}) {
    EXPECT_THAT(
        a.domain->RegisterMemory({.data = a.memory().data(), .length_bytes = 64, .access = access}),
        StatusIs(absl::StatusCode::kUnimplemented));
  }
  EXPECT_THAT(a.domain->RegisterMemory(
                  {.data = a.memory().data(), .length_bytes = 64, .access = Access::kSend}),
              IsOk());
}

// ---- Options that the device lacks ----

TEST(OptionTest, RetriesAreZeroToSevenAndOnlyWhereTheyCanBeSet) {
  Lab lab(1);
  Side& a = lab.Add("a");
  fabric::EndpointOptions options = a.Parts();
  options.receiver_not_ready_retries = 8;
  EXPECT_THAT(a.domain->OpenEndpoint(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("8")));
  options.receiver_not_ready_retries = 7;
  EXPECT_THAT(a.domain->OpenEndpoint(options), IsOk());
  sim::Profile lacking = Small();
  lacking.device.rnr_retry = false;
  Lab other(1, lacking);
  Side& b = other.Add("b");
  options = b.Parts();
  options.receiver_not_ready_retries = 3;
  EXPECT_THAT(b.domain->OpenEndpoint(options),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("receiver_not_ready_retries")));
}

TEST(OptionTest, InjectBytesOverTheDevices) {
  Lab lab(1);
  Side& a = lab.Add("a");
  fabric::EndpointOptions options = a.Parts();
  options.inject_bytes = 81;
  EXPECT_THAT(a.domain->OpenEndpoint(options),
              StatusIs(absl::StatusCode::kUnimplemented, AllOf(HasSubstr("81"), HasSubstr("80"))));
}

TEST(OptionTest, PartsOfAnotherDomainAreRefused) {
  Scene s;
  Side& beside = s.lab.AddBeside(s.a);
  for (int part = 0; part < 3; ++part) {
    fabric::EndpointOptions options = s.a.Parts();
    if (part == 0) options.send_queue = beside.queue.get();
    if (part == 1) options.receive_queue = s.b.queue.get();
    if (part == 2) options.address_vector = beside.peers.get();
    EXPECT_THAT(s.a.domain->OpenEndpoint(options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("same domain")));
  }
}

// ---- Domains ----

// Two domains of one NIC, and a program that mixes them up.
TEST(DomainTest, LocalKeysMeanNothingInAnother) {
  Scene s;
  Side& other = s.lab.AddBeside(s.a);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  write.source.local_key = other.region->local_key();
  write.source.data = other.memory().data();
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.ExpectOnlyFailure(5, ErrorCode::kLocalAccess);
}

TEST(DomainTest, RemoteKeysMeanNothingInAnother) {
  Scene s;
  Side& other = s.lab.AddBeside(s.b);
  other.Insert(s.a);
  fabric::WriteRequest write = s.a.WriteTo(s.b, 0, 4096, kBad);
  write.target = other.Remote(0);  // sent to the queue pair of the first one
  ASSERT_EQ(s.a.endpoint->Write(write), ErrorCode::kOk);
  s.ExpectOnlyFailure(7, ErrorCode::kRemoteAccess);
  EXPECT_TRUE(IsZero(other.memory()));
}

TEST(DomainTest, KeysOfAReceiveMeanNothingInAnother) {
  Scene s;
  Side& other = s.lab.AddBeside(s.b);
  fabric::RecvRequest receive = other.RecvAt(0, 100, 1);
  ASSERT_EQ(s.b.endpoint->Recv(receive), ErrorCode::kOk);
  ASSERT_EQ(s.a.endpoint->Send(s.a.SendTo(s.b, 0, 100, kBad)), ErrorCode::kOk);
  EXPECT_EQ(s.lab.Take(s.b, 1).provider_error, 5);
  EXPECT_TRUE(IsZero(other.memory()));
}

TEST(DomainTest, AcquaintancesAreOfOneDomain) {
  Scene s;
  Side& other = s.lab.AddBeside(s.b);  // has inserted no peer
  s.a.Insert(other);
  ASSERT_EQ(s.a.endpoint->Write(s.a.WriteTo(other, 0, 4096, kBad)), ErrorCode::kOk);
  s.ExpectOnlyFailure(14, ErrorCode::kUnknownPeer);
  other.Insert(s.a);
  s.lab.ExpectWorks(s.a, other);
}

TEST(DomainTest, KeysDifferBetweenNicsAndBetweenTheTwoUses) {
  // A program that sends the wrong one of two keys must notice.
  std::size_t same = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Scene s(Small(), {}, seed);
    same += s.a.region->local_key() == s.a.region->remote().key ? 1 : 0;
    same += s.a.region->remote().key == s.b.region->remote().key ? 1 : 0;
    EXPECT_LT(s.a.region->local_key(), 1u << 24);
    EXPECT_LE(s.a.region->remote().key, UINT32_MAX);
    EXPECT_NE(s.a.region->remote().key, 0u);
  }
  EXPECT_LE(same, 3u);
}

TEST(DomainTest, NicsOfOneMachineAreApart) {
  Scene s;
  Side& second = s.lab.Add("two", {.nic = 1});
  EXPECT_NE(second.nic.gid(), second.node.nic(0).gid());
  s.a.Insert(second);
  second.Insert(s.a);
  s.lab.ExpectWorks(s.a, second);
  EXPECT_EQ(second.node.nic(0).counters().rx_pkts, 0u);
}

// ---- Counters ----

// A device that counts by itself.
sim::Profile Counting() {
  sim::Profile profile = sim_testing::Small();
  profile.device.max_comp_cntr = 512;
  return profile;
}

TEST(CounterTest, AllSixKindsCountWhatEndsWellAndWhatFails) {
  Lab lab(1, Counting());
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  enum { kSends, kReceives, kWrites, kReads, kRemoteWrites, kRemoteReads };
  const auto open = [](Side& side, std::vector<std::unique_ptr<fabric::Counter>>& counters) {
    for (int i = 0; i < 6; ++i) counters.push_back(Must(side.domain->OpenCounter()));
    fabric::EndpointOptions options = side.Parts();
    options.counters = {.sends = counters[kSends].get(),
                        .receives = counters[kReceives].get(),
                        .writes = counters[kWrites].get(),
                        .reads = counters[kReads].get(),
                        .remote_writes = counters[kRemoteWrites].get(),
                        .remote_reads = counters[kRemoteReads].get()};
    EXPECT_TRUE(side.endpoint->Close().ok());
    side.endpoint = Must(side.domain->OpenEndpoint(options));
  };
  std::vector<std::unique_ptr<fabric::Counter>> ours;
  std::vector<std::unique_ptr<fabric::Counter>> theirs;
  open(a, ours);
  open(b, theirs);
  lab.Introduce();
  // 5 messages, 4 writes, 3 reads; of each one more that fails. Some are unsignalled.
  auto region = b.Register(65536, 4096, Access::kAll);
  fabric::RecvRequest closed = b.RecvAt(0, 100, 0);
  closed.buffer = region->Local(0, 100);
  ASSERT_EQ(b.endpoint->Recv(closed), ErrorCode::kOk);
  ASSERT_TRUE(region->Close().ok());
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 100, i)), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 6; ++i) {  // the first one finds the closed region
    ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 100, i)), ErrorCode::kOk);
    lab.Watch(1ms);
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 20000, i)), ErrorCode::kOk);
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 20000, i)), ErrorCode::kOk);
  }
  fabric::WriteRequest write = a.WriteTo(b, 0, 100, 0);
  fabric::ReadRequest read = a.ReadFrom(b, 0, 100, 0);
  write.target.key = read.source.key = 0;
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Read(read), ErrorCode::kOk);
  lab.world().timeline().RunFor(10ms);
  lab.ExpectFinding(sim::Check::kUseAfterDeregister, 1);
  const std::vector<std::uint64_t> own = {5, 0, 4, 3, 0, 0};
  const std::vector<std::uint64_t> own_errors = {1, 0, 1, 1, 0, 0};
  const std::vector<std::uint64_t> peers = {0, 5, 0, 0, 4, 3};
  const std::vector<std::uint64_t> peers_errors = {0, 1, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(ours[i]->Read(), own[i]) << i;
    EXPECT_EQ(ours[i]->ReadErrors(), own_errors[i]) << i;
    EXPECT_EQ(theirs[i]->Read(), peers[i]) << i;
    EXPECT_EQ(theirs[i]->ReadErrors(), peers_errors[i]) << i;
  }
}

// An endpoint of `side` in the place of its own, that counts.
void Recount(Side& side, const fabric::CounterBindings& counters) {
  fabric::EndpointOptions options = side.Parts();
  options.counters = counters;
  EXPECT_TRUE(side.endpoint->Close().ok());
  side.endpoint = Must(side.domain->OpenEndpoint(options));
}

// On a machine without counters, a program that waits until two writes have come waits for ever. A
// program that counts immediates is right everywhere.
TEST(CounterTest, PlainWritesAndReadsOfPeersAreCountedByTheDeviceOrByNobody) {
  const struct {
    const char* machine;
    std::uint64_t writes, reads;
  } kRows[] = {{"p5", 1, 0},   {"p4d", 0, 0},     {"g7e", 1, 0},    {"p6e-gb200", 1, 0},
               {"p5en", 2, 1}, {"p6-b200", 2, 1}, {"p6-b300", 2, 1}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.machine);
    Lab lab(1, CopyOf(row.machine));
    Side& a = lab.Add("a");
    Side& b = lab.Add("b");
    EXPECT_EQ(b.domain->nic().capabilities.Has(fabric::Capability::kRemoteCounts), row.reads > 0);
    if (b.domain->nic().limits.max_rma_bytes == 0) continue;  // nothing to count
    auto writes = Must(b.domain->OpenCounter());
    auto reads = Must(b.domain->OpenCounter());
    Recount(b, {.remote_writes = writes.get(), .remote_reads = reads.get()});
    lab.Introduce();
    fabric::WriteRequest write = a.WriteTo(b, 0, 100, 1);
    ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    write.immediate = 7;
    ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
    ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 100, 2)), ErrorCode::kOk);
    lab.Watch(50ms);
    EXPECT_EQ(writes->Read(), row.writes);
    EXPECT_EQ(reads->Read(), row.reads);
    EXPECT_EQ(writes->ReadErrors() + reads->ReadErrors(), 0u);
  }
}

// Not when its request comes: a program that overwrites what was counted as read spoils the read.
TEST(CounterTest, APeersReadIsCountedWhenItsBytesWereTaken) {
  constexpr std::size_t kLength = 20000;
  Lab lab(1, Counting());
  lab.AllowFindings(sim::Check::kUseAfterDeregister);  // a region closes with a read under way
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  auto reads = Must(b.domain->OpenCounter());
  Recount(b, {.remote_reads = reads.get()});
  lab.Introduce();
  Fill(b.Bytes(0, kLength), 1);
  ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, kLength, 1)), ErrorCode::kOk);
  ASSERT_TRUE(lab.world().timeline().RunUntil([&] { return reads->Read() == 1; }, 1s));
  EXPECT_TRUE(Holds(a.Bytes(0, kLength), 1));
  EXPECT_EQ(lab.Take(a, 1).provider_error, 0);
  // Its request was accepted, and its data are refused.
  auto region = b.Register(0, kLength, Access::kAll);
  fabric::ReadRequest read = a.ReadFrom(b, 0, kLength, 2);
  read.source = {region->remote().address, region->remote().key};
  const std::uint64_t before = b.nic.counters().rdma_read_resp_bytes;
  ASSERT_EQ(a.endpoint->Read(read), ErrorCode::kOk);
  ASSERT_TRUE(lab.world().timeline().RunUntil(
      [&] { return b.nic.counters().rdma_read_resp_bytes > before; }, 1s));
  EXPECT_THAT(region->Close(), IsOk());
  EXPECT_EQ(lab.Take(a, 2).provider_error, 7);
  EXPECT_EQ(reads->Read(), 1u);
}

// The driver counts an entry once, when it takes it out of the ring, whether a read of the queue or
// of the counter makes it do so.
TEST(CounterTest, SoftwareCountsWithTheReadingOfTheQueueOrOfTheCounter) {
  Lab lab(1);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  auto sends = Must(a.domain->OpenCounter());
  auto writes = Must(a.domain->OpenCounter());
  auto reads = Must(a.domain->OpenCounter());
  Recount(a, {.sends = sends.get(), .writes = writes.get(), .reads = reads.get()});
  lab.Introduce();
  ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 100, 0)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 100, 1)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 100, 2)), ErrorCode::kOk);
  fabric::WriteRequest write = a.WriteTo(b, 0, 100, 3);
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  write.context.reset();
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  write.target.key = 0;
  ASSERT_EQ(a.endpoint->Write(write), ErrorCode::kOk);
  lab.world().timeline().RunFor(10ms);
  const auto before = lab.world().timeline().elapsed();
  EXPECT_EQ(writes->ReadErrors(), 1u);  // nothing has been read yet: this look counts as any other
  EXPECT_GT(lab.world().timeline().elapsed(), before);
  EXPECT_EQ(sends->ReadErrors(), 0u);
  EXPECT_EQ(writes->Read(), 2u);
  EXPECT_EQ(sends->Read(), 1u);
  EXPECT_EQ(reads->Read(), 1u);
  lab.Watch();
  EXPECT_EQ(a.completions.size(), 4u);  // all but the silent one
  EXPECT_EQ(sends->Read(), 1u);
  EXPECT_EQ(writes->Read(), 2u);
  EXPECT_EQ(writes->ReadErrors(), 1u);
  EXPECT_EQ(reads->Read(), 1u);
}

// Entries that a counter's reader has taken for the queue wait there, for the endpoints that are
// left.
TEST(CounterTest, CompletionsThatACounterTookSurviveAnotherEndpoint) {
  Lab lab(1);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  auto writes = Must(a.domain->OpenCounter());
  Recount(a, {.writes = writes.get()});
  auto other = Must(a.domain->OpenEndpoint(a.Parts()));
  lab.Introduce();
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 100, 1)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 100, 2)), ErrorCode::kOk);
  lab.world().timeline().RunFor(10ms);
  EXPECT_EQ(writes->Read(), 2u);
  EXPECT_TRUE(other->Close().ok());
  EXPECT_TRUE(lab.Take(a, 1).ok());
  EXPECT_TRUE(lab.Take(a, 2).ok());
  EXPECT_EQ(writes->Read(), 2u);
}

// Where a queue overruns, the entries stay that it has, and new ones are lost.
sim::Profile KeepingOldEntries(sim::Profile profile) {
  profile.device.cq_doorbell = true;
  return profile;
}

// As many as libfabric takes at once.
TEST(CounterTest, AReadOfASoftwareCounterTakesFiftyEntries) {
  Lab lab(1);
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  auto writes = Must(a.domain->OpenCounter());
  Recount(a, {.writes = writes.get()});
  lab.Introduce();
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 64, 1)), ErrorCode::kOk);
  }
  lab.world().timeline().RunFor(10ms);
  EXPECT_EQ(writes->Read(), 50u);
  EXPECT_EQ(writes->Read(), 60u);
}

// A program that reads nothing but the device's counter lets its queue overrun.
TEST(CounterTest, AReadOfTheDevicesCounterTakesNoEntries) {
  for (const bool device : {true, false}) {
    SCOPED_TRACE(device ? "device" : "software");
    Lab lab(1, KeepingOldEntries(device ? Counting() : Small()));
    Side& a = lab.Add("a", {.queue_depth = 4});
    Side& b = lab.Add("b");
    auto writes = Must(a.domain->OpenCounter());
    Recount(a, {.writes = writes.get()});
    lab.Introduce();
    for (std::uint64_t i = 1; i <= 6; ++i) {
      ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 64, i)), ErrorCode::kOk);
      lab.world().timeline().RunFor(10ms);
      EXPECT_EQ(writes->Read(), i);
    }
    EXPECT_EQ(a.nic.counters().completions_lost, device ? 2u : 0u);
    if (device) lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, 2);
  }
}

TEST(CounterTest, FlushedWorkCountsAsFailedFetchedOrNot) {
  Lab lab(1, Counting());
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  auto writes = Must(a.domain->OpenCounter());
  fabric::EndpointOptions options = a.Parts();
  options.counters.writes = writes.get();
  ASSERT_TRUE(a.endpoint->Close().ok());
  a.endpoint = Must(a.domain->OpenEndpoint(options));
  lab.Introduce();
  const std::vector<fabric::WriteRequest> many(40, a.WriteTo(b, 0, 30000, 1));
  ASSERT_EQ(a.endpoint->Write(many).accepted, 40u);
  a.node.Reset();
  lab.Watch();
  EXPECT_EQ(writes->Read() + writes->ReadErrors(), 40u);
  EXPECT_GT(writes->ReadErrors(), 30u);
  EXPECT_EQ(a.completions.size(), 40u);
}

TEST(CounterTest, CountsOnWhereTheQueueOverrunsInTheDeviceOnly) {
  for (const bool device : {true, false}) {
    SCOPED_TRACE(device ? "device" : "software");
    Lab lab(1, KeepingOldEntries(device ? Counting() : Small()));
    Side& a = lab.Add("a", {.queue_depth = 4});
    Side& b = lab.Add("b");
    auto writes = Must(a.domain->OpenCounter());
    Recount(a, {.writes = writes.get()});
    lab.Introduce();
    for (int i = 0; i < 30; ++i) {
      ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 64, 1)), ErrorCode::kOk);
    }
    lab.world().timeline().RunFor(10ms);
    EXPECT_EQ(writes->Read(), device ? 30u : 4u);
    EXPECT_EQ(a.nic.counters().completions_lost, 26u);
    lab.ExpectFinding(sim::Check::kCompletionQueueCapacity, 26);
  }
}

TEST(CounterTest, CanBeSetAndAddedTo) {
  Lab lab(1);
  Side& a = lab.Add("a");
  auto counter = Must(a.domain->OpenCounter());
  EXPECT_EQ(counter->Read(), 0u);
  EXPECT_THAT(counter->Set(40), IsOk());
  EXPECT_THAT(counter->Add(2), IsOk());
  EXPECT_EQ(counter->Read(), 42u);
  EXPECT_THAT(counter->Close(), IsOk());
  EXPECT_THAT(counter->Set(1), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(counter->Read(), 0u);
}

TEST(CounterTest, IsBusyWhileAnEndpointRaisesItAndBelongsToItsDomain) {
  Scene s;
  auto counter = Must(s.a.domain->OpenCounter());
  fabric::EndpointOptions options = s.a.Parts();
  options.counters.sends = counter.get();
  auto endpoint = Must(s.a.domain->OpenEndpoint(options));
  EXPECT_THAT(counter->Close(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(endpoint->Close().ok());
  EXPECT_THAT(counter->Close(), IsOk());
  auto others = Must(s.b.domain->OpenCounter());
  options.counters.sends = others.get();
  EXPECT_THAT(s.a.domain->OpenEndpoint(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("counters")));
}

TEST(CounterTest, DeviceCountsUnderTheNamesOfItsDriver) {
  Lab lab(1, Calm());
  Side& a = lab.Add("a");
  Side& b = lab.Add("b");
  lab.Introduce();
  const sim::Profile& profile = lab.world().profile();
  ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, 1000, 1)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, 1000, 1)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, 0, 20000, 2)), ErrorCode::kOk);
  ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, 9000, 3)), ErrorCode::kOk);
  lab.Watch();
  const sim::DeviceCounters& ours = a.nic.counters();
  const sim::DeviceCounters& theirs = b.nic.counters();
  EXPECT_EQ(ours.send_wrs, 1u);
  EXPECT_EQ(ours.send_bytes, 1000u);
  EXPECT_EQ(theirs.recv_wrs, 1u);
  EXPECT_EQ(theirs.recv_bytes, 1000u);
  EXPECT_EQ(ours.rdma_write_wrs, 1u);
  EXPECT_EQ(ours.rdma_write_bytes, 20000u);
  EXPECT_EQ(ours.rdma_write_wr_err, 0u);
  EXPECT_EQ(theirs.rdma_write_recv_bytes, 20000u);
  EXPECT_EQ(ours.rdma_read_wrs, 1u);
  EXPECT_EQ(ours.rdma_read_bytes, 9000u);
  EXPECT_EQ(theirs.rdma_read_resp_bytes, 9000u);
  // A message, three packets of the write, the request of the read; and two packets of its answer.
  EXPECT_EQ(ours.tx_pkts, 5u);
  EXPECT_EQ(ours.tx_bytes, 21000u + 5 * profile.header_bytes);
  EXPECT_EQ(theirs.rx_pkts, 5u);
  EXPECT_EQ(theirs.rx_bytes, ours.tx_bytes);
  EXPECT_EQ(theirs.tx_pkts, 2u);
  EXPECT_EQ(ours.rx_bytes, 9000u + 2 * profile.header_bytes);
}

// ---- Availability zones ----

TEST(ZoneTest, MachinesOfAnotherZoneCannotBeInserted) {
  Lab lab(1);
  Side& a = lab.Add("a");
  const auto address_in = [&](std::uint32_t zone, std::uint32_t machine) {
    const sim::Node& node = lab.world().AddNode("there", lab.world().profile(),
                                                {.machine = machine, .gids = {}, .zone = zone});
    return sim::EfaAddress{.gid = node.nic(0).gid(), .queue_pair = 1, .qkey = 1}.Encode();
  };
  auto vector = Must(a.domain->OpenAddressVector());
  EXPECT_THAT(vector->Insert(address_in(1, 7)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("availability zone")));
  EXPECT_THAT(vector->Insert(address_in(0, 8)), IsOk());
  const sim::EfaAddress nobody{.gid = {0xfe, 0x80, 9}, .queue_pair = 1, .qkey = 1};
  EXPECT_THAT(vector->Insert(nobody.Encode()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no NIC")));
}

}  // namespace
}  // namespace drydock::sim_testing
