// The backend against a fake library: its calls, its use of the results, and that nothing leaks.

#include "drydock/fabric/libfabric/libfabric_fabric.h"

#include <malloc.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drydock/fabric/cancel.h"
#include "drydock/fabric/counter_memory.h"
#include "drydock/fabric/error_data.h"
#include "drydock/fabric/libfabric/efa_counter.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "drydock/testing/mocks/fake_libfabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::libfabric {
namespace {

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Everything that one opens on a NIC.
struct Opened {
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Domain> domain;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<AddressVector> peers;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<MemoryRegion> region;
  Peer peer{};
};

constexpr std::array<std::uint8_t, 32> kAddress = {0xfe, 0x80, 1};

// Of a provider that is not EFA's: connections can be lost under it.
FakeNic SoftNic() {
  FakeNic nic = FakeEfa();
  nic.provider = "soft";
  return nic;
}

// Into the first 1,000 bytes, with context 5.
RecvRequest MultiReceive(const Opened& opened) {
  return {.buffer = opened.region->Local(0, 1000), .context = Context{5}, .multi = true};
}

class LibfabricFabricTest : public ::testing::Test {
 protected:
  // Opens all of it; the first error otherwise.
  absl::Status Open(FakeLibfabric& fake, Opened& opened, const char* provider = "efa-direct") {
    const auto keep = [](auto& target, auto result) {
      if (result.ok()) target = *std::move(result);
      return result.status();
    };
    absl::Status status = keep(opened.fabric, OpenLibfabric(provider, fake.api()));
    if (status.ok()) status = keep(opened.domain, opened.fabric->OpenDomain(0));
    if (status.ok()) status = keep(opened.queue, opened.domain->OpenCompletionQueue({}));
    if (status.ok()) status = keep(opened.peers, opened.domain->OpenAddressVector());
    if (status.ok()) {
      status =
          keep(opened.endpoint, opened.domain->OpenEndpoint(
                                    {opened.queue.get(), opened.queue.get(), opened.peers.get()}));
    }
    if (status.ok()) {
      status = keep(opened.region, opened.domain->RegisterMemory(
                                       {.data = memory_.data(), .length_bytes = memory_.size()}));
    }
    if (status.ok()) {
      status = keep(opened.peer, opened.peers->Insert(*Address::FromBytes(kAddress)));
    }
    return status;
  }

  WriteRequest Write(const Opened& opened, std::uint64_t context) {
    return {.source = opened.region->Local(0, 100),
            .target = {0x5000, 77},
            .peer = opened.peer,
            .immediate = 0xabcd,
            .context = Context{context}};
  }

  std::array<std::byte, 4096> memory_{};
};

TEST_F(LibfabricFabricTest, AsksForWhatItNeeds) {
  FakeLibfabric fake;
  EXPECT_CALL(fake.api(), GetInfo(FI_VERSION(1, 17), _, _))
      .WillOnce([&](std::uint32_t, const fi_info* hints, fi_info** out) {
        EXPECT_STREQ(hints->fabric_attr->prov_name, "efa");
        EXPECT_STREQ(hints->fabric_attr->name, "efa-direct");
        EXPECT_EQ(hints->ep_attr->type, FI_EP_RDM);
        EXPECT_EQ(hints->caps & (FI_MSG | FI_RMA), FI_MSG | FI_RMA);
        EXPECT_NE(hints->mode & FI_CONTEXT2, 0u);
        EXPECT_EQ(hints->mode & FI_RX_CQ_DATA, 0u);
        EXPECT_EQ(hints->domain_attr->mr_mode,
                  FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
        *out = nullptr;
        return -FI_EIO;
      });
  EXPECT_THAT(OpenLibfabric("efa-direct", fake.api()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("fi_getinfo")));
}

// Only a program that has device memory asks for it, and its regions are registered as such.
TEST_F(LibfabricFabricTest, DeviceMemoryIsAskedForAndRegistered) {
  FakeLibfabric without({FakeNic{.capabilities = FI_MSG | FI_RMA | FI_HMEM}});
  ASSERT_OK_AND_ASSIGN(auto plain, OpenLibfabric("efa-direct", without.api()));
  for (const std::uint64_t asked : without.asked_capabilities) EXPECT_EQ(asked & FI_HMEM, 0u);
  const MemoryRequest request{.data = memory_.data(),
                              .length_bytes = memory_.size(),
                              .kind = MemoryKind::kCuda,
                              .device = 2};
  ASSERT_OK_AND_ASSIGN(auto plain_domain, plain->OpenDomain(0));
  EXPECT_THAT(plain_domain->RegisterMemory(request),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("no FI_HMEM here")));

  FakeLibfabric with({FakeNic{.capabilities = FI_MSG | FI_RMA | FI_HMEM}});
  ASSERT_OK_AND_ASSIGN(auto fabric,
                       OpenLibfabric("efa-direct", with.api(), {.device_memory = true}));
  EXPECT_NE(with.asked_capabilities.back() & FI_HMEM, 0u);
  ASSERT_OK_AND_ASSIGN(auto domain, fabric->OpenDomain(0));
  EXPECT_CALL(with.api(), RegisterMemory(_, _, _, _))
      .WillOnce([](auto, const fi_mr_attr* attributes, std::uint64_t flags, auto) {
        EXPECT_EQ(attributes->iface, FI_HMEM_CUDA);
        EXPECT_EQ(attributes->device.cuda, 2);
        EXPECT_EQ(flags, 0u);
        return -FI_ENOMEM;
      });
  EXPECT_THAT(domain->RegisterMemory(request),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("fi_mr_regattr")));
}

// Devices without unsolicited write receive are offered only to callers that promise receives for
// immediates.
// ---- Counters in memory of the program's ----

// A provider of libfabric 2.6, which has a way of its own to open them.
struct MakeBelieveGda {
  explicit MakeBelieveGda(FakeLibfabric& fake) : library(fake) {
    current = this;
    ON_CALL(fake.api(), Version).WillByDefault([this] { return version; });
    ON_CALL(fake.api(), OpenOps).WillByDefault([this](auto, const char* name, void** ops) {
      if (std::string(name) != kGdaOps) return -FI_ENOSYS;
      *ops = &table;
      return 0;
    });
    table.cntr_open_ext = [](fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter,
                             void*, EfaCounterInit* init) {
      current->asked = *init;
      if (current->error != 0) return current->error;
      return current->library.api().OpenCounter(domain, attributes, counter);
    };
  }

  static inline MakeBelieveGda* current = nullptr;
  FakeLibfabric& library;
  std::uint32_t version = FI_VERSION(2, 6);
  EfaGdaOps table{};
  EfaCounterInit asked{};
  int error = 0;
};

