#include "drydock/sim/testing/bare_device.h"

#include <algorithm>
#include <chrono>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/sim/random.h"

namespace drydock::sim_testing {

using fabric::OperationKind;
using namespace std::chrono_literals;
namespace efa = fabric::efa_queue;

namespace {

constexpr std::uint32_t kEntries = 16;

// A failure of the bench itself ends the test.
template <typename T>
T Must(const absl::StatusOr<T>& result) {
  DD_CHECK(result.ok(), "the bench has room for it");
  return *result;
}

std::string OfKey(const sim::KeyRefused& refused) {
  return absl::StrCat("key ", refused.key, " of ", refused.where, " refused");
}

std::string Bytes(const sim::BytesPlaced& bytes) {
  return absl::StrCat(bytes.range.offset, "+", bytes.range.length,
                      bytes.second_copy ? " again" : "",
                      bytes.rest_comes ? ", the rest comes" : "");
}

std::string Reported(const sim::DeviceCompletion& completion) {
  return absl::StrCat(completion.request_id, ": ", completion.status);
}

sim::Gid GidOf(std::uint32_t index) {
  sim::Gid gid{};
  gid[0] = 0xfe;
  gid[15] = static_cast<std::uint8_t>(index + 1);
  return gid;
}

}  // namespace

sim::Profile Plain() {
  sim::Profile profile = **sim::FindProfile("small");
  profile.link_gbps = 8;
  profile.dma_gbps = 0;
  profile.receive_gbps = 8000;
  profile.dma_latency = {};
  profile.issue_cost = {};
  profile.one_way = {.fixed = 10us};
  profile.path_spread = {};
  profile.retransmit_one_in = 0;
  profile.duplicate_one_in = 0;
  profile.split_placement_one_in = 0;
  profile.ack_delay = 1us;
  profile.unresponsive_timeout = 2ms;
  profile.unreachable_timeout = 3ms;
  return profile;
}

// ---- The recorders ----

std::size_t RecordingActor::Count(sim::EventKind kind) const {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [&](const sim::Event& event) { return event.kind == kind; }));
}

const sim::Event& RecordingActor::First(sim::EventKind kind) const {
  const auto found = std::find_if(events.begin(), events.end(),
                                  [&](const sim::Event& event) { return event.kind == kind; });
  DD_CHECK(found != events.end(), "the event has happened");
  return *found;
}

void RecordingObserver::OnDoorbell(const sim::NicState&, const sim::QueuePair& queue_pair) {
  lines_.push_back(absl::StrCat("doorbell of ", queue_pair.send.unfetched()));
}
void RecordingObserver::OnFetched(const sim::NicState&, const sim::QueuePair&,
                                  const sim::Operation& operation, sim::EfaStatus status) {
  lines_.push_back(
      absl::StrCat("fetched ", operation.request_id, ": ", static_cast<unsigned>(status)));
}
void RecordingObserver::OnSent(const sim::NicState&, const sim::Operation&, std::uint32_t packet,
                               bool response, std::uint64_t bytes, const sim::Flight& flight) {
  lines_.push_back(absl::StrCat("sent packet ", packet, response ? " of data" : "", " of ", bytes,
                                " bytes", flight.arrives ? "" : ", lost"));
}
void RecordingObserver::OnReceiveTaken(const sim::NicState&, const sim::QueuePair&,
                                       const sim::ReceiveWork& receive) {
  lines_.push_back(absl::StrCat("receive ", receive.request_id, " taken"));
}
void RecordingObserver::OnMessageLands(const sim::NicState&, const sim::QueuePair&,
                                       const sim::Operation&, const sim::ReceiveWork& receive,
                                       std::uint64_t prefix) {
  lines_.push_back(absl::StrCat("message lands in ", receive.request_id, " at ", prefix));
}
void RecordingObserver::OnImmediateDelivered(const sim::NicState&, const sim::QueuePair&,
                                             const sim::Operation& operation) {
  lines_.push_back(absl::StrCat("immediate ", operation.immediate));
}
void RecordingObserver::OnPlacing(const sim::BytesPlaced& bytes) {
  lines_.push_back(absl::StrCat("placing ", Bytes(bytes)));
}
void RecordingObserver::OnPlaced(const sim::BytesPlaced& bytes) {
  lines_.push_back(absl::StrCat("placed ", Bytes(bytes)));
}
void RecordingObserver::OnKeyRefused(const sim::KeyRefused& refused) {
  lines_.push_back(absl::StrCat(refused.remote ? "remote " : "", OfKey(refused)));
}
void RecordingObserver::OnRegistered(const sim::NicState&, sim::ProtectionDomain,
                                     const sim::MemoryTable::Keys&, std::uint64_t,
                                     std::uint64_t length_bytes, fabric::Access) {
  lines_.push_back(absl::StrCat("registered ", length_bytes, " bytes"));
}
void RecordingObserver::OnDeregistered(const sim::NicState&, std::uint32_t) {
  lines_.push_back("deregistered");
}
void RecordingObserver::OnEnded(const sim::Operation& operation) {
  lines_.push_back(absl::StrCat("ended: ", operation.status));
}
void RecordingObserver::OnSilent(const sim::Operation&) { lines_.push_back("silent"); }
void RecordingObserver::OnGone(const sim::Operation&) { lines_.push_back("gone"); }
void RecordingObserver::OnReported(const sim::NicState&, const sim::CompletionRing&,
                                   const sim::DeviceCompletion& completion, sim::EntryFate fate) {
  switch (fate) {
    case sim::EntryFate::kWritten:
      return lines_.push_back(absl::StrCat("reported ", Reported(completion)));
    case sim::EntryFate::kNoRoom:
      return lines_.push_back(absl::StrCat("lost ", Reported(completion)));
    case sim::EntryFate::kOverwrote:
      return lines_.push_back(absl::StrCat("overwrote ", Reported(completion)));
    case sim::EntryFate::kWithheld:
      return lines_.push_back(absl::StrCat("withheld ", completion.request_id));
  }
}
void RecordingObserver::OnQueuePairGone(const sim::QueuePair& queue_pair) {
  lines_.push_back(absl::StrCat("queue pair ", queue_pair.number, " gone"));
}

