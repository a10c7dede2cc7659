#include "drydock/sim/hosts/testing/station.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "drydock/coro/keyed_bytes.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/sim/testing/unique_name.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

namespace efa = fabric::efa_queue;

namespace {

using namespace std::chrono_literals;

// Longer than anything takes, on a machine that stands still for seconds, too: a longer wait is in
// vain.
constexpr coro::Duration kGuard = 100s;

template <typename T>
T Need(absl::StatusOr<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status();
    std::abort();
  }
  return *std::move(result);
}

sim::Profile WithShortTimeouts() {
  sim::Profile profile = sim::Profiles().front();
  profile.unresponsive_timeout = 60ms;
  profile.unreachable_timeout = 40ms;
  return profile;
}

sim::Profile WithoutMishaps() {
  sim::Profile profile = WithShortTimeouts();
  profile.retransmit_one_in = 0;
  profile.duplicate_one_in = 0;
  profile.split_placement_one_in = 0;
  return profile;
}

}  // namespace

const sim::Profile& StationProfile() {
  static const sim::Profile profile = WithShortTimeouts();
  return profile;
}

const sim::Profile& CalmStationProfile() {
  static const sim::Profile profile = WithoutMishaps();
  return profile;
}

std::string FreshFabric() { return UniqueName("test"); }

Station::Station(const StationOptions& options)
    : options_(options),
      host_(Need(sim::Host::Join({.fabric = options.fabric,
                                  .seed = 1,
                                  .profile = options.profile,
                                  .cross_memory = options.cross_memory,
                                  .network = options.network,
                                  .key_file = options.key_file,
                                  .shared_memory = options.shared_memory}))),
      memory_(options.memory_bytes) {
  const std::lock_guard lock(host_->mutex());
  if (options.faults != nullptr) host_->world().UseFaultEngine(options.faults);
  nic_ = &host_->node().nic(options.nic);
  domain_ = Need(nic_->admin().AllocateDomain());
  const auto keys = Need(
      nic_->admin().RegisterMemory(domain_, memory_.data(), memory_.size(), fabric::Access::kAll));
  local_key_ = keys.local;
  remote_key_ = keys.remote;
  ring_ = Need(nic_->admin().CreateCompletionRing(256));
  Open();
}

Station::~Station() {
  const std::lock_guard lock(host_->mutex());
  nic_->admin().DestroyQueuePair(*queue_pair_);
}

void Station::Open() {
  queue_pair_ =
      Need(nic_->admin().CreateQueuePair({.type = options_.type,
                                          .domain = domain_,
                                          .send_ring = ring_,
                                          .receive_ring = ring_,
                                          .send_entries = 64,
                                          .wide = false,
                                          .receive_descriptors = 64,
                                          .rnr_retries = options_.rnr_retries,
                                          .unsolicited_immediates = options_.unsolicited_immediates,
                                          .counters = options_.counters}));
  producer_ =
      std::make_unique<efa::Producer>(queue_pair_->send.entries(), queue_pair_->send.max_batch());
  receive_producer_ = std::make_unique<efa::Producer>(queue_pair_->receive.descriptors(),
                                                      queue_pair_->receive.descriptors());
}

void Station::ReplaceQueuePair() {
  const std::lock_guard lock(host_->mutex());
  nic_->admin().DestroyQueuePair(*queue_pair_);
  Open();
  host_->Posted();
}

void Station::Deregister() {
  const std::lock_guard lock(host_->mutex());
  nic_->admin().DeregisterMemory(remote_key_);
}

sim::HostCounters Station::counters() {
  const std::lock_guard lock(host_->mutex());
  return host_->counters();
}

sim::DeviceCounters Station::device_counters() {
  const std::lock_guard lock(host_->mutex());
  return nic_->counters();
}

void Station::Fill(std::size_t offset, std::size_t length, std::uint64_t seed) {
  const std::lock_guard lock(host_->mutex());
  coro::FillKeyed(Bytes(offset, length), seed);
}

bool Station::Holds(std::size_t offset, std::size_t length, std::uint64_t seed) {
  const std::lock_guard lock(host_->mutex());
  return coro::HoldsKeyed(Bytes(offset, length), seed);
}

std::vector<std::byte> Station::Copy(std::size_t offset, std::size_t length) {
  const std::lock_guard lock(host_->mutex());
  const std::span<std::byte> bytes = Bytes(offset, length);
  return {bytes.begin(), bytes.end()};
}