TEST_F(LibfabricFabricTest, CountersInMemoryAreOpenedAsTheProviderWantsThem) {
  FakeLibfabric fake;
  MakeBelieveGda gda(fake);
  {
    Opened opened;
    ASSERT_THAT(Open(fake, opened), IsOk());
    auto* power = opened.domain->power<CountersInMemory>();
    ASSERT_NE(power, nullptr);
    alignas(8) std::uint64_t words[2] = {};
    const MemoryRequest host{.data = reinterpret_cast<std::byte*>(words), .length_bytes = 8};
    MemoryRequest device{.data = reinterpret_cast<std::byte*>(0x7000),
                         .length_bytes = 8,
                         .kind = MemoryKind::kCuda,
                         .dmabuf = DmabufHandle{.fd = 5, .offset_bytes = 64}};
    auto counter = power->OpenCounterIn({.successes = host, .failures = device});
    ASSERT_THAT(counter, IsOk());
    EXPECT_EQ(gda.asked.flags, kCompInExternalMemory | kErrInExternalMemory);
    EXPECT_EQ(gda.asked.comp_cntr_ext_mem.type, kAtAddress);
    EXPECT_EQ(gda.asked.comp_cntr_ext_mem.ptr, reinterpret_cast<std::uint8_t*>(words));
    EXPECT_EQ(gda.asked.err_cntr_ext_mem.type, kInDmabuf);
    EXPECT_EQ(gda.asked.err_cntr_ext_mem.ptr, nullptr);  // the host cannot read it
    EXPECT_EQ(gda.asked.err_cntr_ext_mem.dmabuf.fd, 5);
    EXPECT_EQ(gda.asked.err_cntr_ext_mem.dmabuf.offset, 64u);
    EXPECT_THAT(power->OpenCounterIn({}), IsOk());
    EXPECT_EQ(gda.asked.flags, 0u);

    device.dmabuf.reset();
    EXPECT_THAT(power->OpenCounterIn({.successes = device, .failures = {}}),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("dmabuf")));
    MemoryRequest odd = host;
    odd.data += 4;
    EXPECT_THAT(power->OpenCounterIn({.successes = host, .failures = odd}),
                StatusIs(absl::StatusCode::kInvalidArgument));
    gda.error = -FI_ENOMEM;
    EXPECT_THAT(power->OpenCounterIn({.successes = host, .failures = {}}),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("cntr_open_ext")));
  }
  EXPECT_EQ(fake.open_objects(), 0u);
}

TEST_F(LibfabricFabricTest, CountersInMemoryAreNotThereBefore26OrWithoutThem) {
  FakeLibfabric fake;
  MakeBelieveGda gda(fake);
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  gda.version = FI_VERSION(2, 5);
  EXPECT_EQ(opened.domain->power<CountersInMemory>(), nullptr);
  gda.version = FI_VERSION(2, 6);
  gda.table.cntr_open_ext = nullptr;
  EXPECT_EQ(opened.domain->power<CountersInMemory>(), nullptr);
}

TEST_F(LibfabricFabricTest, OffersReceivesForImmediatesOnlyWhereNeeded) {
  FakeLibfabric fake({FakeNic{.mode = FI_CONTEXT2 | FI_RX_CQ_DATA}});
  ASSERT_OK_AND_ASSIGN(auto fabric, OpenLibfabric("efa-direct", fake.api()));
  EXPECT_FALSE(fabric->nics()[0].capabilities.Has(Capability::kUnsolicitedImmediate));
}

TEST_F(LibfabricFabricTest, MissingProviderListsThoseThatExist) {
  FakeLibfabric fake(
      {FakeNic{.provider = "tcp;ofi_rxm"}, FakeNic{.provider = "shm"}, FakeNic{.provider = "shm"}});
  EXPECT_THAT(OpenLibfabric("efa", fake.api()),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("'efa'"), HasSubstr("1.17"),
                                                          HasSubstr("tcp;ofi_rxm, shm"))));
  EXPECT_EQ(fake.infos_alive(), 0);
}

TEST_F(LibfabricFabricTest, OneNicPerInterfaceIpv4First) {
  FakeLibfabric fake(
      {FakeNic{.provider = "tcp", .name = "eth0", .address_format = FI_SOCKADDR_IN6, .mode = 0},
       FakeNic{.provider = "tcp", .name = "eth0", .address_format = FI_SOCKADDR_IN, .mode = 0},
       FakeNic{.provider = "tcp", .name = "lo", .address_format = FI_SOCKADDR_IN, .mode = 0}});
  ASSERT_OK_AND_ASSIGN(auto fabric, OpenLibfabric("tcp", fake.api()));
  ASSERT_EQ(fabric->nics().size(), 2u);
  EXPECT_EQ(fabric->nics()[0].name, "eth0");
  EXPECT_EQ(fabric->nics()[0].address_format, "FI_SOCKADDR_IN");
  EXPECT_EQ(fabric->nics()[1].name, "lo");
}

// Fails the 0th call, then the 1st, and so on until nothing fails: each time one clear error, and
// nothing stays open.
TEST_F(LibfabricFabricTest, FailureOfAnyCallLeavesNothingOpen) {
  int failures = 0;
  for (int call = 0;; ++call) {
    FakeLibfabric fake;
    fake.FailCall(call, -FI_ENOMEM);
    {
      Opened opened;
      const absl::Status status = Open(fake, opened);
      if (fake.calls() <= call) {
        EXPECT_THAT(status, IsOk());
        break;
      }
      // The trial whether queues can block is the one call whose failure is an answer.
      if (!status.ok()) {
        ++failures;
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("fi_")))
            << call;
      }
    }
    EXPECT_EQ(fake.open_objects(), 0u) << call;
    EXPECT_EQ(fake.infos_alive(), 0) << call;
  }
  EXPECT_EQ(failures, 14);
}

TEST_F(LibfabricFabricTest, OneQueueIsBoundForBothDirections) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  // The queue, the address vector, and efa's event queue.
  EXPECT_THAT(fake.bind_flags, ElementsAre(std::uint64_t{FI_TRANSMIT | FI_RECV}, 0u, 0u));
}

TEST_F(LibfabricFabricTest, MemoryModesAreHonouredAsReturned) {
  FakeLibfabric efa;
  Opened on_efa;
  ASSERT_THAT(Open(efa, on_efa), IsOk());
  EXPECT_EQ(efa.requested_key, 0u);  // the provider chooses
  EXPECT_EQ(on_efa.region->remote().address, reinterpret_cast<std::uint64_t>(memory_.data()));
  EXPECT_EQ(efa.last_access,
            FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);

  FakeLibfabric tcp({FakeNic{.provider = "tcp", .fabric = "lan", .mode = 0, .mr_mode = 0}});
  Opened on_tcp;
  ASSERT_THAT(Open(tcp, on_tcp, "tcp"), IsOk());
  EXPECT_NE(tcp.requested_key, 0u);                // we choose,
  EXPECT_EQ(on_tcp.region->remote().address, 0u);  // and peers name offsets
}

