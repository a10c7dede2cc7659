#include "drydock/sim/testing/lab.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/keyed_bytes.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim_testing {

using fabric::Completion;
using fabric::ErrorCode;
using namespace std::chrono_literals;

namespace {

// Contexts of ExpectWorks, which no test uses.
constexpr std::uint64_t kWorksWrite = 0xfeed0001;
constexpr std::uint64_t kWorksSend = 0xfeed0002;
constexpr std::uint64_t kWorksReceive = 0xfeed0003;

// A test is no program: it may look at memory that is in flight at any time.
sim::Lifted Seen(std::span<const std::byte> bytes) { return {bytes.data(), bytes.size()}; }

sim::Profile WithLimits(sim::Profile profile) {
  profile.limits = sim::EfaDirectLimits(profile);
  return profile;
}

// A device without reads and writes registers no memory for them.
fabric::Access MostAccess(const sim::Profile& profile) {
  return profile.limits.max_rma_bytes > 0 ? fabric::Access::kAll
                                          : fabric::Access::kSend | fabric::Access::kReceive;
}

}  // namespace

sim::Profile CopyOf(const char* name) { return *Must(sim::FindProfile(name)); }
sim::Profile Small() { return CopyOf("small"); }

sim::Profile Calm() {
  sim::Profile profile = Small();
  profile.one_way.jitter = {};
  profile.one_way.tail_one_in = 0;
  profile.path_spread = {};
  profile.retransmit_one_in = 0;
  profile.duplicate_one_in = 0;
  profile.split_placement_one_in = 0;
  return profile;
}

// ---- Sides ----

fabric::WriteRequest Side::WriteTo(const Side& to, std::size_t offset, std::size_t length,
                                   std::uint64_t context) const {
  return {.source = Local(offset, length),
          .target = to.Remote(offset),
          .peer = PeerOf(to),
          .context = ContextOf(context)};
}

fabric::ReadRequest Side::ReadFrom(const Side& from, std::size_t offset, std::size_t length,
                                   std::uint64_t context) const {
  return {.target = Local(offset, length),
          .source = from.Remote(offset),
          .peer = PeerOf(from),
          .context = ContextOf(context)};
}

fabric::SendRequest Side::SendTo(const Side& to, std::size_t offset, std::size_t length,
                                 std::uint64_t context) const {
  return {.buffer = Local(offset, length), .peer = PeerOf(to), .context = ContextOf(context)};
}

fabric::RecvRequest Side::RecvAt(std::size_t offset, std::size_t length,
                                 std::uint64_t context) const {
  return {.buffer = Local(offset, length), .context = ContextOf(context)};
}

fabric::EndpointOptions Side::Parts() const {
  return {.send_queue = queue.get(), .receive_queue = queue.get(), .address_vector = peers.get()};
}

std::unique_ptr<fabric::MemoryRegion> Side::Register(std::size_t offset, std::size_t length,
                                                     fabric::Access access) {
  return Must(domain->RegisterMemory(
      {.data = memory().data() + offset, .length_bytes = length, .access = access}));
}

std::uint64_t NumberOf(const Completion& completion) {
  return completion.context.has_value() ? static_cast<std::uint64_t>(*completion.context) : 0;
}

// ---- Bytes ----

void Fill(std::span<std::byte> bytes, std::uint64_t seed) {
  const sim::Lifted lifted = Seen(bytes);
  coro::FillKeyed(bytes, seed);
}

bool Holds(std::span<const std::byte> bytes, std::uint64_t seed) {
  const sim::Lifted lifted = Seen(bytes);
  return coro::HoldsKeyed(bytes, seed);
}

