#include "drydock/gpu/gda/sim_queue.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/efa_queue/layout.h"
#include "drydock/fabric/efa_queue/malformed.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/efa_status.h"

namespace drydock::gpu::gda {

namespace efa = fabric::efa_queue;

namespace {

constexpr std::uint32_t kDoneBytes = 32;

// The page with the doorbells: each word in a cache line of its own.
struct Bells {
  alignas(64) std::uint32_t send = kNotRung;
  alignas(64) std::uint32_t send_taken = 0;
  alignas(64) std::uint32_t receive = kNotRung;
  alignas(64) std::uint32_t receive_taken = 0;
};

// How the memory of one queue is divided.
struct Division {
  explicit Division(sim::QueuePair& queue_pair)
      : send(0),
        receive(send + RoundToPages(std::size_t{queue_pair.send.entries()} *
                                    queue_pair.send.format().entry_bytes())),
        send_done(receive + RoundToPages(std::size_t{queue_pair.receive.descriptors()} *
                                         sizeof(efa::ReceiveDescriptor))),
        receive_done(send_done + RoundToPages(queue_pair.send_ring->depth() * kDoneBytes)),
        bells(receive_done + RoundToPages(queue_pair.receive_ring->depth() * kDoneBytes)),
        end(bells + RoundToPages(sizeof(Bells))) {}

  std::size_t send, receive, send_done, receive_done, bells, end;
};

QueueView Describe(sim::QueuePair& queue_pair, std::byte* memory) {
  const Division at(queue_pair);
  auto* const bells = new (memory + at.bells) Bells;
  QueueView view;
  view.send = {.entries = memory + at.send,
               .entry_count = queue_pair.send.entries(),
               .entry_bytes = queue_pair.send.format().entry_bytes(),
               .max_batch = queue_pair.send.max_batch(),
               .bell = {&bells->send, &bells->send_taken}};
  view.receive = {.entries = memory + at.receive,
                  .entry_count = queue_pair.receive.descriptors(),
                  .entry_bytes = sizeof(efa::ReceiveDescriptor),
                  .max_batch = queue_pair.receive.descriptors(),
                  .bell = {&bells->receive, &bells->receive_taken}};
  view.send_done = {memory + at.send_done,
                    static_cast<std::uint32_t>(queue_pair.send_ring->depth()), kDoneBytes};
  view.receive_done = {memory + at.receive_done,
                       static_cast<std::uint32_t>(queue_pair.receive_ring->depth()), kDoneBytes};
  view.number = queue_pair.number;
  return view;
}

// What was rung, and takes it away, so that the same value is seen when it is written again.
std::uint32_t TakeBell(std::uint32_t* word) {
  if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == kNotRung) return kNotRung;
  return __atomic_exchange_n(word, kNotRung, __ATOMIC_ACQ_REL);
}

void SayTaken(const std::uint32_t* taken, std::uint32_t value) {
  __atomic_store_n(const_cast<std::uint32_t*>(taken), value, __ATOMIC_RELEASE);
}

QueueFaultKind KindOf(efa::Malformed why) {
  if (why == efa::Malformed::kWrongPhase) return QueueFaultKind::kWrongPhase;
  if (why == efa::Malformed::kReservedBits) return QueueFaultKind::kReservedBits;
  return QueueFaultKind::kMalformed;
}

bool IsBadKey(efa::CompletionStatus status) {
  return status == efa::CompletionStatus::kLocalInvalidLkey ||
         status == efa::CompletionStatus::kRemoteBadAddress;
}

}  // namespace