TEST_F(LibfabricFabricTest, BatchRingsOnce) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  const std::vector<WriteRequest> batch = {Write(opened, 1), Write(opened, 2), Write(opened, 3)};
  const PostResult result = opened.endpoint->Write(batch);
  EXPECT_EQ(result.accepted, 3u);
  ASSERT_EQ(fake.posts.size(), 3u);
  EXPECT_EQ(fake.posts[0].flags, FI_MORE | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(fake.posts[1].flags, FI_MORE | FI_REMOTE_CQ_DATA);
  EXPECT_EQ(fake.posts[2].flags, FI_REMOTE_CQ_DATA);
  EXPECT_EQ(fake.posts[2].data, 0xabcdu);
  EXPECT_EQ(fake.posts[2].length, 100u);
  EXPECT_EQ(fake.posts[2].remote.addr, 0x5000u);
  EXPECT_EQ(fake.posts[2].remote.key, 77u);
  EXPECT_EQ(fake.posts[2].remote.len, 100u);
}

// A request that will be refused must not leave the one before it waiting for a doorbell.
TEST_F(LibfabricFabricTest, LastRequestBeforeARefusedOneRings) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  std::vector<WriteRequest> batch = {Write(opened, 1), Write(opened, 2), Write(opened, 3)};
  batch[2].peer = Peer{4711};
  const PostResult result = opened.endpoint->Write(batch);
  EXPECT_EQ(result.accepted, 2u);
  EXPECT_EQ(result.error, ErrorCode::kUnknownPeer);
  ASSERT_EQ(fake.posts.size(), 2u);
  EXPECT_EQ(fake.posts[1].flags & FI_MORE, 0u);
}

// Neither must one that there is no slot for, whether all of the batch takes the short way or not.
TEST_F(LibfabricFabricTest, LastRequestThatFindsASlotRings) {
  for (const bool plain : {true, false}) {
    SCOPED_TRACE(plain);
    FakeLibfabric fake;  // depth 4
    Opened opened;
    ASSERT_THAT(Open(fake, opened), IsOk());
    std::vector<WriteRequest> batch;
    for (std::uint64_t i = 0; i < 6; ++i) batch.push_back(Write(opened, i));
    if (!plain) batch[1].context.reset();
    const PostResult result = opened.endpoint->Write(batch);
    EXPECT_EQ(result.accepted, 4u);
    EXPECT_EQ(result.error, ErrorCode::kAgain);
    ASSERT_EQ(fake.posts.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ((fake.posts[i].flags & FI_MORE) != 0, i < 3) << i;
      EXPECT_EQ(fake.posts[i].data, 0xabcdu);
    }
    const PostResult full = opened.endpoint->Write(batch);
    EXPECT_EQ(full.accepted, 0u);
    EXPECT_EQ(full.error, ErrorCode::kAgain);
    EXPECT_EQ(fake.posts.size(), 4u);  // the library was not asked
  }
}

// A provider whose own packets take a part of its queue refuses before we do, and rings for
// nothing.
TEST_F(LibfabricFabricTest, EachRequestRingsWhereTheProviderMayRefuseTheNext) {
  for (const bool plain : {true, false}) {
    SCOPED_TRACE(plain);
    FakeLibfabric fake({FakeNic{.depth = 128}});
    Opened opened;
    ASSERT_THAT(Open(fake, opened), IsOk());
    fake.post_answers.assign(125, 0);
    fake.post_answers.push_back(-FI_EAGAIN);
    std::vector<WriteRequest> batch;
    for (std::uint64_t i = 0; i < 128; ++i) batch.push_back(Write(opened, i));
    if (!plain) batch[1].context.reset();
    const PostResult result = opened.endpoint->Write(batch);
    EXPECT_EQ(result.accepted, 125u);
    EXPECT_EQ(result.error, ErrorCode::kAgain);
    ASSERT_GE(fake.posts.size(), 125u);
    EXPECT_EQ(fake.posts[123].flags & FI_MORE, FI_MORE);
    EXPECT_EQ(fake.posts[124].flags & FI_MORE, 0u);
  }
}

TEST_F(LibfabricFabricTest, ClosedEndpointTakesNoBatch) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  const std::vector<WriteRequest> batch = {Write(opened, 1), Write(opened, 2)};
  ASSERT_THAT(opened.endpoint->Close(), IsOk());
  for (const std::size_t count : {0u, 1u, 2u}) {
    const PostResult result = opened.endpoint->Write(std::span(batch).first(count));
    EXPECT_EQ(result.accepted, 0u) << count;
    EXPECT_EQ(result.error, ErrorCode::kClosed) << count;
  }
  EXPECT_TRUE(fake.posts.empty());
}

TEST_F(LibfabricFabricTest, ProvidersRefusalEndsABatchAndFreesItsSlot) {
  FakeLibfabric fake;  // depth 4
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  for (int round = 0; round < 10; ++round) {
    fake.post_answers = {-FI_EAGAIN};
    EXPECT_EQ(opened.endpoint->Write(Write(opened, 9)), ErrorCode::kAgain);
  }
  fake.post_answers = {0, -FI_EAGAIN};
  const std::vector<WriteRequest> batch = {Write(opened, 1), Write(opened, 2)};
  const PostResult result = opened.endpoint->Write(batch);
  EXPECT_EQ(result.accepted, 1u);
  EXPECT_EQ(result.error, ErrorCode::kAgain);
  for (std::uint64_t i = 0; i < 3; ++i) {  // all but the one that is in flight
    EXPECT_EQ(opened.endpoint->Write(Write(opened, 3 + i)), ErrorCode::kOk);
  }
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 9)), ErrorCode::kAgain);
}

TEST_F(LibfabricFabricTest, QueueIsFullWhenItsDepthIsInFlightAndReadingFreesIt) {
  FakeLibfabric fake;  // depth 4
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(opened.endpoint->Write(Write(opened, i)), ErrorCode::kOk);
  }
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 9)), ErrorCode::kAgain);
  EXPECT_EQ(fake.posts.size(), 4u);  // the library was not asked
  fake.entries.push_back(
      {.success = {.op_context = fake.posts[2].context, .flags = FI_RMA | FI_WRITE}});
  std::array<Completion, 8> entries;
  EXPECT_EQ(opened.queue->Read(entries).count, 1u);
  EXPECT_EQ(entries[0].context, Context{2});
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 9)), ErrorCode::kOk);
}

