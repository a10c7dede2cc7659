#include "drydock/testing/device/device_contract.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/task.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/counter_memory.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/gpu/device_buffer.h"
#include "drydock/gpu/pattern.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"

namespace drydock::gpu {
namespace {

using fabric::MemoryRequest;
using fabric::OpenedNic;
using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::Node;
using testing::HasSubstr;
using testing_matchers::IsOk;
using testing_matchers::StatusIs;

constexpr std::size_t kLength = 256 << 10;
constexpr std::uint64_t kSeed = 0x5eed;

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceContract);

}  // namespace

void DeviceContract::SetUp() {
  auto device = GetParam().open();
  ASSERT_THAT(device, IsOk());
  device_ = *std::move(device);
}

std::unique_ptr<DeviceMemory> DeviceContract::Allocate(std::size_t length_bytes) {
  auto memory = device_->Allocate(length_bytes, GetParam().allocation);
  EXPECT_THAT(memory, IsOk());
  return memory.ok() ? *std::move(memory) : nullptr;
}

std::unique_ptr<Stream> DeviceContract::OpenStream() {
  auto stream = device_->OpenStream();
  EXPECT_THAT(stream, IsOk());
  return stream.ok() ? *std::move(stream) : nullptr;
}

void DeviceContract::Fill(const DeviceMemory& memory, std::uint64_t seed) {
  const auto stream = OpenStream();
  EXPECT_THAT(stream->Fill(memory.address(), memory.length_bytes(), {seed}), IsOk());
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

std::uint64_t DeviceContract::WrongWords(const DeviceMemory& memory, std::uint64_t seed) {
  const auto stream = OpenStream();
  const auto mismatch = stream->Verify(memory.address(), memory.length_bytes(), {seed});
  EXPECT_THAT(mismatch, IsOk());
  return mismatch.ok() ? mismatch->wrong_words : UINT64_MAX;
}

// ---- Memory ----

TEST_P(DeviceContract, HasANameAndADescription) {
  EXPECT_NE(device_->name(), "");
  EXPECT_NE(device_->description(), "");
}

TEST_P(DeviceContract, MemoryIsAlignedAndOfTheLengthThatWasAskedFor) {
  const auto memory = Allocate(1000);
  EXPECT_EQ(memory->length_bytes(), 1000u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->address()) % 256, 0u);
}