const char* QueueFaultName(QueueFaultKind kind) {
  switch (kind) {
    case QueueFaultKind::kSkippedSlot:
      return "skipped slot";
    case QueueFaultKind::kMissingFence:
      return "missing fence";
    case QueueFaultKind::kWrongPhase:
      return "wrong phase";
    case QueueFaultKind::kReservedBits:
      return "reserved bits";
    case QueueFaultKind::kMalformed:
      return "malformed";
    case QueueFaultKind::kOverBatch:
      return "over batch";
    case QueueFaultKind::kOverRing:
      return "over ring";
    case QueueFaultKind::kNothingNew:
      return "nothing new";
    case QueueFaultKind::kCountNotCounter:
      return "count, not counter";
    case QueueFaultKind::kBadKey:
      return "bad key";
  }
  return "unknown";
}

// ---- Opening ----

absl::StatusOr<std::unique_ptr<SimQueue>> SimQueue::Open(fabric::Endpoint& endpoint,
                                                         bool real_time) {
  auto* const access = endpoint.power<sim::QueueAccess>();
  if (access == nullptr) {
    return absl::UnimplementedError(
        "open device queue: the endpoint's queues cannot be driven by a device: it takes a "
        "simulated NIC's fabric efa-direct");
  }
  if (!real_time) {
    return absl::FailedPreconditionError(
        "open device queue: the simulated world keeps virtual time: a device has its own");
  }
  sim::QueuePair& queue_pair = access->queue_pair();
  if (access->send_producer().posted() != 0 || queue_pair.receive.posted() != 0) {
    return absl::FailedPreconditionError(
        "open device queue: the endpoint's program has posted work already");
  }
  ASSIGN_OR_RETURN(HostPages pages, HostPages::Allocate(Division(queue_pair).end));
  return std::unique_ptr<SimQueue>(new SimQueue(*access, std::move(pages)));
}

SimQueue::SimQueue(sim::QueueAccess& access, HostPages pages)
    : access_(access),
      queue_pair_(access.queue_pair()),
      pages_(std::move(pages)),
      view_(Describe(queue_pair_, pages_.data())),
      send_(view_.send, view_.send.max_batch),
      receive_(view_.receive, view_.receive.max_batch),
      send_done_(view_.send_done.entry_count),
      receive_done_(view_.receive_done.entry_count) {}

absl::StatusOr<PeerView> SimQueue::PeerOf(fabric::Peer peer, const fabric::Address& address) {
  const std::uint16_t handle = access_.AddressHandleOf(peer);
  if (handle == sim::AddressHandles::kUnknown) {
    return absl::NotFoundError("device queue: the peer is not in the address vector");
  }
  const absl::StatusOr<sim::EfaAddress> efa_address = sim::EfaAddress::Decode(address);
  if (!efa_address.ok()) return efa_address.status();
  return PeerView{handle, efa_address->queue_pair, efa_address->qkey};
}

// ---- Doorbells ----

bool SimQueue::TakeSendDoorbell() {
  if (!suspects_.empty()) LookAgain();
  const std::uint32_t value = TakeBell(send_.ring.bell.word);
  if (value == kNotRung) return false;
  efa::Fetcher& fetcher = send_.fetcher;
  fetcher.Fetch(fetcher.pending() - queue_pair_.send.unfetched());
  const efa::DoorbellFault fault = fetcher.Announce(value);
  if (fault != efa::DoorbellFault::kNone) {
    Refuse(send_, false, value, fault);
  } else {
    const std::uint32_t end = fetcher.fetched() + fetcher.pending();
    for (; send_.announced != end; ++send_.announced) TakeEntry(send_.announced);
  }
  access_.nic().RingSend(queue_pair_, value);
  SayTaken(send_.ring.bell.taken, value);
  return true;
}