TEST_F(LibfabricFabricTest, SuccessesBeforeAFailureComeFirst) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(opened.endpoint->Write(Write(opened, i)), ErrorCode::kOk);
  }
  FakeEntry failure{.failed = true, .words = "Invalid remote address"};
  failure.error.op_context = fake.posts[1].context;
  failure.error.flags = FI_RMA | FI_WRITE;
  failure.error.err = FI_EINVAL;
  failure.error.prov_errno = 7;
  fake.entries.push_back(
      {.success = {.op_context = fake.posts[0].context, .flags = FI_RMA | FI_WRITE}});
  fake.entries.push_back(failure);
  fake.entries.push_back(
      {.success = {.op_context = fake.posts[2].context, .flags = FI_RMA | FI_WRITE}});
  std::array<Completion, 8> entries;
  ASSERT_EQ(opened.queue->Read(entries).count, 1u);
  EXPECT_EQ(entries[0].context, Context{1});
  ASSERT_EQ(opened.queue->Read(entries).count, 1u);
  EXPECT_EQ(entries[0].context, Context{2});
  EXPECT_EQ(entries[0].error, ErrorCode::kRemoteAccess);
  EXPECT_EQ(entries[0].provider_error, 7);
  EXPECT_THAT(
      opened.queue->ErrorText(entries[0]),
      AllOf(HasSubstr("Invalid argument"), HasSubstr("7"), HasSubstr("Invalid remote address")));
  ErrorData data;
  opened.queue->power<ErrorDetails>()->ReadErrorData(entries[0], data);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data.data), data.size_bytes),
            "Invalid remote address");
  ASSERT_EQ(opened.queue->Read(entries).count, 1u);
  EXPECT_EQ(entries[0].context, Context{3});
}

// What the short way of a write leaves behind is not in the next one, and what it cannot do is
// done.
TEST_F(LibfabricFabricTest, WritesOfEveryKindFollowOneAnother) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 1)), ErrorCode::kOk);
  WriteRequest silent = Write(opened, 2);
  silent.immediate.reset();
  silent.source = opened.region->Local(8, 16);
  EXPECT_EQ(opened.endpoint->Write(silent), ErrorCode::kOk);
  WriteRequest unsignalled = Write(opened, 3);
  unsignalled.context.reset();
  EXPECT_EQ(opened.endpoint->Write(unsignalled), ErrorCode::kOk);
  ASSERT_EQ(fake.posts.size(), 3u);
  EXPECT_EQ(fake.posts[0].data, 0xabcdu);
  EXPECT_EQ(fake.posts[0].flags, FI_REMOTE_CQ_DATA);
  EXPECT_EQ(fake.posts[1].data, 0u);
  EXPECT_EQ(fake.posts[1].flags, 0u);
  EXPECT_EQ(fake.posts[1].length, 16u);
  EXPECT_EQ(fake.posts[1].remote.len, 16u);
  EXPECT_EQ(fake.posts[2].data, 0xabcdu);
  for (const FakePost& post : fake.posts) {
    fake.entries.push_back({.success = {.op_context = post.context, .flags = FI_RMA | FI_WRITE}});
  }
  std::array<Completion, 8> entries;
  ASSERT_EQ(opened.queue->Read(entries).count, 2u);
  EXPECT_EQ(entries[0].context, Context{1});
  EXPECT_EQ(entries[1].context, Context{2});
  for (std::uint64_t i = 0; i < 4; ++i) {  // depth 4: all slots are back
    EXPECT_EQ(opened.endpoint->Write(Write(opened, i)), ErrorCode::kOk);
  }
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 9)), ErrorCode::kAgain);
}

TEST_F(LibfabricFabricTest, WritesOverALimitAreRefusedBeforeTheLibrarySeesThem) {
  FakeLibfabric fake({FakeNic{.max_message_bytes = 100}});
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  WriteRequest write = Write(opened, 1);
  EXPECT_EQ(opened.endpoint->Write(write), ErrorCode::kOk);  // 100 B
  write.source.length_bytes = 101;
  EXPECT_EQ(opened.endpoint->Write(write), ErrorCode::kMessageTooLong);
  write.source.length_bytes = 100;
  write.target.address = UINT64_MAX - 99;
  EXPECT_EQ(opened.endpoint->Write(write), ErrorCode::kRemoteAccess);
  write.target.address = UINT64_MAX - 100;
  EXPECT_EQ(opened.endpoint->Write(write), ErrorCode::kOk);
  EXPECT_EQ(fake.posts.size(), 2u);
}

TEST_F(LibfabricFabricTest, SegmentsOverTheLimitAreRefusedWhateverTheirSum) {
  FakeLibfabric fake({FakeNic{.max_message_bytes = 100}});
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  std::array<LocalBuffer, 1> more = {opened.region->Local(100, 50)};
  SendRequest send{.buffer = opened.region->Local(0, 50), .peer = opened.peer, .more = more};
  EXPECT_EQ(opened.endpoint->Send(send), ErrorCode::kOk);
  more[0].length_bytes = 51;
  EXPECT_EQ(opened.endpoint->Send(send), ErrorCode::kMessageTooLong);
  more[0].length_bytes = SIZE_MAX;  // with the others 49, once it has wrapped around
  EXPECT_EQ(opened.endpoint->Send(send), ErrorCode::kMessageTooLong);
  EXPECT_EQ(fake.posts.size(), 1u);
}