std::size_t RecordingObserver::Count(const std::string& line) const {
  return static_cast<std::size_t>(std::count(lines_.begin(), lines_.end(), line));
}

// ---- NICs ----

BenchNic::BenchNic(Bench& owner, std::uint32_t index, const sim::Profile& profile)
    : bench(owner),
      actor(index),
      state(index, index, std::string(1, static_cast<char>('a' + index)), GidOf(index), profile,
            sim::RandomStream(1, sim::Subsystem::kKeys, index, 0)),
      memory(Register(kMemoryBytes)) {
  state.actor = &actor;
}

BenchMemory& BenchNic::Register(std::size_t bytes, fabric::Access access) {
  BenchMemory& made = memories.emplace_back();
  made.bytes.resize(bytes);
  made.keys = Must(state.memory.Register(kDomain, made.bytes.data(), bytes, access));
  return made;
}

sim::QueuePair& BenchNic::OpenQueuePair(sim::QueuePairAttributes attributes) {
  const auto ring = [&] {
    return std::make_shared<sim::CompletionRing>(0, bench.around.NextObject(), kEntries);
  };
  if (attributes.send_ring == nullptr) attributes.send_ring = ring();
  if (attributes.receive_ring == nullptr) attributes.receive_ring = ring();
  attributes.domain = kDomain;
  attributes.send_entries = kEntries;
  attributes.receive_descriptors = kEntries;
  const sim::DeviceAttributes& device = state.profile.device;
  auto made = std::make_unique<sim::QueuePair>(attributes, kEntries, device.max_wr_recv_sges);
  sim::QueuePair& queue_pair = *made;
  queue_pair.serial = bench.around.NextObject();
  queue_pair.ordinal = queue_pairs_opened++;
  queue_pair.number = static_cast<std::uint16_t>(state.queue_pairs.FreeNumber());
  queue_pair.qkey = 1000 + queue_pair.serial;
  state.queue_pairs.Insert(std::move(made));
  bench.owners_[queue_pair.serial] = this;
  bench.send_producers_.emplace(queue_pair.serial, efa::Producer(kEntries, kEntries));
  bench.receive_producers_.emplace(queue_pair.serial, efa::Producer(kEntries, kEntries));
  return queue_pair;
}

// ---- The bench ----

Bench::Bench(sim::Profile wanted) : profile(std::move(wanted)) { observers.Add(told); }

BenchNic& Bench::AddNic() {
  const auto index = static_cast<std::uint32_t>(nics.size());
  owned_.push_back(std::make_unique<BenchNic>(*this, index, profile));
  nics.Enter(owned_.back()->state);
  return *owned_.back();
}

BenchNic& Bench::NicOf(const sim::QueuePair& queue_pair) { return *owners_.at(queue_pair.serial); }

std::uint16_t Bench::KnowPeer(BenchNic& at, const BenchNic& peer) {
  const sim::Gid& gid = peer.state.gid;
  return Must(at.state.handles.Create(kDomain, gid, nics.Find(gid), peer.state.index()));
}

