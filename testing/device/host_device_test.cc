#include "drydock/gpu/host_device/host_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "drydock/fabric/fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/host_device/current_device.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/device/device_contract.h"
#include "drydock/testing/matchers/status_matchers.h"

namespace drydock::gpu {
namespace {

using testing_matchers::IsOk;
using testing_matchers::StatusIs;

INSTANTIATE_TEST_SUITE_P(Host, DeviceContract,
                         testing::Values(DeviceUnderTest{"host", [] { return OpenHostDevice(); }}),
                         testing::PrintToStringParamName());

// ---- What a GPU may do to a program, and this one does ----

TEST(HostDeviceDeathTest, TheHostMustNotTouchItsAddresses) {
  const auto device = OpenHostDevice();
  const auto memory = *device->Allocate(4096);
  EXPECT_DEATH(*const_cast<volatile std::byte*>(memory->address()) = std::byte{1}, "");
}

TEST(HostDeviceTest, CommandsAreNotDoneBeforeSomebodyAsks) {
  const auto device = OpenHostDevice();
  const auto memory = *device->Allocate(8);
  const auto stream = *device->OpenStream();
  std::uint64_t word = 1;
  auto* const bytes = reinterpret_cast<std::byte*>(&word);
  ASSERT_THAT(stream->CopyFromHost(memory->address(), bytes, 8), IsOk());
  word = 2;  // too early: the copy reads it later
  std::uint64_t back = 0;
  ASSERT_THAT(stream->CopyToHost(reinterpret_cast<std::byte*>(&back), memory->address(), 8),
              IsOk());
  EXPECT_EQ(back, 0u);
  ASSERT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(back, 2u);
}

TEST(HostDeviceTest, AThreadWithoutItsContextCannotHaveItsMemoryRegistered) {
  const auto device = OpenHostDevice({.ordinal = 1, .needs_context = true});
  const auto memory = *device->Allocate(4096);
  const auto expect = [&](absl::StatusCode code) {
    const auto request = RequestFor(*device, *memory, nullptr);
    EXPECT_EQ(device->peer_memory().Pin(request).status().code(), code);
  };
  // A Device makes a context current by itself (gpu/memory_driver.h), and a dmabuf names its device.
  const Dmabuf dmabuf = *memory->ExportDmabuf();
  const auto named = RequestFor(*device, *memory, &dmabuf);
  EXPECT_THAT(device->peer_memory().Pin(named), IsOk());
  expect(absl::StatusCode::kUnimplemented);
  const CurrentHostDevice other(0);
  expect(absl::StatusCode::kUnimplemented);
  {
    const CurrentHostDevice current(1);
    expect(absl::StatusCode::kOk);
    std::thread([&] { expect(absl::StatusCode::kUnimplemented); }).join();
  }
  expect(absl::StatusCode::kUnimplemented);
}

TEST(HostDeviceTest, ItHasSoMuchMemoryAndNoMore) {
  const auto device = OpenHostDevice({.memory_bytes = 10'000});
  auto first = *device->Allocate(6'000);
  EXPECT_THAT(device->Allocate(6'000), StatusIs(absl::StatusCode::kResourceExhausted));
  first.reset();
  EXPECT_THAT(device->Allocate(6'000), IsOk());
}

TEST(HostDeviceTest, OneReachesTheMemoryOfAnother) {
  const auto first = OpenHostDevice();
  const auto second = OpenHostDevice({.ordinal = 1});
  const auto from = *first->Allocate(4096);
  const auto to = *second->Allocate(4096);
  const auto stream = *first->OpenStream();
  ASSERT_THAT(stream->Fill(from->address(), 4096, {5}), IsOk());
  ASSERT_THAT(stream->Copy(to->address(), from->address(), 4096), IsOk());
  const auto mismatch = (*second->OpenStream())->Verify(to->address(), 4096, {5});
  ASSERT_THAT(mismatch, IsOk());
  EXPECT_EQ(mismatch->wrong_words, 4096u / 8);  // the other stream has done nothing yet
  ASSERT_THAT(stream->Synchronize(), IsOk());
  EXPECT_TRUE((*second->OpenStream())->Verify(to->address(), 4096, {5})->none());
}

// As a GPU's, which no process but its own writes or makes shorter.
TEST(HostDeviceTest, ItsDmabufIsNoOneElsesToWrite) {
  const auto device = OpenHostDevice();
  const auto memory = *device->Allocate(4096);
  const auto dmabuf = *memory->ExportDmabuf();
  EXPECT_NE(ftruncate(dmabuf.fd(), 0), 0);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf.fd(), 0), MAP_FAILED);
}

// A machine with one NIC that writes to itself, and a device beside it.
class VisibilityTest : public testing::Test {
 protected:
  VisibilityTest() : world_(1, **sim::FindProfile("small")) {
    world_.AttachDevice(device_->peer_memory());
    fabric_ = sim::OpenSimFabric(world_, world_.AddNode("machine"));
    nic_ = *fabric::OpenNic(*fabric_);
    self_ = *nic_.peers->Insert(nic_.endpoint->address());
    memory_ = *device_->Allocate(kLength);
    region_ = *nic_.domain->RegisterMemory(RequestFor(*device_, *memory_, nullptr));
    host_region_ =
        *nic_.domain->RegisterMemory({.data = host_.data(), .length_bytes = host_.size()});
  }

  // From host memory to the device; returns when the completion was read.
  void Write(std::size_t offset = 0, std::size_t length = kLength) {
    fabric::WriteRequest request;
    request.source = host_region_->Local(0, length);
    request.target = region_->remote();
    request.target.address += offset;
    request.peer = self_;
    request.context = fabric::Context{1};
    ASSERT_EQ(nic_.endpoint->Write(request), fabric::ErrorCode::kOk);
    Await();
  }
  // How this write ends.
  fabric::ErrorCode ErrorOf(const fabric::WriteRequest& request) {
    EXPECT_EQ(nic_.endpoint->Write(request), fabric::ErrorCode::kOk);
    fabric::Completion done;
    for (int i = 0; i < 100; ++i) {
      if (nic_.queue->Read({&done, 1}).count == 1) return done.error;
      world_.timeline().RunFor(std::chrono::microseconds(100));
    }
    ADD_FAILURE() << "it does not complete";
    return fabric::ErrorCode::kAgain;
  }
  // Reads one completion, of an operation that went well.
  void Await() { AwaitOn(nic_); }
  static void AwaitOn(const fabric::OpenedNic& nic) {
    fabric::Completion done;
    bool there = false;
    // Each look takes the program some time, in which the world goes on.
    for (int looks = 0; looks < 100'000 && !there; ++looks) {
      there = nic.queue->Read({&done, 1}).count == 1;
    }
    ASSERT_TRUE(there);
    ASSERT_TRUE(done.ok()) << fabric::Name(done.error);
  }
  std::byte SeenByDevice(std::size_t offset = kLength - 1) {
    std::byte seen{};
    const auto stream = *device_->OpenStream();
    EXPECT_THAT(stream->CopyToHost(&seen, memory_->address() + offset, 1), IsOk());
    EXPECT_THAT(stream->Synchronize(), IsOk());
    return seen;
  }

  static constexpr std::size_t kLength = 4096;
  // Long enough that the completion is always read before.
  std::unique_ptr<Device> device_ =
      OpenHostDevice({.visibility_delay = std::chrono::milliseconds(1)});
  sim::World world_;
  std::vector<std::byte> host_ = std::vector<std::byte>(kLength, std::byte{7});
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<DeviceMemory> memory_;
  std::unique_ptr<fabric::MemoryRegion> region_;
  std::unique_ptr<fabric::MemoryRegion> host_region_;
  fabric::OpenedNic nic_;
  fabric::Peer self_{};
};

TEST_F(VisibilityTest, ACompletionDoesNotMeanThatTheDeviceSeesTheBytes) {
  Write();
  EXPECT_EQ(SeenByDevice(), std::byte{0});
}

TEST_F(VisibilityTest, TheDeviceSeesThemAfterAWhile) {
  Write();
  world_.timeline().RunFor(std::chrono::milliseconds(1));
  EXPECT_EQ(SeenByDevice(), std::byte{7});
}

TEST_F(VisibilityTest, TheDeviceSeesThemAfterAFlush) {
  Write();
  ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
  EXPECT_EQ(SeenByDevice(), std::byte{7});
}

// As a PCIe read, which pushes the writes before it.
TEST_F(VisibilityTest, ANicSeesThemAtOnce) {
  Write();
  std::fill(host_.begin(), host_.end(), std::byte{0});
  fabric::ReadRequest request;
  request.target = host_region_->Local();
  request.source = region_->remote();
  request.peer = self_;
  request.context = fabric::Context{1};
  ASSERT_EQ(nic_.endpoint->Read(request), fabric::ErrorCode::kOk);
  Await();
  EXPECT_EQ(host_.front(), std::byte{7});
  EXPECT_EQ(host_.back(), std::byte{7});
}

// To the host, to other memory of a device, or to where they are: the read pushes the writes before
// it.
TEST_F(VisibilityTest, ANicsReadShowsThemToTheDevice) {
  const auto other = *device_->Allocate(kLength);
  const auto other_region = *nic_.domain->RegisterMemory(RequestFor(*device_, *other, nullptr));
  unsigned char byte = 7;
  for (fabric::MemoryRegion* const region :
       {host_region_.get(), other_region.get(), region_.get()}) {
    std::fill(host_.begin(), host_.end(), std::byte{byte++});
    Write();
    EXPECT_NE(SeenByDevice(8), host_[8]);
    fabric::ReadRequest request;
    request.target = region->Local(0, 8);
    request.source = region_->remote();
    request.peer = self_;
    request.context = fabric::Context{1};
    ASSERT_EQ(nic_.endpoint->Read(request), fabric::ErrorCode::kOk);
    Await();
    EXPECT_EQ(SeenByDevice(8), host_[8]) << static_cast<int>(byte);
  }
}

// PCIe keeps the order of one way only: what another NIC has written is still on its own.
TEST_F(VisibilityTest, AnotherNicsReadNeitherMeetsNorShowsThem) {
  const auto fabric = sim::OpenSimFabric(world_, world_.AddNode("other"));
  const fabric::OpenedNic other = *fabric::OpenNic(*fabric);
  const auto region = *other.domain->RegisterMemory(RequestFor(*device_, *memory_, nullptr));
  std::vector<std::byte> seen(8);
  const auto seen_region =
      *other.domain->RegisterMemory({.data = seen.data(), .length_bytes = seen.size()});
  Write();
  fabric::ReadRequest request;
  request.target = seen_region->Local();
  request.source = region->remote();
  request.peer = *other.peers->Insert(other.endpoint->address());
  request.context = fabric::Context{1};
  ASSERT_EQ(other.endpoint->Read(request), fabric::ErrorCode::kOk);
  AwaitOn(other);
  EXPECT_EQ(seen.front(), std::byte{0});
  EXPECT_EQ(SeenByDevice(0), std::byte{0});
  world_.timeline().RunFor(std::chrono::milliseconds(1));
  ASSERT_EQ(other.endpoint->Read(request), fabric::ErrorCode::kOk);
  AwaitOn(other);
  EXPECT_EQ(seen.front(), std::byte{7});
}

TEST_F(VisibilityTest, TheLaterOfTwoWritesStays) {
  Write();
  std::fill(host_.begin(), host_.end(), std::byte{9});
  Write();
  world_.timeline().RunFor(std::chrono::milliseconds(2));
  EXPECT_EQ(SeenByDevice(), std::byte{9});
}

// A write that is not visible yet stays behind a later one to the same place, for every reader.
TEST_F(VisibilityTest, ALookInBetweenChangesNoOrder) {
  Write(0, 1024);
  std::fill(host_.begin(), host_.end(), std::byte{9});
  Write(512, 1024);
  fabric::ReadRequest request;
  request.target = host_region_->Local(2048, 8);
  request.source = region_->remote();
  request.source.address += 1200;
  request.peer = self_;
  request.context = fabric::Context{1};
  ASSERT_EQ(nic_.endpoint->Read(request), fabric::ErrorCode::kOk);
  Await();
  EXPECT_EQ(host_[2048], std::byte{9});
  ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
  EXPECT_EQ(SeenByDevice(511), std::byte{7});
  EXPECT_EQ(SeenByDevice(600), std::byte{9});
}

TEST_F(VisibilityTest, ACheckThatLooksShowsTheDeviceNothing) {
  Write();
  fabric::WriteRequest request;
  request.source = region_->Local();
  request.target = host_region_->remote();
  request.peer = self_;
  request.context = fabric::Context{1};
  ASSERT_EQ(nic_.endpoint->Write(request), fabric::ErrorCode::kOk);
  EXPECT_EQ(SeenByDevice(), std::byte{0});
  Await();
}

// The driver takes the region away where it has pinned an address; a dmabuf keeps the memory.
TEST_F(VisibilityTest, MemoryThatIsFreedTakesItsAddressAlong) {
  for (const bool by_dmabuf : {false, true}) {
    auto freed = *device_->Allocate(kLength);
    const Dmabuf dmabuf = *freed->ExportDmabuf();
    const auto region =
        *nic_.domain->RegisterMemory(RequestFor(*device_, *freed, by_dmabuf ? &dmabuf : nullptr));
    const fabric::MemoryRequest again = RequestFor(*device_, *freed, nullptr);
    freed.reset();
    EXPECT_THAT(device_->peer_memory().Pin(again), StatusIs(absl::StatusCode::kInvalidArgument));
    fabric::WriteRequest request;
    request.peer = self_;
    request.context = fabric::Context{1};
    request.source = host_region_->Local();
    request.target = region->remote();
    EXPECT_EQ(ErrorOf(request),
              by_dmabuf ? fabric::ErrorCode::kOk : fabric::ErrorCode::kRemoteAccess);
    request.source = region->Local();
    request.target = host_region_->remote();
    EXPECT_EQ(ErrorOf(request),
              by_dmabuf ? fabric::ErrorCode::kOk : fabric::ErrorCode::kLocalAccess);
    EXPECT_THAT(region->Close(), IsOk());
  }
}

TEST_F(VisibilityTest, WhatComesFromADeviceIsLateToo) {
  const auto other = *device_->Allocate(kLength);
  const auto region = *nic_.domain->RegisterMemory(RequestFor(*device_, *other, nullptr));
  const auto stream = *device_->OpenStream();
  ASSERT_THAT(stream->Fill(other->address(), kLength, {3}), IsOk());
  ASSERT_THAT(stream->Synchronize(), IsOk());
  fabric::WriteRequest request;
  request.source = region->Local();
  request.target = region_->remote();
  request.peer = self_;
  request.context = fabric::Context{1};
  ASSERT_EQ(nic_.endpoint->Write(request), fabric::ErrorCode::kOk);
  Await();
  EXPECT_GT(stream->Verify(memory_->address(), kLength, {3})->wrong_words, 0u);
  ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
  EXPECT_EQ(stream->Verify(memory_->address(), kLength, {3})->wrong_words, 0u);
}

TEST_F(VisibilityTest, ASmallMessageFromTheDeviceTravelsLikeALongOne) {
  Write();
  ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
  std::fill(host_.begin(), host_.end(), std::byte{0});
  fabric::RecvRequest receive{.buffer = host_region_->Local(0, 64), .context = fabric::Context{1}};
  ASSERT_EQ(nic_.endpoint->Recv(receive), fabric::ErrorCode::kOk);
  fabric::SendRequest send;
  send.buffer = region_->Local(0, 8);
  send.peer = self_;
  ASSERT_EQ(nic_.endpoint->Send(send), fabric::ErrorCode::kOk);
  Await();
  EXPECT_EQ(host_[7], std::byte{7});
}

// The CPU puts an inject into the work request, and it cannot read this memory.
TEST_F(VisibilityTest, AnInjectFromTheDeviceIsRefused) {
  fabric::SendRequest request;
  request.buffer = region_->Local(0, 8);
  request.peer = self_;
  request.context = fabric::Context{1};
  request.inject = true;
  EXPECT_EQ(nic_.endpoint->Send(request), fabric::ErrorCode::kInvalidArgument);
}

// A program that changes a source in flight is told, on a device as on the host.
TEST_F(VisibilityTest, AChangedSourceIsFound) {
  fabric::WriteRequest request;
  request.source = region_->Local();
  request.target = host_region_->remote();
  request.peer = self_;
  request.context = fabric::Context{1};
  ASSERT_EQ(nic_.endpoint->Write(request), fabric::ErrorCode::kOk);
  const auto stream = *device_->OpenStream();
  ASSERT_THAT(stream->Fill(memory_->address(), kLength, {1}), IsOk());
  ASSERT_THAT(stream->Synchronize(), IsOk());
  Await();
  ASSERT_EQ(world_.findings().size(), 1u);
  EXPECT_EQ(world_.findings()[0].check, sim::Check::kBufferRace);
}

}  // namespace
}  // namespace drydock::gpu