// In the order of the entries, whether they take the short way or not, over completions that were
// used before.
TEST_F(LibfabricFabricTest, OneReadTellsOfEveryKind) {
  FakeLibfabric fake({FakeNic{.optional_rx_cq_data = false}});
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 1)), ErrorCode::kOk);
  EXPECT_EQ(
      opened.endpoint->Recv(RecvRequest{.buffer = opened.region->Local(), .context = Context{2}}),
      ErrorCode::kOk);
  ASSERT_EQ(fake.posts.size(), 2u);
  constexpr std::uint64_t kArrival = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
  fake.entries.push_back({.success = {.flags = kArrival, .len = 9, .data = 5}});
  fake.entries.push_back({.success = {.op_context = fake.posts[1].context,
                                      .flags = FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA,
                                      .len = 7,
                                      .data = 6}});
  fake.entries.push_back(
      {.success = {.op_context = fake.posts[0].context, .flags = FI_RMA | FI_WRITE, .len = 100}});
  fake.entries.push_back({.success = {.flags = kArrival, .len = 8, .data = 4}});
  std::array<Completion, 8> entries;
  entries.fill({.context = Context{99},
                .kind = OperationKind::kRead,
                .error = ErrorCode::kOther,
                .buffer_released = true,
                .provider_error = 3,
                .immediate = 98,
                .length_bytes = 97,
                .source = Peer{96},
                .tag = 95,
                .data = memory_.data()});
  ASSERT_EQ(opened.queue->Read(entries).count, 4u);
  constexpr std::array<OperationKind, 4> kKinds = {OperationKind::kRemoteWrite,
                                                   OperationKind::kReceive, OperationKind::kWrite,
                                                   OperationKind::kRemoteWrite};
  constexpr std::array<std::uint64_t, 4> kLengths = {9, 7, 0, 8};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(entries[i].kind, kKinds[i]);
    EXPECT_EQ(entries[i].length_bytes, kLengths[i]);
    EXPECT_TRUE(entries[i].ok());
    EXPECT_EQ(entries[i].provider_error, 0);
    EXPECT_EQ(entries[i].source, kNoPeer);
    EXPECT_EQ(entries[i].tag, 0u);
    EXPECT_EQ(entries[i].data, nullptr);
    EXPECT_FALSE(entries[i].buffer_released);
  }
  EXPECT_EQ(entries[0].context, std::nullopt);
  EXPECT_EQ(entries[1].context, Context{2});
  EXPECT_EQ(entries[2].context, Context{1});
  EXPECT_EQ(entries[0].immediate, 5u);
  EXPECT_EQ(entries[1].immediate, 6u);
  EXPECT_EQ(entries[2].immediate, std::nullopt);
  EXPECT_EQ(entries[3].immediate, 4u);
}

// More than one Read takes from the library at once.
TEST_F(LibfabricFabricTest, AReadOfManyTakesWhatItCan) {
  constexpr std::size_t kMany = 40;
  FakeLibfabric fake({FakeNic{.depth = kMany}});
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  for (std::uint64_t i = 0; i < kMany; ++i) {
    ASSERT_EQ(opened.endpoint->Write(Write(opened, i)), ErrorCode::kOk);
    fake.entries.push_back(
        {.success = {.op_context = fake.posts[i].context, .flags = FI_RMA | FI_WRITE}});
  }
  std::array<Completion, 2 * kMany> entries;
  std::size_t read = 0;
  for (int round = 0; round < 3; ++round) {
    read += opened.queue->Read(std::span(entries).subspan(read)).count;
  }
  ASSERT_EQ(read, kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) EXPECT_EQ(entries[i].context, Context{i});
  EXPECT_EQ(opened.queue->Read({}).count, 0u);
}

// For all numbers that the library gives, and any count of them, peers stay distinct.
TEST_F(LibfabricFabricTest, PeersAreToldApart) {
  FakeLibfabric fake({FakeNic{.depth = 100}});
  Opened opened;  // has number 0
  ASSERT_THAT(Open(fake, opened), IsOk());
  std::vector<Peer> peers = {opened.peer};
  for (const fi_addr_t number : {1, 2, 5, 40}) {
    fake.next_number = number;
    std::array<std::uint8_t, 32> bytes = kAddress;
    bytes[3] = static_cast<std::uint8_t>(number);
    const auto peer = opened.peers->Insert(*Address::FromBytes(bytes));
    ASSERT_THAT(peer.status(), IsOk());
    peers.push_back(*peer);
  }
  WriteRequest write = Write(opened, 1);
  const auto post = [&](Peer peer) {
    write.peer = peer;
    return opened.endpoint->Write(write);
  };
  for (const Peer peer : peers) {
    EXPECT_EQ(post(peer), ErrorCode::kOk);
    EXPECT_EQ(fake.posts.back().peer, static_cast<std::uint32_t>(peer));
    EXPECT_EQ(post(static_cast<Peer>(static_cast<std::uint64_t>(peer) + (1ull << 32))),
              ErrorCode::kUnknownPeer);  // another generation
  }
  const auto expect_no_others = [&] {
    for (std::uint64_t number = 0; number < 200; ++number) {
      EXPECT_EQ(post(Peer{number}), ErrorCode::kUnknownPeer) << number;  // no generation
      EXPECT_EQ(post(Peer{UINT64_MAX - number}), ErrorCode::kUnknownPeer) << number;
      EXPECT_EQ(post(Peer{~number & UINT32_MAX}), ErrorCode::kUnknownPeer) << number;
    }
  };
  expect_no_others();
  while (!peers.empty()) {
    EXPECT_EQ(post(peers.back()), ErrorCode::kOk);
    ASSERT_THAT(opened.peers->Remove(peers.back()), IsOk());
    EXPECT_EQ(post(peers.back()), ErrorCode::kUnknownPeer);
    peers.pop_back();
  }
  expect_no_others();
}

TEST_F(LibfabricFabricTest, TheEndOfAnEfaAddressMakesNoOtherPeer) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  std::array<std::uint8_t, 32> bytes = kAddress;
  bytes[31] = 7;
  fake.next_number = 0;  // as the provider answers, which sees the same address
  ASSERT_OK_AND_ASSIGN(const Peer again, opened.peers->Insert(*Address::FromBytes(bytes)));
  EXPECT_EQ(fake.last_inserted.at(31), 0);
  EXPECT_EQ(again, opened.peer);
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 1)), ErrorCode::kOk);
}

// An errno that the library did not give would be a lie: of EFA it may be the address, or the
// device.
TEST_F(LibfabricFabricTest, AnAddressThatWasNotTakenIsToldWithoutAnInventedNumber) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  EXPECT_CALL(fake.api(), InsertAddress).WillOnce(::testing::Return(0));
  const absl::Status none = opened.peers->Insert(*Address::FromBytes(kAddress)).status();
  EXPECT_THAT(none, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no address handle")));
  EXPECT_THAT(none, StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("-22"))));
  EXPECT_CALL(fake.api(), InsertAddress).WillOnce(::testing::Return(-FI_ENOMEM));
  EXPECT_THAT(opened.peers->Insert(*Address::FromBytes(kAddress)).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("fi_av_insert")));
}

TEST_F(LibfabricFabricTest, UnsolicitedEntriesHaveNoContext) {
  FakeLibfabric fake({FakeNic{.optional_rx_cq_data = false}});
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  // Whatever a provider leaves in the context of an unsolicited entry, it is not ours.
  fake.entries.push_back({.success = {.op_context = &fake,
                                      .flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                                      .len = 9,
                                      .data = 5}});
  FakeEntry failure{.failed = true};
  failure.error.err = FI_EINVAL;
  failure.error.prov_errno = 7;
  fake.entries.push_back(failure);
  std::array<Completion, 8> entries;
  ASSERT_EQ(opened.queue->Read(entries).count, 1u);
  EXPECT_EQ(entries[0].context, std::nullopt);
  EXPECT_EQ(entries[0].kind, OperationKind::kRemoteWrite);
  EXPECT_EQ(entries[0].immediate, 5u);
  EXPECT_EQ(entries[0].length_bytes, 9u);
  ASSERT_EQ(opened.queue->Read(entries).count, 1u);
  EXPECT_EQ(entries[0].context, std::nullopt);
  EXPECT_FALSE(entries[0].ok());
}