void Bench::Introduce(BenchNic& a, BenchNic& b) {
  KnowPeer(a, b);
  KnowPeer(b, a);
}

sim::Operation& Bench::Start(OperationKind kind, sim::QueuePair& from, sim::QueuePair& to,
                             std::uint64_t length) {
  BenchNic& initiator = NicOf(from);
  BenchNic& target = NicOf(to);
  sim::Operation& operation = around.StartOperation();
  operation.initiator = &initiator.state;
  operation.source = from.serial;
  operation.qkey = from.qkey;
  operation.queue_pair = from.number;
  operation.request_id = static_cast<std::uint16_t>(operation.sequence);
  operation.domain = from.domain;
  operation.kind = kind;
  operation.datagram = from.type == sim::QueuePairType::kUd;
  operation.unsolicited_immediates = from.unsolicited_immediates;
  operation.rnr_retries = static_cast<std::uint8_t>(from.rnr_retries);
  operation.length = length;
  operation.segment_count = 1;
  operation.segments[0] = initiator.memory.At(0, static_cast<std::uint32_t>(length));
  if (kind != OperationKind::kSend) {
    operation.remote_address = target.memory.address();
    operation.remote_key = target.memory.keys.remote;
  }
  operation.destination_queue_pair = to.number;
  operation.target_serial = to.serial;
  operation.destination_qkey = to.qkey;
  operation.address_handle = initiator.state.handles.NumberOf(kDomain, target.state.index());
  operation.peer = &target.state;
  operation.Divide(profile.device.mtu);
  ++from.under_way;
  return operation;
}

// ---- Work requests ----

efa::SendWork Bench::Work(std::uint16_t request_id, OperationKind kind, const sim::QueuePair& from,
                          const sim::QueuePair& to, std::uint32_t length) {
  const BenchNic& initiator = NicOf(from);
  const BenchNic& target = NicOf(to);
  efa::SendWork work;
  work.request_id = request_id;
  work.operation = kind == OperationKind::kWrite  ? efa::Operation::kWrite
                   : kind == OperationKind::kRead ? efa::Operation::kRead
                                                  : efa::Operation::kSend;
  work.address_handle = initiator.state.handles.NumberOf(kDomain, target.state.index());
  work.destination_queue_pair = to.number;
  work.qkey = to.qkey;
  work.segment_count = 1;
  work.segments[0] = {length, initiator.memory.keys.local, initiator.memory.address()};
  if (kind != OperationKind::kSend) {
    work.remote = {length, target.memory.keys.remote, target.memory.address()};
  }
  return work;
}

efa::ReceiveWork Bench::ReceiveInto(std::uint16_t request_id, const BenchMemory& memory) {
  efa::ReceiveWork work;
  work.request_id = request_id;
  work.segment_count = 1;
  work.segments[0] = {static_cast<std::uint32_t>(memory.bytes.size()), memory.keys.local,
                      memory.address()};
  return work;
}

std::uint32_t Bench::Post(sim::QueuePair& queue_pair, const efa::SendWork& work) {
  efa::Producer& producer = send_producers_.at(queue_pair.serial);
  efa::EncodeSend(work, queue_pair.send.format(), producer.phase(),
                  queue_pair.send.Slot(producer.slot()));
  producer.Post();
  return producer.Ring();
}

std::uint32_t Bench::Post(sim::QueuePair& queue_pair, const efa::ReceiveWork& work) {
  efa::Producer& producer = receive_producers_.at(queue_pair.serial);
  efa::EncodeReceive(work, queue_pair.receive.memory(), kEntries, producer.posted());
  producer.Post(work.segment_count);
  return producer.Ring();
}

// ---- Completions ----

std::vector<Entry> Bench::Take(sim::CompletionRing& ring) {
  std::vector<Entry> entries;
  while (!ring.empty()) {
    Entry& entry = entries.emplace_back();
    DD_CHECK(ring.Read(entry) == efa::Malformed::kNone, "a device writes sound entries");
    ring.Pop();
  }
  return entries;
}

// ---- Parts ----

BenchParts::BenchParts(BenchNic& nic)
    : transmitter(nic.state, nic.bench.around,
                  sim::RandomStream(1, sim::Subsystem::kEngine, nic.state.index(), 0)),
      placement(nic.state, nic.bench.around, listener),
      completions(nic.state, nic.bench.around),
      requester(nic.state, nic.bench.around, transmitter, placement, completions),
      responder(nic.state, nic.bench.around, transmitter, placement, completions) {}

}  // namespace drydock::sim_testing