bool SimQueue::TakeReceiveDoorbell() {
  const std::uint32_t value = TakeBell(receive_.ring.bell.word);
  if (value == kNotRung) return false;
  efa::Fetcher& fetcher = receive_.fetcher;
  fetcher.Fetch(fetcher.pending() - queue_pair_.receive.posted());
  const efa::DoorbellFault fault = fetcher.Announce(value);
  if (fault != efa::DoorbellFault::kNone) {
    Refuse(receive_, true, value, fault);
  } else {
    const std::uint32_t end = fetcher.fetched() + fetcher.pending();
    for (; receive_.announced != end; ++receive_.announced) {
      const std::size_t offset = std::size_t{receive_.announced & (receive_.ring.entry_count - 1)} *
                                 sizeof(efa::ReceiveDescriptor);
      std::memcpy(static_cast<std::byte*>(queue_pair_.receive.memory()) + offset,
                  static_cast<const std::byte*>(receive_.ring.entries) + offset,
                  sizeof(efa::ReceiveDescriptor));
    }
  }
  access_.nic().RingReceive(queue_pair_, value);
  SayTaken(receive_.ring.bell.taken, value);
  return true;
}

// Whether `value` is how many entries are new: so many are there, and no more.
bool SimQueue::LooksLikeCount(const Watched& watched, std::uint32_t value) const {
  if (&watched != &send_ || value == 0 || value > watched.ring.entry_count) return false;
  if ((watched.announced & 0xFFFF) == 0) return false;  // both are the same
  alignas(8) std::array<std::byte, sizeof(efa::WideWqe)> entry;
  for (std::uint32_t i = 0; i <= value; ++i) {
    Load(watched.announced + i, entry.data());
    const bool there = Decode(watched.announced + i, entry.data()) == efa::Malformed::kNone;
    if (there != (i < value)) return false;
  }
  return true;
}

void SimQueue::Refuse(const Watched& watched, bool receive, std::uint32_t value,
                      efa::DoorbellFault fault) {
  QueueFaultKind kind = QueueFaultKind::kNothingNew;
  if (fault == efa::DoorbellFault::kOverBatch) kind = QueueFaultKind::kOverBatch;
  if (fault == efa::DoorbellFault::kOverRing) kind = QueueFaultKind::kOverRing;
  std::string text =
      absl::StrFormat("%s doorbell %u after %u: %s", receive ? "receive" : "send", value,
                      watched.announced & 0xFFFF, efa::DoorbellFaultName(fault));
  if (LooksLikeCount(watched, value)) {
    kind = QueueFaultKind::kCountNotCounter;
    absl::StrAppendFormat(&text, "; %u entries are new: a doorbell takes the running counter, %u",
                          value, (watched.announced + value) & 0xFFFF);
  } else if (kind == QueueFaultKind::kOverBatch) {
    absl::StrAppend(&text, " of ", watched.ring.max_batch);
  }
  Note(kind, receive, watched.announced, std::move(text));
}

// ---- Entries ----

void SimQueue::Load(std::uint32_t counter, void* entry) const {
  const std::uint32_t slot = counter & (send_.ring.entry_count - 1);
  const std::byte* from = static_cast<const std::byte*>(send_.ring.entries) +
                          std::size_t{slot} * send_.ring.entry_bytes;
  for (unsigned i = 0; i < send_.ring.entry_bytes / 8; ++i) {
    // Nothing else keeps a device from writing meanwhile.
    efa::StoreWord(entry, i,
                   __atomic_load_n(reinterpret_cast<const efa::Word*>(from) + i, __ATOMIC_RELAXED));
  }
}

efa::Malformed SimQueue::Decode(std::uint32_t counter, const void* entry) const {
  const unsigned phase = (counter & send_.ring.entry_count) != 0 ? 1 : 0;
  efa::SendWork work;
  return efa::DecodeSend(entry, queue_pair_.send.format(), phase, work);
}