// shm of libfabric 2.x tells a peer's write by its immediate alone, beside a context of the peer's.
// A receive with an immediate is told from it.
TEST_F(LibfabricFabricTest, ImmediateAloneIsAPeersWrite) {
  FakeLibfabric fake({FakeNic{.optional_rx_cq_data = false}});
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 1)), ErrorCode::kOk);
  EXPECT_EQ(
      opened.endpoint->Recv(RecvRequest{.buffer = opened.region->Local(), .context = Context{2}}),
      ErrorCode::kOk);
  ASSERT_EQ(fake.posts.size(), 2u);
  // In one process the peer's context is that of a request of ours.
  fake.entries.push_back(
      {.success = {
           .op_context = fake.posts[0].context, .flags = FI_REMOTE_CQ_DATA, .len = 9, .data = 5}});
  fake.entries.push_back({.success = {.op_context = fake.posts[1].context,
                                      .flags = FI_RECV | FI_REMOTE_CQ_DATA,
                                      .len = 7,
                                      .data = 6}});
  fake.entries.push_back(
      {.success = {.op_context = fake.posts[0].context, .flags = FI_RMA | FI_WRITE, .len = 100}});
  std::array<Completion, 8> entries;
  ASSERT_EQ(opened.queue->Read(entries).count, 3u);
  EXPECT_EQ(entries[0].kind, OperationKind::kRemoteWrite);
  EXPECT_EQ(entries[0].context, std::nullopt);
  EXPECT_EQ(entries[0].immediate, 5u);
  EXPECT_EQ(entries[0].length_bytes, 9u);
  EXPECT_EQ(entries[1].kind, OperationKind::kReceive);
  EXPECT_EQ(entries[1].context, Context{2});
  EXPECT_EQ(entries[1].immediate, 6u);
  EXPECT_EQ(entries[2].kind, OperationKind::kWrite);
  EXPECT_EQ(entries[2].context, Context{1});
}

// The library may report requests of an endpoint after it was closed: their slots are still there,
// and the program is not told.
TEST_F(LibfabricFabricTest, CompletionsOfAClosedEndpointAreDropped) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 1)), ErrorCode::kOk);
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 2)), ErrorCode::kOk);
  EXPECT_THAT(opened.endpoint->Close(), IsOk());
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 3)), ErrorCode::kClosed);
  fake.entries.push_back(
      {.success = {.op_context = fake.posts[0].context, .flags = FI_RMA | FI_WRITE}});
  FakeEntry failure{.failed = true};
  failure.error.op_context = fake.posts[1].context;
  failure.error.err = FI_ECANCELED;
  fake.entries.push_back(failure);
  std::array<Completion, 8> entries;
  EXPECT_EQ(opened.queue->Read(entries).count, 0u);
  EXPECT_EQ(opened.queue->Read(entries).count, 0u);
  EXPECT_TRUE(fake.entries.empty());
}

// Many providers never report the requests of an endpoint that was closed.
TEST_F(LibfabricFabricTest, AnEmptyQueueKeepsNothingOfClosedEndpoints) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  EndpointOptions options;
  options.send_queue = options.receive_queue = opened.queue.get();
  options.address_vector = opened.peers.get();
  const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const std::size_t before = in_use();
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK_AND_ASSIGN(opened.endpoint, opened.domain->OpenEndpoint(options));
    EXPECT_EQ(opened.endpoint->Write(Write(opened, 1)), ErrorCode::kOk);
    EXPECT_THAT(opened.endpoint->Close(), IsOk());
    Completion entry;
    EXPECT_EQ(opened.queue->Read({&entry, 1}).count, 0u);
  }
  // An endpoint has more than a thousand slots of some 100 bytes.
  EXPECT_LT(in_use(), before + 500'000);
}

// The provider would refuse it by itself, and ring for none of those before it.
TEST_F(LibfabricFabricTest, ABatchEndsBeforeABufferOfNoRegion) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  std::array<WriteRequest, 2> writes = {Write(opened, 1), Write(opened, 2)};
  writes[1].source.local_key = 0;
  const PostResult written = opened.endpoint->Write(writes);
  EXPECT_EQ(written.accepted, 1u);
  EXPECT_EQ(written.error, ErrorCode::kInvalidArgument);
  ASSERT_EQ(fake.posts.size(), 1u);
  EXPECT_EQ(fake.posts[0].flags & FI_MORE, 0u);
  const ReadRequest read{.target = opened.region->Local(0, 100),
                         .source = {0x5000, 77},
                         .peer = opened.peer,
                         .context = Context{3}};
  std::array<ReadRequest, 2> reads = {read, read};
  reads[1].target.local_key = 0;
  EXPECT_EQ(opened.endpoint->Read(reads).accepted, 1u);
  EXPECT_EQ(fake.posts.back().flags & FI_MORE, 0u);
}

// What a lost connection ends on a software provider: cancelled is a receive that was taken back.
TEST_F(LibfabricFabricTest, WhatALostConnectionEndsOnASoftwareProviderIsItsPeersAbort) {
  FakeLibfabric fake({SoftNic()});
  Opened opened;
  ASSERT_THAT(Open(fake, opened, "soft"), IsOk());
  EXPECT_EQ(opened.endpoint->Write(Write(opened, 1)), ErrorCode::kOk);
  for (const int context : {2, 3, 4}) {
    const RecvRequest receive{.buffer = opened.region->Local(), .context = Context(context)};
    EXPECT_EQ(opened.endpoint->Recv(receive), ErrorCode::kOk);
  }
  auto* cancel = opened.endpoint->power<fabric::Cancel>();
  ASSERT_NE(cancel, nullptr);
  EXPECT_EQ(cancel->CancelReceive(Context{4}), ErrorCode::kOk);
  struct Case {
    std::size_t post;
    int error;
    ErrorCode expected;
  };
  constexpr Case kCases[] = {{0, FI_ECANCELED, ErrorCode::kPeerAborted},
                             {1, FI_ECANCELED, ErrorCode::kPeerAborted},
                             {2, FI_ENOTCONN, ErrorCode::kPeerAborted},
                             {3, FI_ECANCELED, ErrorCode::kCanceled}};
  for (const Case& test : kCases) {
    FakeEntry failure{.failed = true};
    failure.error.op_context = fake.posts[test.post].context;
    failure.error.flags = test.post == 0 ? FI_RMA | FI_WRITE : FI_MSG | FI_RECV;
    failure.error.err = test.error;
    fake.entries.push_back(failure);
    std::array<Completion, 1> entry;
    ASSERT_EQ(opened.queue->Read(entry).count, 1u);
    EXPECT_EQ(entry[0].error, test.expected) << test.post;
  }
}

