#include "drydock/testing/contract/contract_test.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

#include "drydock/coro/keyed_bytes.h"

namespace drydock::contract {

using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

ContractTest::ContractTest() : backend_(MakeBackend()), traits_(backend_->ExpectedTraits()) {}

ContractTest::~ContractTest() {
  if (HasFailure()) std::cerr << "backend: " << backend_->Description() << "\n";
  Close(initiator_);
  Close(target_);
  Close(third_);
}

void ContractTest::SetUp() {
  const std::string lacking = LackingOf(CurrentTest(), {backend_->ExpectedCapabilities(), traits_});
  if (!lacking.empty()) {
    GTEST_SKIP() << "does not apply to " << backend_->Description() << ", which lacks " << lacking;
  }
  const std::vector<std::string> broken = backend_->Broken();
  if (std::find(broken.begin(), broken.end(), CurrentTest()) != broken.end()) {
    GTEST_SKIP() << backend_->Description() << " does not survive it";
  }
  Open(backend_->initiator(), initiator_);
  Open(backend_->target(), target_);
  initiator_.peer = initiator_.peers->Insert(target_.endpoint->address()).value();
  target_.peer = target_.peers->Insert(initiator_.endpoint->address()).value();
  Prepare();
}

fabric::EndpointOptions ContractTest::PartsOf(const Side& side) {
  return {.send_queue = side.queue.get(),
          .receive_queue = side.queue.get(),
          .address_vector = side.peers.get()};
}

fabric::EndpointOptions ContractTest::Options(Side& side) { return PartsOf(side); }

void ContractTest::Open(fabric::Fabric& fabric, Side& side) {
  side.domain = fabric.OpenDomain(0).value();
  side.queue = side.domain->OpenCompletionQueue(QueueOptions()).value();
  side.peers = side.domain->OpenAddressVector().value();
  side.endpoint = OpenAnother(side);
  side.memory.Allocate(kMemoryBytes);
  side.region =
      side.domain->RegisterMemory({.data = side.memory.data(), .length_bytes = kMemoryBytes})
          .value();
}

void ContractTest::Close(Side& side) {
  side.endpoint.reset();
  side.region.reset();
  side.peers.reset();
  side.queue.reset();
  side.domain.reset();
}

fabric::Peer ContractTest::OpenThird() {
  Open(backend_->target(), third_);
  third_.peer = third_.peers->Insert(initiator_.endpoint->address()).value();
  return initiator_.peers->Insert(third_.endpoint->address()).value();
}

std::unique_ptr<fabric::Endpoint> ContractTest::OpenAnother(Side& side) {
  return side.domain->OpenEndpoint(Options(side)).value();
}

std::unique_ptr<fabric::MemoryRegion> ContractTest::Register(Side& side, std::size_t offset,
                                                             std::size_t length,
                                                             fabric::Access access) {
  return side.domain
      ->RegisterMemory(
          {.data = side.memory.data() + offset, .length_bytes = length, .access = access})
      .value();
}

void ContractTest::Connect() {
  constexpr std::uint64_t kContext = 0xc0ffee;
  ASSERT_EQ(Write(0, 0, target_.Remote(0), kContext, 0), ErrorCode::kOk);
  ASSERT_TRUE(Take(initiator_, kContext).ok());
  ASSERT_TRUE(TakeRemoteWrite(target_).ok());
}

ErrorCode ContractTest::Post(const std::function<ErrorCode()>& post) {
  ErrorCode error = ErrorCode::kAgain;
  PumpUntil([&] {
    error = post();
    return error != ErrorCode::kAgain;
  });
  return error;
}

fabric::SendRequest ContractTest::SendOf(std::size_t offset, std::size_t length,
                                         std::optional<Context> context) const {
  return {.buffer = initiator_.Local(offset, length), .peer = initiator_.peer, .context = context};
}

fabric::WriteRequest ContractTest::WriteOf(std::size_t from, std::size_t length,
                                           fabric::RemoteBuffer to,
                                           std::optional<Context> context) const {
  return {.source = initiator_.Local(from, length),
          .target = to,
          .peer = initiator_.peer,
          .context = context};
}

fabric::ReadRequest ContractTest::ReadOf(std::size_t to, std::size_t length,
                                         fabric::RemoteBuffer from,
                                         std::optional<Context> context) const {
  return {.target = initiator_.Local(to, length),
          .source = from,
          .peer = initiator_.peer,
          .context = context};
}

fabric::RecvRequest ContractTest::RecvOf(std::size_t offset, std::size_t length,
                                         std::optional<Context> context) const {
  return {.buffer = target_.Local(offset, length), .context = context};
}

ErrorCode ContractTest::Send(std::size_t offset, std::size_t length, std::uint64_t context,
                             std::optional<std::uint32_t> immediate) {
  fabric::SendRequest request = SendOf(offset, length, Context{context});
  request.immediate = immediate;
  return Post([&] { return initiator_.endpoint->Send(request); });
}

ErrorCode ContractTest::Write(std::size_t from, std::size_t length, fabric::RemoteBuffer to,
                              std::uint64_t context, std::optional<std::uint32_t> immediate) {
  fabric::WriteRequest request = WriteOf(from, length, to, Context{context});
  request.immediate = immediate;
  return Post([&] { return initiator_.endpoint->Write(request); });
}

ErrorCode ContractTest::Read(std::size_t to, std::size_t length, fabric::RemoteBuffer from,
                             std::uint64_t context) {
  const fabric::ReadRequest request = ReadOf(to, length, from, Context{context});
  return Post([&] { return initiator_.endpoint->Read(request); });
}

ErrorCode ContractTest::Recv(std::size_t offset, std::size_t length, std::uint64_t context) {
  const fabric::RecvRequest request = RecvOf(offset, length, Context{context});
  return Post([&] { return target_.endpoint->Recv(request); });
}

void ContractTest::ReadQueue(Side& side) {
  if (side.queue == nullptr) return;
  std::array<Completion, 16> entries;
  const fabric::ReadResult result = side.queue->Read(entries);
  side.completions.insert(side.completions.end(), entries.begin(),
                          entries.begin() + static_cast<std::ptrdiff_t>(result.count));
}

void ContractTest::Pump() {
  ReadQueue(initiator_);
  ReadQueue(target_);
  ReadQueue(third_);
}

std::size_t ContractTest::CompletionsRead() const {
  return initiator_.completions.size() + target_.completions.size() + third_.completions.size();
}

bool ContractTest::PumpUntil(const std::function<bool()>& done) {
  const coro::Time deadline = backend_->Now() + backend_->Patience();
  while (!done()) {
    if (backend_->Now() >= deadline) return false;
    const std::size_t before = CompletionsRead();
    Pump();
    if (CompletionsRead() == before) backend_->Idle();
  }
  return true;
}

void ContractTest::PumpQuietly() {
  const coro::Time end = backend_->Now() + backend_->Quiet();
  while (backend_->Now() < end) {
    Pump();
    backend_->Idle();
  }
}

Completion ContractTest::TakeMatching(Side& side,
                                      const std::function<bool(const Completion&)>& matches,
                                      const char* what) {
  auto found = side.completions.end();
  const bool came = PumpUntil([&] {
    found = std::find_if(side.completions.begin(), side.completions.end(), matches);
    return found != side.completions.end();
  });
  if (!came) {
    ADD_FAILURE() << "no completion came: " << what;
    return Completion();
  }
  const Completion completion = *found;
  side.completions.erase(found);
  return completion;
}

Completion ContractTest::Take(Side& side, std::uint64_t context) {
  return TakeMatching(
      side, [&](const Completion& c) { return c.context == Context{context}; },
      ("context " + std::to_string(context)).c_str());
}

Completion ContractTest::TakeRemoteWrite(Side& side) {
  return TakeMatching(
      side, [](const Completion& c) { return c.kind == fabric::OperationKind::kRemoteWrite; },
      "a peer's write with immediate");
}

std::optional<Completion> ContractTest::TakeIfAny(Side& side, std::uint64_t context) {
  PumpQuietly();
  const auto found =
      std::find_if(side.completions.begin(), side.completions.end(),
                   [&](const Completion& c) { return c.context == Context{context}; });
  if (found == side.completions.end()) return std::nullopt;
  const Completion completion = *found;
  side.completions.erase(found);
  return completion;
}

void ContractTest::Fill(std::span<std::byte> bytes, std::uint8_t seed) {
  coro::FillKeyed(bytes, seed);
}

bool ContractTest::Holds(std::span<const std::byte> bytes, std::uint8_t seed) {
  return coro::HoldsKeyed(bytes, seed);
}

bool ContractTest::Untouched(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace drydock::contract