bool IsZero(std::span<const std::byte> bytes) {
  const sim::Lifted lifted = Seen(bytes);
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::uint64_t Checksum(std::span<const std::byte> bytes) {
  const sim::Lifted lifted = Seen(bytes);
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3ull;
  return hash;
}

// ---- The lab ----

Lab::Lab(std::uint64_t seed, sim::Profile profile, sim::ClockKind clock,
         std::shared_ptr<fabric::faults::FaultEngine> faults, bool real_delays)
    : trace_(__FILE__, __LINE__, absl::StrCat("profile ", profile.name, ", seed ", seed)),
      profile_(WithLimits(clock == sim::ClockKind::kReal && !real_delays
                              ? WithoutDelays(std::move(profile))
                              : std::move(profile))),
      world_(seed, profile_, {.clock = clock, .checks = true}) {
  // These tests are about devices: many post one request over and over, with one context.
  world_.checks().rules().contexts_are_names = false;
  if (faults != nullptr) world_.UseFaultEngine(std::move(faults));
}

std::vector<sim::Finding> Lab::End() {
  world_.CheckRequests();
  sides_.clear();
  world_.CheckEnd();
  return world_.checks().TakeFindings();
}

Lab::~Lab() {
  sides_.clear();
  world_.CheckEnd();
  for (const sim::Finding& finding : world_.findings()) {
    if (std::find(allowed_.begin(), allowed_.end(), finding.check) != allowed_.end()) continue;
    ADD_FAILURE() << sim::ToText(finding);
  }
}

void Lab::ExpectFinding(sim::Check check, std::uint64_t times) {
  const std::vector<sim::Finding> findings = world_.checks().TakeFindings();
  for (const sim::Finding& finding : findings) {
    EXPECT_EQ(finding.check, check) << sim::ToText(finding);
    EXPECT_EQ(finding.times, times) << sim::ToText(finding);
  }
  EXPECT_EQ(findings.size(), 1u);
}

Side& Lab::Add(const std::string& name, const SideOptions& options, const sim::Profile* profile) {
  return Open(world_.AddNode(name, profile == nullptr ? profile_ : *profile), options);
}

Side& Lab::AddBeside(const Side& side, const SideOptions& options) {
  return Open(side.node, options);
}

Side& Lab::Open(sim::Node& node, const SideOptions& options) {
  sides_.push_back(std::make_unique<Side>(node, options.nic));
  Side& side = *sides_.back();
  side.pages.resize(Side::kBytes / sizeof(Side::Page));
  std::fill(side.memory().begin(), side.memory().end(), std::byte{0});
  side.fabric = sim::OpenSimFabric(world_, node);
  if (decorate_) side.fabric = decorate_(std::move(side.fabric), node.name());
  side.domain = Must(side.fabric->OpenDomain(options.nic));
  side.queue = Must(side.domain->OpenCompletionQueue({.depth = options.queue_depth}));
  side.peers = Must(side.domain->OpenAddressVector());
  side.region = side.Register(0, Side::kBytes, MostAccess(side.nic.profile()));
  fabric::EndpointOptions endpoint = side.Parts();
  endpoint.type = options.type;
  endpoint.receiver_not_ready_retries = options.retries;
  endpoint.receives_take_immediates = options.receives_take_immediates;
  endpoint.inject_bytes = options.inject_bytes;
  endpoint.counters = options.counters;
  side.endpoint = Must(side.domain->OpenEndpoint(endpoint));
  return side;
}

void Lab::Introduce() {
  for (const auto& side : sides_) {
    for (const auto& other : sides_) side->Insert(*other);
  }
}

bool Lab::Pump() {
  bool found = false;
  for (const auto& side : sides_) {
    if (side->queue == nullptr) continue;
    std::array<Completion, 16> entries;
    fabric::ReadResult result;
    do {
      result = side->queue->Read(entries);
      EXPECT_EQ(result.error, ErrorCode::kOk);
      side->completions.insert(side->completions.end(), entries.begin(),
                               entries.begin() + static_cast<std::ptrdiff_t>(result.count));
      found = found || result.count > 0;
    } while (result.count == entries.size());
  }
  return found;
}

bool Lab::Until(const std::function<bool()>& done, coro::Duration patience) {
  const coro::Time deadline = world_.Now() + patience;
  while (true) {
    Pump();
    if (done()) return true;
    const coro::Time now = world_.Now();
    if (now >= deadline) return false;
    world_.WaitUntil(!world_.IsVirtual() ? std::min(deadline, now + 1ms) : deadline);
  }
}

void Lab::Watch(coro::Duration duration) {
  Until([] { return false; }, duration);
}

Completion Lab::Take(Side& side, std::uint64_t context) {
  const auto find = [&] {
    return std::find_if(side.completions.begin(), side.completions.end(),
                        [&](const Completion& c) { return NumberOf(c) == context; });
  };
  if (!Until([&] { return find() != side.completions.end(); })) {
    ADD_FAILURE() << side.node.name() << ": no completion with context " << context;
    return {};
  }
  const auto found = find();
  const Completion completion = *found;
  side.completions.erase(found);
  return completion;
}

void Lab::ExpectWorks(Side& from, Side& side) {
  constexpr std::size_t kBytes = 2048;
  constexpr std::size_t kAt = Side::kBytes - 2 * kBytes;
  static std::uint64_t pattern = 0;  // another one each time
  ++pattern;
  Fill(from.Bytes(kAt, 2 * kBytes), pattern);
  ASSERT_EQ(side.endpoint->Recv(side.RecvAt(kAt + kBytes, kBytes, kWorksReceive)), ErrorCode::kOk);
  ASSERT_EQ(from.endpoint->Write(from.WriteTo(side, kAt, kBytes, kWorksWrite)), ErrorCode::kOk);
  ASSERT_EQ(from.endpoint->Send(from.SendTo(side, kAt + kBytes, kBytes, kWorksSend)),
            ErrorCode::kOk);
  EXPECT_EQ(Take(from, kWorksWrite).provider_error, 0);
  EXPECT_EQ(Take(from, kWorksSend).provider_error, 0);
  const Completion received = Take(side, kWorksReceive);
  EXPECT_EQ(received.provider_error, 0);
  EXPECT_EQ(received.length_bytes, kBytes);
  EXPECT_TRUE(Holds(side.Bytes(kAt, 2 * kBytes), pattern));
}

void Lab::ExpectNoMore(coro::Duration watch) {
  Watch(watch);
  for (const auto& side : sides_) {
    for (const Completion& completion : side->completions) {
      ADD_FAILURE() << side->node.name()
                    << ": one completion more: " << fabric::Name(completion.kind) << ", context "
                    << NumberOf(completion) << ", status " << completion.provider_error;
    }
  }
}

}  // namespace drydock::sim_testing