// A receive that has its message is still there until its completion was read, and hides no other.
TEST_F(LibfabricFabricTest, AReceiveThatHasItsMessageHidesNoOtherOfItsContext) {
  FakeLibfabric fake({SoftNic()});
  Opened opened;
  ASSERT_THAT(Open(fake, opened, "soft"), IsOk());
  const RecvRequest receive{.buffer = opened.region->Local(), .context = Context{2}};
  ASSERT_EQ(opened.endpoint->Recv(receive), ErrorCode::kOk);
  ASSERT_EQ(opened.endpoint->Recv(receive), ErrorCode::kOk);
  auto* cancel = opened.endpoint->power<fabric::Cancel>();
  ASSERT_NE(cancel, nullptr);
  fake.cancel_answers = {-FI_ENOENT};
  EXPECT_EQ(cancel->CancelReceive(Context{2}), ErrorCode::kOk);
  EXPECT_THAT(fake.cancelled, ElementsAre(fake.posts[0].context, fake.posts[1].context));
  // The one that has its message is not taken for canceled when its connection is lost.
  std::array<Completion, 1> entry;
  for (const std::size_t post : {0, 1}) {
    FakeEntry failure{.failed = true};
    failure.error.op_context = fake.posts[post].context;
    failure.error.flags = FI_MSG | FI_RECV;
    failure.error.err = FI_ECANCELED;
    fake.entries.push_back(failure);
    ASSERT_EQ(opened.queue->Read(entry).count, 1u);
    EXPECT_EQ(entry[0].error, post == 0 ? ErrorCode::kPeerAborted : ErrorCode::kCanceled);
  }
  EXPECT_EQ(cancel->CancelReceive(Context{2}), ErrorCode::kInvalidArgument);
}

// A peer that gives a message up ends that message, and not the receive that takes many.
TEST_F(LibfabricFabricTest, AMultiReceiveOutlivesAMessageThatItsPeerGaveUp) {
  FakeNic nic = FakeEfa();
  nic.capabilities |= FI_MULTI_RECV;
  FakeLibfabric fake({nic});
  Opened opened;
  ASSERT_THAT(Open(fake, opened, "efa"), IsOk());
  const RecvRequest receive{.buffer = opened.region->Local(), .context = Context{5}, .multi = true};
  ASSERT_EQ(opened.endpoint->Recv(receive), ErrorCode::kOk);
  FakeEntry failure{.failed = true};
  failure.error.op_context = fake.posts[0].context;
  failure.error.flags = FI_MSG | FI_RECV;
  failure.error.err = FI_ECANCELED;
  failure.error.prov_errno = 4127;
  fake.entries.push_back(failure);
  fake.entries.push_back({.success = {.op_context = fake.posts[0].context,
                                      .flags = FI_MSG | FI_RECV | FI_MULTI_RECV,
                                      .len = 8,
                                      .buf = memory_.data()}});
  std::array<Completion, 1> entry;
  ASSERT_EQ(opened.queue->Read(entry).count, 1u);
  EXPECT_EQ(entry[0].error, ErrorCode::kPeerAborted);
  EXPECT_EQ(entry[0].context, Context{5});
  EXPECT_FALSE(entry[0].buffer_released);
  ASSERT_EQ(opened.queue->Read(entry).count, 1u);
  EXPECT_EQ(entry[0].context, Context{5});
  EXPECT_TRUE(entry[0].buffer_released);
}

// tcp fetches long messages: the one that fills the buffer, of which it says that it is the last,
// may be there before them.
TEST_F(LibfabricFabricTest, AMultiReceiveEndsWhenAllOfItsMessagesAreThere) {
  FakeLibfabric fake({SoftNic()});
  Opened opened;
  ASSERT_THAT(Open(fake, opened, "soft"), IsOk());
  ASSERT_EQ(opened.endpoint->Recv(MultiReceive(opened)), ErrorCode::kOk);
  void* const slot = fake.posts.back().context;
  const auto released_by = [&](std::size_t begin, std::size_t length, std::uint64_t flag) {
    fake.entries.push_back({.success = {.op_context = slot,
                                        .flags = FI_MSG | FI_RECV | flag,
                                        .len = length,
                                        .buf = memory_.data() + begin}});
    std::array<Completion, 1> entry;
    EXPECT_EQ(opened.queue->Read(entry).count, 1u);
    EXPECT_EQ(entry[0].context, Context{5});
    EXPECT_EQ(entry[0].length_bytes, length);
    return entry[0].buffer_released;
  };
  EXPECT_FALSE(released_by(0, 100, 0));
  EXPECT_FALSE(released_by(900, 100, FI_MULTI_RECV));
  const RecvRequest next{.buffer = opened.region->Local(2000, 100), .context = Context{6}};
  EXPECT_EQ(opened.endpoint->Recv(next), ErrorCode::kOk);
  EXPECT_NE(fake.posts.back().context, slot);
  EXPECT_FALSE(released_by(100, 500, 0));
  EXPECT_TRUE(released_by(600, 300, 0));
}

// A message that does not fit is the last, whether tcp says so or not. One whose connection is lost
// is not; only how long it was is unknown.
TEST_F(LibfabricFabricTest, AFailedMessageEndsAMultiReceiveThatTakesNoMore) {
  FakeLibfabric fake({SoftNic()});
  Opened opened;
  ASSERT_THAT(Open(fake, opened, "soft"), IsOk());
  struct Case {
    int error;
    bool taken_back;
    ErrorCode told;
    bool released;
  };
  constexpr Case kCases[] = {{FI_ETRUNC, false, ErrorCode::kTruncated, true},
                             {FI_ECANCELED, true, ErrorCode::kCanceled, true},
                             {FI_ECANCELED, false, ErrorCode::kPeerAborted, false}};
  std::array<Completion, 1> entry;
  for (const Case& test : kCases) {
    ASSERT_EQ(opened.endpoint->Recv(MultiReceive(opened)), ErrorCode::kOk);
    if (test.taken_back) {
      EXPECT_EQ(opened.endpoint->power<Cancel>()->CancelReceive(Context{5}), ErrorCode::kOk);
    }
    FakeEntry failure{.failed = true};
    failure.error.op_context = fake.posts.back().context;
    failure.error.flags = FI_MSG | FI_RECV;
    failure.error.err = test.error;
    fake.entries.push_back(failure);
    ASSERT_EQ(opened.queue->Read(entry).count, 1u);
    EXPECT_EQ(entry[0].error, test.told);
    EXPECT_EQ(entry[0].buffer_released, test.released) << test.error;
  }
  fake.entries.push_back({.success = {.op_context = fake.posts.back().context,
                                      .flags = FI_MSG | FI_RECV | FI_MULTI_RECV,
                                      .len = 8,
                                      .buf = memory_.data() + 992}});
  ASSERT_EQ(opened.queue->Read(entry).count, 1u);
  EXPECT_TRUE(entry[0].buffer_released);
}