StationAddress Station::address() const {
  return {.gid = nic_->gid(),
          .queue_pair = queue_pair_->number,
          .qkey = queue_pair_->qkey,
          .memory = reinterpret_cast<std::uint64_t>(memory_.data()),
          .key = remote_key_};
}

std::uint16_t Station::Introduce(const sim::Gid& gid) {
  for (const auto& [known, number] : handles_) {
    if (known == gid) return number;
  }
  const std::lock_guard lock(host_->mutex());
  handles_.emplace_back(gid, Need(nic_->admin().CreateAddressHandle(domain_, gid)));
  return handles_.back().second;
}

std::uint16_t Station::Post(const StationAddress& peer, const StationWork& work,
                            const std::function<void(efa::SendWork&)>& change) {
  efa::SendWork request;
  request.request_id = next_request_++;
  request.operation = work.operation;
  request.address_handle = Introduce(peer.gid);
  request.destination_queue_pair = peer.queue_pair;
  request.qkey = peer.qkey;
  request.has_immediate = work.immediate.has_value();
  request.immediate = work.immediate.value_or(0);
  if (work.is_inline) {
    request.is_inline = true;
    request.inline_bytes = static_cast<std::uint16_t>(work.length);
    request.inline_data = reinterpret_cast<const std::uint8_t*>(memory_.data() + work.local);
  } else {
    request.segment_count = 1;
    request.segments[0] = {.length = work.length,
                           .lkey = local_key_,
                           .address = reinterpret_cast<std::uint64_t>(memory_.data()) + work.local};
  }
  if (work.operation != efa::Operation::kSend) {
    request.remote = {
        .length = work.length, .rkey = peer.key, .address = peer.memory + work.remote};
  }
  if (change) change(request);
  const std::lock_guard lock(host_->mutex());
  host_->Progress();
  EXPECT_GT(producer_->free(), 0u);
  efa::EncodeSend(request, queue_pair_->send.format(), producer_->phase(),
                  queue_pair_->send.Slot(producer_->slot()));
  producer_->Post();
  nic_->RingSend(*queue_pair_, producer_->Ring());
  host_->Posted();
  return static_cast<std::uint16_t>(request.request_id);
}

void Station::PostReceive(std::size_t offset, std::uint32_t length, std::uint16_t number) {
  efa::ReceiveWork work;
  work.request_id = number;
  work.segment_count = 1;
  work.segments[0] = {.length = length,
                      .lkey = local_key_,
                      .address = reinterpret_cast<std::uint64_t>(memory_.data()) + offset};
  const std::lock_guard lock(host_->mutex());
  efa::EncodeReceive(work, queue_pair_->receive.memory(), queue_pair_->receive.descriptors(),
                     receive_producer_->posted());
  receive_producer_->Post();
  nic_->RingReceive(*queue_pair_, receive_producer_->Ring());
  host_->Posted();
}

std::optional<efa::Completion> Station::Take() {
  const void* entry = ring_->Peek();
  if (entry == nullptr) return std::nullopt;
  efa::Completion completion;
  EXPECT_EQ(efa::DecodeCompletion(entry, efa::CqeSize::k32, ring_->phase(), completion),
            efa::Malformed::kNone);
  ring_->Pop();
  if (completion.queue == efa::QueueType::kSend) {
    producer_->Complete();
  } else if (!completion.unsolicited) {
    receive_producer_->Complete();
  }
  return completion;
}

std::optional<efa::Completion> Station::Poll() {
  const std::lock_guard lock(host_->mutex());
  host_->Progress();
  return Take();
}

void Station::PollUntil(const std::function<bool()>& done) {
  const coro::SteadyClock clock;
  const coro::Time deadline = clock.Now() + kGuard;
  while (!done()) {
    if (clock.Now() > deadline) {
      FAIL() << "nothing happens for " << kGuard.count() << " ns";
    }
    std::this_thread::yield();
  }
}

efa::Completion Station::Wait() {
  std::optional<efa::Completion> completion;
  PollUntil([&] { return (completion = Poll()).has_value(); });
  return completion.value_or(efa::Completion());
}

efa::Completion Station::WaitIdly() {
  std::optional<efa::Completion> completion;
  PollUntil([&] {
    const std::lock_guard lock(host_->mutex());
    return (completion = Take()).has_value();
  });
  return completion.value_or(efa::Completion());
}

int Station::StatusOf(std::uint16_t request) {
  const efa::Completion completion = Wait();
  EXPECT_EQ(completion.queue, efa::QueueType::kSend);
  EXPECT_EQ(completion.request_id, request);
  return static_cast<int>(completion.status);
}

}  // namespace drydock::sim_testing