// Takes the entry into the NIC's own ring, where what the last lap left is still there.
void SimQueue::TakeEntry(std::uint32_t counter) {
  const std::uint32_t bytes = send_.ring.entry_bytes;
  const std::uint32_t slot = counter & (send_.ring.entry_count - 1);
  alignas(8) std::array<std::byte, sizeof(efa::WideWqe)> entry;
  Load(counter, entry.data());
  void* const own = queue_pair_.send.Slot(slot);
  const efa::Malformed why = Decode(counter, entry.data());
  if (why == efa::Malformed::kNone) [[likely]] {
    std::memcpy(own, entry.data(), bytes);
    return;
  }
  const bool untouched = std::memcmp(own, entry.data(), bytes) == 0;
  std::memcpy(own, entry.data(), bytes);
  if (untouched) {
    const std::size_t fault =
        Note(QueueFaultKind::kSkippedSlot, false, counter,
             absl::StrFormat("send entry %u (slot %u): the doorbell covers it, and nothing was "
                             "written there in this lap",
                             counter, slot));
    suspects_.push_back({counter, fault});
    return;
  }
  Note(KindOf(why), false, counter,
       absl::StrFormat("send entry %u (slot %u): %s", counter, slot, efa::MalformedName(why)));
}

// Did an entry come, after all?
void SimQueue::LookAgain() {
  alignas(8) std::array<std::byte, sizeof(efa::WideWqe)> entry;
  std::erase_if(suspects_, [&](const Suspect& suspect) {
    if (send_.announced - suspect.counter >= 2 * send_.ring.entry_count) return true;  // long ago
    Load(suspect.counter, entry.data());
    if (Decode(suspect.counter, entry.data()) != efa::Malformed::kNone) return false;
    --counts_[static_cast<std::size_t>(QueueFaultKind::kSkippedSlot)];
    ++counts_[static_cast<std::size_t>(QueueFaultKind::kMissingFence)];
    if (suspect.fault != kNotKept) {
      faults_[suspect.fault].kind = QueueFaultKind::kMissingFence;
      faults_[suspect.fault].text = absl::StrFormat(
          "send entry %u (slot %u): became visible after the doorbell that covers it: a fence is "
          "missing between the two",
          suspect.counter, suspect.counter & (send_.ring.entry_count - 1));
    }
    return true;
  });
}

// ---- Completions ----

bool SimQueue::DeliverCompletions() {
  const bool sent = Deliver(*queue_pair_.send_ring);
  if (queue_pair_.receive_ring == queue_pair_.send_ring) return sent;
  return Deliver(*queue_pair_.receive_ring) || sent;
}

bool SimQueue::Deliver(sim::CompletionRing& from) {
  bool any = false;
  while (const void* const entry = from.Peek()) {
    efa::Completion done;
    const efa::Malformed why = efa::DecodeCompletion(entry, efa::CqeSize::k32, from.phase(), done);
    if (why == efa::Malformed::kNone) Publish(done);
    from.Pop();
    any = true;
  }
  return any;
}

// Nothing protects the ring: a device that does not poll loses what was there.
void SimQueue::Publish(const efa::Completion& done) {
  const bool sent = done.queue == efa::QueueType::kSend;
  efa::CompletionProducer& producer = sent ? send_done_ : receive_done_;
  const DoneRing& ring = sent ? view_.send_done : view_.receive_done;
  auto* const entry = const_cast<std::byte*>(static_cast<const std::byte*>(ring.entries)) +
                      std::size_t{producer.slot()} * kDoneBytes;
  efa::EncodeCompletion(done, efa::CqeSize::k32, producer.phase(), entry);
  producer.Push();
  if (!IsBadKey(done.status)) return;
  Note(QueueFaultKind::kBadKey, !sent, send_.announced,
       absl::StrFormat("request %u: status %u, %s", done.request_id,
                       static_cast<unsigned>(done.status),
                       sim::StatusText(static_cast<std::uint8_t>(done.status))));
}

std::size_t SimQueue::Note(QueueFaultKind kind, bool receive, std::uint32_t counter,
                           std::string text) {
  const bool first = counts_[static_cast<std::size_t>(kind)]++ == 0;
  if (!first && faults_.size() >= kKept) return kNotKept;
  faults_.push_back({kind, receive, counter, std::move(text)});
  return faults_.size() - 1;
}

}  // namespace drydock::gpu::gda