// tcp ends a receive that was taken back, or loses a message of unknown length, while it fetches
// others, whose entries come when the slot is free.
TEST_F(LibfabricFabricTest, WhatComesAfterTheEndOfAMultiReceiveIsDropped) {
  enum class End { kTakenBack, kLossWhileClosing, kFullAfterALoss };
  for (const End end : {End::kTakenBack, End::kLossWhileClosing, End::kFullAfterALoss}) {
    SCOPED_TRACE(static_cast<int>(end));
    FakeLibfabric fake({SoftNic()});
    Opened opened;
    ASSERT_THAT(Open(fake, opened, "soft"), IsOk());
    ASSERT_EQ(opened.endpoint->Recv(MultiReceive(opened)), ErrorCode::kOk);
    void* const slot = fake.posts.back().context;
    std::array<Completion, 1> entry;
    const auto arrives = [&](std::size_t begin, std::size_t length, std::uint64_t flag) {
      fake.entries.push_back({.success = {.op_context = slot,
                                          .flags = FI_MSG | FI_RECV | flag,
                                          .len = length,
                                          .buf = memory_.data() + begin}});
      return opened.queue->Read(entry).count;
    };
    const auto fails = [&] {
      FakeEntry failure{.failed = true};
      failure.error.op_context = slot;
      failure.error.flags = FI_MSG | FI_RECV;
      failure.error.err = FI_ECANCELED;
      fake.entries.push_back(failure);
      return opened.queue->Read(entry).count;
    };
    ASSERT_EQ(arrives(0, 100, 0), 1u);
    if (end == End::kTakenBack) {
      EXPECT_EQ(opened.endpoint->power<Cancel>()->CancelReceive(Context{5}), ErrorCode::kOk);
      ASSERT_EQ(fails(), 1u);
    } else if (end == End::kLossWhileClosing) {
      ASSERT_EQ(arrives(900, 100, FI_MULTI_RECV), 1u);
      EXPECT_FALSE(entry[0].buffer_released);
      ASSERT_EQ(fails(), 1u);
    } else {
      ASSERT_EQ(fails(), 1u);
      EXPECT_FALSE(entry[0].buffer_released);
      ASSERT_EQ(arrives(900, 100, FI_MULTI_RECV), 1u);
    }
    EXPECT_TRUE(entry[0].buffer_released);

    // The slot is free, and the last to be taken.
    EXPECT_EQ(arrives(100, 700, 0), 0u);
    EXPECT_EQ(fails(), 0u);
    std::vector<RecvRequest> receives;
    for (const int context : {6, 7, 8, 9}) {
      receives.push_back({.buffer = opened.region->Local(1000, 100), .context = Context(context)});
    }
    ASSERT_EQ(opened.endpoint->Recv(std::span(receives).first(3)).accepted, 3u);
    EXPECT_EQ(arrives(100, 700, 0), 0u);
    EXPECT_EQ(opened.endpoint->Recv(receives[3]), ErrorCode::kOk);
    EXPECT_EQ(fake.posts.back().context, slot);
    EXPECT_EQ(opened.endpoint->Recv(receives[3]), ErrorCode::kAgain);
    ASSERT_EQ(arrives(1000, 100, 0), 1u);
    EXPECT_EQ(entry[0].context, Context{9});
    EXPECT_EQ(entry[0].data, nullptr);
  }
}

// The endpoint has no request under way any more, and its slots stay all the same.
TEST_F(LibfabricFabricTest, WhatComesAfterAMultiReceiveFindsItsSlotWhenTheEndpointIsClosed) {
  FakeLibfabric fake({SoftNic()});
  Opened opened;
  ASSERT_THAT(Open(fake, opened, "soft"), IsOk());
  ASSERT_EQ(opened.endpoint->Recv(MultiReceive(opened)), ErrorCode::kOk);
  EXPECT_EQ(opened.endpoint->power<Cancel>()->CancelReceive(Context{5}), ErrorCode::kOk);
  FakeEntry canceled{.failed = true};
  canceled.error.op_context = fake.posts.back().context;
  canceled.error.flags = FI_MSG | FI_RECV;
  canceled.error.err = FI_ECANCELED;
  fake.entries.push_back(canceled);
  std::array<Completion, 1> entry;
  ASSERT_EQ(opened.queue->Read(entry).count, 1u);
  EXPECT_TRUE(entry[0].buffer_released);
  EXPECT_THAT(opened.endpoint->Close(), IsOk());
  fake.entries.push_back({.success = {.op_context = fake.posts.back().context,
                                      .flags = FI_MSG | FI_RECV,
                                      .len = 700,
                                      .buf = memory_.data()}});
  EXPECT_EQ(opened.queue->Read(entry).count, 0u);
  EXPECT_TRUE(fake.entries.empty());
}

// The bytes of a second segment would come behind the first one's.
TEST_F(LibfabricFabricTest, AMultiReceiveIsOfOneSegment) {
  FakeLibfabric fake({FakeEfa()});
  Opened opened;
  ASSERT_THAT(Open(fake, opened, "efa"), IsOk());
  const LocalBuffer more = opened.region->Local(1000, 100);
  const RecvRequest multi{.buffer = opened.region->Local(0, 1000),
                          .context = Context{5},
                          .more = {&more, 1},
                          .multi = true};
  EXPECT_EQ(opened.endpoint->Recv(multi), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(fake.posts.empty());
}

TEST_F(LibfabricFabricTest, AddressesOfAnotherKindAreRefusedBeforeTheLibrarySeesThem) {
  FakeLibfabric fake;
  Opened opened;
  ASSERT_THAT(Open(fake, opened), IsOk());
  EXPECT_CALL(fake.api(), InsertAddress).Times(0);
  EXPECT_THAT(opened.peers->Insert(*Address::Parse("0200")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("have 32")));
  EXPECT_THAT(opened.peers->Insert(*Address::FromBytes(std::array<std::uint8_t, 32>{})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("zeros")));
}

}  // namespace
}  // namespace drydock::fabric::libfabric
