#include "drydock/sim/rdm/testing/test_bed.h"

#include <algorithm>
#include <array>

#include "drydock/coro/keyed_bytes.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/rdm/rdm_fabric.h"
#include "drydock/sim/rdm/sim_rdm_fabric.h"
#include "gtest/gtest.h"

namespace drydock::sim::rdm {

using namespace std::chrono_literals;
using fabric::Completion;
using fabric::Context;
using fabric::ErrorCode;

void Machine::Poll() {
  if (queue == nullptr) return;
  std::array<Completion, 16> entries;
  const fabric::ReadResult result = queue->Read(entries);
  completions.insert(completions.end(), entries.begin(),
                     entries.begin() + static_cast<std::ptrdiff_t>(result.count));
}

TestBed::TestBed(const TestBedOptions& options)
    : world_(options.seed, **FindProfile(options.profile)),
      options_(options),
      machines_(options.machines) {
  for (std::size_t number = 0; number < options.machines; ++number) Open(number);
  for (Machine& machine : machines_) {
    for (const Machine& other : machines_) {
      machine.peers.push_back(machine.vector->Insert(other.endpoint->address()).value());
    }
  }
}

void TestBed::Open(std::size_t number) {
  Machine& machine = machines_[number];
  machine.node = &world_.AddNode("machine");
  const Alteration& alteration =
      number < options_.alterations.size() ? options_.alterations[number] : options_.alteration;
  const std::shared_ptr<Alarm> alarm = AlarmOf(world_);
  machine.fabric =
      OpenRdmFabric(AlterDevice(OpenSimDevice(world_, *machine.node), alteration, alarm), alarm,
                    options_.settings);
  machine.domain = machine.fabric->OpenDomain(0).value();
  machine.queue = machine.domain->OpenCompletionQueue({}).value();
  machine.vector = machine.domain->OpenAddressVector().value();
  machine.memory.assign(options_.memory_bytes, std::byte{0});
  machine.region =
      machine.domain
          ->RegisterMemory({.data = machine.memory.data(), .length_bytes = machine.memory.size()})
          .value();
  ReopenEndpoint(machine);
}

TestBed::~TestBed() {
  for (const Finding& finding : world_.findings()) {
    EXPECT_NE(finding.check, Check::kContextOwnership) << ToText(finding);
    EXPECT_NE(finding.check, Check::kRetryIdempotence) << ToText(finding);
  }
}

void TestBed::ReopenEndpoint(Machine& machine, fabric::EndpointOptions options) {
  options.send_queue = options.receive_queue = machine.queue.get();
  options.address_vector = machine.vector.get();
  machine.endpoint.reset();
  machine.endpoint = machine.domain->OpenEndpoint(options).value();
}

void TestBed::ReplaceEndpoint(std::size_t number, const fabric::EndpointOptions& options) {
  ReopenEndpoint(machines_[number], options);
  for (Machine& machine : machines_) {
    machine.peers[number] = machine.vector->Insert(machines_[number].endpoint->address()).value();
  }
}

void TestBed::Pump() {
  std::size_t news = 0;
  for (Machine& machine : machines_) {
    const std::size_t before = machine.completions.size();
    machine.Poll();
    news += machine.completions.size() - before;
  }
  if (news == 0) world_.WaitUntil(world_.Now() + 10us);
}

bool TestBed::PumpUntil(const std::function<bool()>& done) {
  const coro::Time deadline = world_.Now() + kPatience;
  while (!done()) {
    if (world_.Now() >= deadline) return false;
    Pump();
  }
  return true;
}

void TestBed::PumpFor(coro::Duration duration) {
  const coro::Time end = world_.Now() + duration;
  while (world_.Now() < end) Pump();
}

void TestBed::Connect() {
  for (std::size_t from = 0; from < machines_.size(); ++from) {
    for (std::size_t to = 0; to < machines_.size(); ++to) {
      Machine& machine = machines_[from];
      constexpr std::uint64_t kContext = 0xc0ffee;
      const fabric::WriteRequest write{.source = machine.Local(0, 0),
                                       .target = machines_[to].Remote(0),
                                       .peer = machine.peers[to],
                                       .context = Context{kContext}};
      ASSERT_EQ(Post([&] { return machine.endpoint->Write(write); }), ErrorCode::kOk);
      EXPECT_EQ(Take(machine, kContext).error, ErrorCode::kOk);
    }
  }
}

ErrorCode TestBed::Post(const std::function<ErrorCode()>& post) {
  ErrorCode error = ErrorCode::kAgain;
  PumpUntil([&] {
    error = post();
    return error != ErrorCode::kAgain;
  });
  return error;
}

Completion TestBed::Take(Machine& machine, std::uint64_t context) {
  auto found = machine.completions.end();
  const bool came = PumpUntil([&] {
    found = std::find_if(
        machine.completions.begin(), machine.completions.end(),
        [&](const Completion& completion) { return completion.context == Context{context}; });
    return found != machine.completions.end();
  });
  EXPECT_TRUE(came) << "no completion with context " << context;
  if (!came) return {.error = ErrorCode::kDeadlineExceeded};
  const Completion taken = *found;
  machine.completions.erase(found);
  return taken;
}

Completion TestBed::TakeRemoteWrite(Machine& machine) {
  auto found = machine.completions.end();
  const bool came = PumpUntil([&] {
    found = std::find_if(machine.completions.begin(), machine.completions.end(),
                         [](const Completion& completion) {
                           return completion.kind == fabric::OperationKind::kRemoteWrite;
                         });
    return found != machine.completions.end();
  });
  EXPECT_TRUE(came) << "no remote write";
  if (!came) return {.error = ErrorCode::kDeadlineExceeded};
  const Completion taken = *found;
  machine.completions.erase(found);
  return taken;
}

ErrorCode TestBed::Send(std::size_t offset, std::size_t length, std::uint64_t context) {
  const fabric::SendRequest request{
      .buffer = a().Local(offset, length), .peer = a().peers[1], .context = Context{context}};
  return Post([&] { return a().endpoint->Send(request); });
}

ErrorCode TestBed::Recv(std::size_t offset, std::size_t length, std::uint64_t context) {
  const fabric::RecvRequest request{.buffer = b().Local(offset, length),
                                    .context = Context{context}};
  return Post([&] { return b().endpoint->Recv(request); });
}

void Fill(std::span<std::byte> bytes, std::uint32_t seed) { coro::FillKeyed(bytes, seed); }

bool Holds(std::span<const std::byte> bytes, std::uint32_t seed) {
  return coro::HoldsKeyed(bytes, seed);
}

bool Untouched(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace drydock::sim::rdm