TEST_P(DeviceContract, NoBytesAreRefused) {
  EXPECT_THAT(device_->Allocate(0, GetParam().allocation),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(DeviceContract, MoreThanThereIsIsRefused) {
  EXPECT_THAT(device_->Allocate(std::size_t{1} << 46, GetParam().allocation),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// ---- Streams ----

TEST_P(DeviceContract, WhatItFillsItVerifies) {
  const auto memory = Allocate(kLength);
  Fill(*memory, kSeed);
  EXPECT_EQ(WrongWords(*memory, kSeed), 0u);
  EXPECT_EQ(WrongWords(*memory, kSeed + 1), kLength / 8);
}

TEST_P(DeviceContract, OneWrongWordIsFoundWhereItIs) {
  const auto memory = Allocate(kLength);
  Fill(*memory, kSeed);
  const auto stream = OpenStream();
  const std::uint64_t wrong = ~PatternWord(kSeed, 77);
  ASSERT_THAT(stream->CopyFromHost(memory->address() + std::ptrdiff_t{77} * 8,
                                   reinterpret_cast<const std::byte*>(&wrong), 8),
              IsOk());
  const auto mismatch = stream->Verify(memory->address(), kLength, {kSeed});
  ASSERT_THAT(mismatch, IsOk());
  EXPECT_EQ(mismatch->wrong_words, 1u);
  EXPECT_EQ(mismatch->first_wrong_byte, 77u * 8);
}

TEST_P(DeviceContract, ThePatternIsTheHosts) {
  const auto memory = Allocate(4096);
  const auto stream = OpenStream();
  ASSERT_THAT(stream->Fill(memory->address(), 4096, {kSeed, 1000}), IsOk());
  std::array<std::uint64_t, 512> words{};
  ASSERT_THAT(stream->CopyToHost(reinterpret_cast<std::byte*>(words.data()), memory->address(),
                                 sizeof(words)),
              IsOk());
  ASSERT_THAT(stream->Synchronize(), IsOk());
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_EQ(words[i], PatternWord(kSeed, 1000 + i)) << i;
  }
}

TEST_P(DeviceContract, CommandsFollowOneAnother) {
  const auto first = Allocate(kLength);
  const auto second = Allocate(kLength);
  const auto stream = OpenStream();
  ASSERT_THAT(stream->Fill(first->address(), kLength, {1}), IsOk());
  ASSERT_THAT(stream->Copy(second->address(), first->address(), kLength), IsOk());
  ASSERT_THAT(stream->Fill(first->address(), kLength, {2}), IsOk());
  ASSERT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(WrongWords(*first, 2), 0u);
  EXPECT_EQ(WrongWords(*second, 1), 0u);
}

TEST_P(DeviceContract, AskingWhetherItIsDoneGetsItDone) {
  const auto memory = Allocate(kLength);
  const auto stream = OpenStream();
  ASSERT_THAT(stream->Fill(memory->address(), kLength, {kSeed}), IsOk());
  absl::StatusOr<bool> done = false;
  while (done.ok() && !*done) done = stream->Done();
  ASSERT_THAT(done, IsOk());
  EXPECT_EQ(WrongWords(*memory, kSeed), 0u);
}

TEST_P(DeviceContract, WhatIsNoMemoryOfADeviceIsRefused) {
  const auto memory = Allocate(4096);
  const auto stream = OpenStream();
  std::vector<std::byte> host(4096);
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(stream->Fill(host.data(), 4096, {kSeed}), StatusIs(code));
  EXPECT_THAT(stream->Copy(memory->address(), host.data(), 4096), StatusIs(code));
  EXPECT_THAT(stream->CopyToHost(host.data(), memory->address() + (std::size_t{1} << 40), 8),
              StatusIs(code));
  EXPECT_THAT(stream->Fill(memory->address(), 12, {kSeed}), StatusIs(code));
}

// ---- With a simulated NIC ----

namespace {

// Two machines that both reach the device's memory, as two NICs of one machine do.
struct TwoNics {
  explicit TwoNics(Device& device, const sim::WorldOptions& options = {})
      : world(/*seed=*/1, **sim::FindProfile("small"), options), device_(device) {
    world.AttachDevice(device.peer_memory());
    for (const char* name : {"a", "b"}) {
      nodes.push_back(*Node::Open(loop, sim::OpenSimFabric(world, world.AddNode(name))));
    }
    EXPECT_THAT(fabric::async::Introduce(nodes), IsOk());
    a = nodes[0].get();
    b = nodes[1].get();
  }
  ~TwoNics() { EXPECT_TRUE(world.findings().empty()) << sim::ToText(world.findings()[0]); }

  BufferRef Allocate(Node& node, const DeviceBufferOptions& options) {
    const auto buffer = AllocateDeviceBuffer(node.domain(), device_, kLength, options);
    EXPECT_THAT(buffer, IsOk());
    return buffer.ok() ? *buffer : BufferRef();
  }
  coro::Task<absl::Status> Write(BufferSlice source, fabric::RemoteBuffer target) {
    const fabric::Completion done = co_await a->endpoint().Write(source, target, a->peer(1));
    co_return a->endpoint().ToStatus(done, "write");
  }
  coro::Task<absl::Status> Read(BufferSlice target, fabric::RemoteBuffer source) {
    const fabric::Completion done = co_await a->endpoint().Read(target, source, a->peer(1));
    co_return a->endpoint().ToStatus(done, "read");
  }
  coro::Task<absl::Status> Send(BufferSlice message) {
    const fabric::Completion done = co_await a->endpoint().Send(message, a->peer(1));
    co_return a->endpoint().ToStatus(done, "send");
  }
  coro::Task<absl::Status> Recv(BufferSlice message) {
    const fabric::Completion done = co_await b->endpoint().Recv(message);
    co_return a->endpoint().ToStatus(done, "recv");
  }

  // A message from a to b.
  coro::Task<absl::Status> Exchange(BufferSlice message, BufferSlice receive) {
    std::vector<coro::Task<absl::Status>> both;
    both.push_back(Recv(receive));
    both.push_back(Send(message));
    for (const absl::Status& status : co_await coro::WhenAll(std::move(both))) {
      if (!status.ok()) co_return status;
    }
    co_return absl::OkStatus();
  }

  sim::World world;
  coro::EventLoop loop{world};
  std::vector<std::unique_ptr<Node>> nodes;
  Node* a = nullptr;
  Node* b = nullptr;

 private:
  Device& device_;
};

absl::Status FillBuffer(Device& device, const BufferRef& buffer, std::uint64_t seed) {
  auto stream = device.OpenStream();
  if (!stream.ok()) return stream.status();
  const absl::Status filled =
      (*stream)->Fill(buffer->bytes().data(), buffer->bytes().size(), {seed});
  return filled.ok() ? (*stream)->Synchronize() : filled;
}

absl::StatusOr<Mismatch> VerifyBuffer(Device& device, const BufferRef& buffer, std::uint64_t seed) {
  auto stream = device.OpenStream();
  if (!stream.ok()) return stream.status();
  return (*stream)->Verify(buffer->bytes().data(), buffer->bytes().size(), {seed});
}

absl::Status Register(TwoNics& nics, const MemoryRequest& request) {
  return nics.a->domain().RegisterMemory(request).status();
}

}  // namespace

TEST_P(DeviceContract, ANicMovesItsBytes) {
  for (const Registration how : {Registration::kAddress, Registration::kDmabuf}) {
    for (const sim::WorldOptions& clock : {sim::WorldOptions{}, sim::kAsFastAsItGoes}) {
      TwoNics nics(*device_, clock);
      const DeviceBufferOptions options{how, GetParam().allocation};
      const BufferRef source = nics.Allocate(*nics.a, options);
      const BufferRef target = nics.Allocate(*nics.b, options);
      ASSERT_THAT(FillBuffer(*device_, source, kSeed), IsOk());
      ASSERT_THAT(FillBuffer(*device_, target, ~kSeed), IsOk());
      EXPECT_THAT(nics.loop.Run(nics.Write(BufferSlice(source), target->region().remote())),
                  IsOk());
      ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
      const auto mismatch = VerifyBuffer(*device_, target, kSeed);
      ASSERT_THAT(mismatch, IsOk());
      EXPECT_EQ(mismatch->wrong_words, 0u);
    }
  }
}

TEST_P(DeviceContract, ANicReadsAndReceivesIntoIt) {
  TwoNics nics(*device_);
  const DeviceBufferOptions options{Registration::kDmabuf, GetParam().allocation};
  const BufferRef here = nics.Allocate(*nics.a, options);
  const BufferRef there = nics.Allocate(*nics.b, options);
  ASSERT_THAT(FillBuffer(*device_, there, kSeed), IsOk());
  EXPECT_THAT(nics.loop.Run(nics.Read(BufferSlice(here), there->region().remote())), IsOk());
  ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
  const auto after_read = VerifyBuffer(*device_, here, kSeed);
  ASSERT_THAT(after_read, IsOk());
  EXPECT_TRUE(after_read->none());

  ASSERT_THAT(FillBuffer(*device_, here, kSeed + 1), IsOk());
  EXPECT_THAT(nics.loop.Run(nics.Exchange(BufferSlice(here, 0, 8000), BufferSlice(there, 0, 8000))),
              IsOk());
  ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
  const auto stream = OpenStream();
  const auto received = stream->Verify(there->bytes().data(), 8000, {kSeed + 1});
  ASSERT_THAT(received, IsOk());
  EXPECT_TRUE(received->none());
}

TEST_P(DeviceContract, HostMemoryAndDeviceMemoryMeet) {
  TwoNics nics(*device_);
  const BufferRef host = *nics.a->Allocate(kLength);
  const BufferRef target = nics.Allocate(*nics.b, {Registration::kDmabuf, GetParam().allocation});
  for (std::size_t i = 0; i < kLength / 8; ++i) {
    const std::uint64_t word = PatternWord(kSeed, i);
    std::memcpy(host->bytes().data() + 8 * i, &word, 8);
  }
  EXPECT_THAT(nics.loop.Run(nics.Write(BufferSlice(host), target->region().remote())), IsOk());
  ASSERT_THAT(device_->FlushRemoteWrites(), IsOk());
  const auto mismatch = VerifyBuffer(*device_, target, kSeed);
  ASSERT_THAT(mismatch, IsOk());
  EXPECT_TRUE(mismatch->none());

  std::memset(host->bytes().data(), 0, kLength);
  EXPECT_THAT(nics.loop.Run(nics.Read(BufferSlice(host), target->region().remote())), IsOk());
  std::uint64_t last = 0;
  std::memcpy(&last, host->bytes().data() + kLength - 8, 8);
  EXPECT_EQ(last, PatternWord(kSeed, kLength / 8 - 1));
}

// ---- Counters of a NIC in it ----

namespace {

// A machine that is written to and one that writes, whose NICs have counters.
struct CountingNics {
  explicit CountingNics(Device& device) : world(/*seed=*/1, **sim::FindProfile("p5en")) {
    world.AttachDevice(device.peer_memory());
    for (OpenedNic* nic : {&writer, &target}) {
      fabrics.push_back(sim::OpenSimFabric(world, world.AddNode("n")));
      *nic = *fabric::OpenNic(*fabrics.back());
    }
  }
  // The target's endpoint anew, with a counter of what is written to it; and they know each other.
  void Count(const MemoryRequest& word) {
    auto* power = target.domain->power<fabric::CountersInMemory>();
    counter = *power->OpenCounterIn({.successes = word, .failures = {}});
    fabric::EndpointOptions options = target.endpoint_options();
    options.counters.remote_writes = counter.get();
    target.endpoint = *target.domain->OpenEndpoint(options);
    peer = *writer.peers->Insert(target.endpoint->address());
    EXPECT_THAT(target.peers->Insert(writer.endpoint->address()), IsOk());
  }

  sim::World world;
  std::vector<std::unique_ptr<fabric::Fabric>> fabrics;
  std::unique_ptr<fabric::Counter> counter;
  OpenedNic writer, target;
  fabric::Peer peer = fabric::kNoPeer;
};

}  // namespace

// The device waits for a word of its own. It sees the word no sooner than the bytes that it counts.
TEST_P(DeviceContract, ANicCountsInItAfterTheBytesThatItCounts) {
  for (const Registration how : {Registration::kAddress, Registration::kDmabuf}) {
    CountingNics nics(*device_);
    const auto data = Allocate(kLength);
    const auto words = Allocate(4096);
    Fill(*data, ~kSeed);
    const auto stream = OpenStream();
    const std::array<std::uint64_t, 512> zeros{};
    const auto* zero = reinterpret_cast<const std::byte*>(zeros.data());
    ASSERT_THAT(stream->CopyFromHost(words->address(), zero, 4096), IsOk());
    ASSERT_THAT(stream->Synchronize(), IsOk());

    const auto dmabuf = words->ExportDmabuf();
    ASSERT_THAT(dmabuf, IsOk());
    const bool by_dmabuf = how == Registration::kDmabuf;
    MemoryRequest word = RequestFor(*device_, *words, by_dmabuf ? &*dmabuf : nullptr);
    word.data += 64;
    if (by_dmabuf) word.dmabuf->offset_bytes += 64;
    word.length_bytes = fabric::kCounterWordBytes;
    nics.Count(word);
    const auto region = nics.target.domain->RegisterMemory(RequestFor(*device_, *data, nullptr));
    ASSERT_THAT(region, IsOk());
    std::vector<std::uint64_t> host(kLength / 8);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = PatternWord(kSeed, i);
    const auto source = nics.writer.domain->RegisterMemory(
        {.data = reinterpret_cast<std::byte*>(host.data()), .length_bytes = kLength});
    ASSERT_THAT(source, IsOk());
    ASSERT_EQ(nics.writer.endpoint->Write({.source = (*source)->Local(0, kLength),
                                           .target = (*region)->remote(),
                                           .peer = nics.peer,
                                           .context = fabric::Context{1}}),
              fabric::ErrorCode::kOk);
    std::uint64_t seen = 0;
    for (int i = 0; i < 100000 && seen == 0; ++i) {
      nics.world.timeline().RunFor(std::chrono::nanoseconds(500));
      ASSERT_THAT(stream->CopyToHost(reinterpret_cast<std::byte*>(&seen), words->address() + 64, 8),
                  IsOk());
      ASSERT_THAT(stream->Synchronize(), IsOk());
    }
    EXPECT_EQ(seen, 1u);
    EXPECT_EQ(WrongWords(*data, kSeed), 0u);  // with no flush of ours
    EXPECT_EQ(nics.counter->Read(), 0u);      // the host does not see it
  }
}

// ---- What a NIC refuses ----

TEST_P(DeviceContract, AnAddressThatIsNotItsOwnIsNotRegistered) {
  TwoNics nics(*device_);
  const auto memory = Allocate(kLength);
  MemoryRequest request = RequestFor(*device_, *memory, nullptr);
  const auto code = absl::StatusCode::kInvalidArgument;
  request.length_bytes = kLength + 1;
  EXPECT_THAT(Register(nics, request), StatusIs(code, HasSubstr("not memory of device")));
  std::vector<std::byte> host(kLength);
  request = RequestFor(*device_, *memory, nullptr);
  request.data = host.data();
  EXPECT_THAT(Register(nics, request), StatusIs(code, HasSubstr("not memory of device")));
  request = RequestFor(*device_, *memory, nullptr);
  request.device = 99;
  EXPECT_THAT(Register(nics, request), StatusIs(code, HasSubstr("99 is attached")));
}

TEST_P(DeviceContract, ADmabufIsLookedAt) {
  TwoNics nics(*device_);
  const auto memory = Allocate(kLength);
  const auto dmabuf = memory->ExportDmabuf();
  ASSERT_THAT(dmabuf, IsOk());
  EXPECT_EQ(dmabuf->length_bytes(), kLength);
  const MemoryRequest good = RequestFor(*device_, *memory, &*dmabuf);
  EXPECT_THAT(Register(nics, good), IsOk());
  const auto another = memory->ExportDmabuf();
  ASSERT_THAT(another, IsOk());
  EXPECT_THAT(Register(nics, good), IsOk());
  EXPECT_THAT(Register(nics, RequestFor(*device_, *memory, &*another)), IsOk());

  const auto code = absl::StatusCode::kInvalidArgument;
  MemoryRequest request = good;
  request.dmabuf->fd = -1;
  EXPECT_THAT(Register(nics, request), StatusIs(code, HasSubstr("fd -1 cannot be used")));
  const int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
  request.dmabuf->fd = other;
  EXPECT_THAT(Register(nics, request), StatusIs(code, HasSubstr("is no dmabuf of device")));
  close(other);
  request = good;
  request.length_bytes = std::size_t{1} << 40;
  EXPECT_THAT(Register(nics, request), StatusIs(code, HasSubstr("past the end of the dmabuf")));
  request = good;
  request.dmabuf->offset_bytes = 4096;
  request.length_bytes = 4096;
  EXPECT_THAT(Register(nics, request), StatusIs(code, HasSubstr("and the request says")));
  request.data += 4096;
  EXPECT_THAT(Register(nics, request), IsOk());
}

// ---- How long it lives ----

TEST_P(DeviceContract, MemoryOfADmabufOutlivesItsOwner) {
  TwoNics nics(*device_);
  const BufferRef source = nics.Allocate(*nics.a, {Registration::kAddress, GetParam().allocation});
  ASSERT_THAT(FillBuffer(*device_, source, kSeed), IsOk());
  auto memory = Allocate(kLength);
  const auto dmabuf = memory->ExportDmabuf();
  ASSERT_THAT(dmabuf, IsOk());
  auto region = nics.b->domain().RegisterMemory(RequestFor(*device_, *memory, &*dmabuf));
  ASSERT_THAT(region, IsOk());
  memory.reset();
  EXPECT_THAT(nics.loop.Run(nics.Write(BufferSlice(source), (*region)->remote())), IsOk());
  const BufferRef back = *nics.a->Allocate(kLength);
  EXPECT_THAT(nics.loop.Run(nics.Read(BufferSlice(back), (*region)->remote())), IsOk());
  std::uint64_t last = 0;
  std::memcpy(&last, back->bytes().data() + kLength - 8, 8);
  EXPECT_EQ(last, PatternWord(kSeed, kLength / 8 - 1));
}

}  // namespace drydock::gpu
