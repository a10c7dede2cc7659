#include "drydock/sim/device/admin_queue.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// ---- Protection domains ----

absl::StatusOr<ProtectionDomain> AdminQueue::AllocateDomain() {
  const std::uint32_t most = nic_.profile.device.max_pd;
  auto free = std::find(domains_.begin(), domains_.end(), false);
  if (free == domains_.end()) {
    if (domains_.size() > most) {
      nic_.counters.Refusal(&DeviceCounters::alloc_pd_err);
      return absl::ResourceExhaustedError(
          absl::StrCat("open domain: the NIC has no protection domain left of its ", most));
    }
    free = domains_.insert(free, false);
  }
  *free = true;
  nic_.counters.Commands(1);
  return static_cast<ProtectionDomain>(free - domains_.begin());
}

void AdminQueue::FreeDomain(ProtectionDomain domain) {
  nic_.counters.Commands(1);
  domains_[domain] = false;
}

// ---- Memory ----

absl::StatusOr<MemoryTable::Keys> AdminQueue::RegisterMemory(ProtectionDomain domain,
                                                             std::byte* data,
                                                             std::size_t length_bytes,
                                                             fabric::Access access,
                                                             std::uint64_t page_bytes) {
  const auto keys = nic_.memory.Register(domain, data, length_bytes, access, page_bytes);
  if (keys.ok()) {
    nic_.counters.Commands(1);
    around_.observers.Tell<&Observer::OnRegistered>(nic_, domain, *keys,
                                                    reinterpret_cast<std::uint64_t>(data),
                                                    std::uint64_t{length_bytes}, access);
  } else if (absl::IsResourceExhausted(keys.status())) {
    nic_.counters.Refusal(&DeviceCounters::reg_mr_err);
  } else {
    ++nic_.counters.reg_mr_err;  // the driver sees that itself
  }
  return keys;
}

void AdminQueue::DeregisterMemory(std::uint32_t remote_key) {
  nic_.counters.Commands(1);
  nic_.memory.Deregister(remote_key);
  around_.observers.Tell<&Observer::OnDeregistered>(nic_, remote_key);
}

// ---- Addresses ----

absl::StatusOr<std::uint16_t> AdminQueue::CreateAddressHandle(ProtectionDomain domain,
                                                              const Gid& peer) {
  const std::size_t before = nic_.handles.live();
  NicState* const found = around_.nics.Find(peer);
  if (found == nullptr) return RefuseHandle("no NIC has this GID");
  if (found->zone != nic_.zone) return RefuseHandle("this GID is of another availability zone");
  auto number = nic_.handles.Create(domain, peer, found, found->index());
  if (!number.ok()) {
    nic_.counters.Refusal(&DeviceCounters::create_ah_err);
  } else if (nic_.handles.live() > before) {
    nic_.counters.Commands(1);  // the driver asks once for each destination
  }
  return number;
}

absl::Status AdminQueue::RefuseHandle(absl::string_view why) {
  nic_.counters.Refusal(&DeviceCounters::create_ah_err);
  return absl::InvalidArgumentError(absl::StrCat("create address handle: ", why));
}

void AdminQueue::DestroyAddressHandle(std::uint16_t number) {
  if (!nic_.handles.Destroy(number)) return;
  nic_.counters.Commands(1);
  requester_.FlushHandle(number);
}

// ---- Queues ----

absl::StatusOr<std::shared_ptr<CompletionRing>> AdminQueue::CreateCompletionRing(std::size_t depth,
                                                                                 std::byte* memory,
                                                                                 bool events) {
  const std::uint32_t most = nic_.profile.device.max_cq;
  auto free = std::find_if(completion_rings_.begin(), completion_rings_.end(),
                           [](const auto& ring) { return ring.expired(); });
  if (free == completion_rings_.end()) {
    if (completion_rings_.size() >= most) {
      nic_.counters.Refusal(&DeviceCounters::create_cq_err);
      return absl::ResourceExhaustedError(
          absl::StrCat("open completion queue: the NIC has none left of its ", most));
    }
    free = completion_rings_.emplace(free);
  }
  const auto number = static_cast<std::uint16_t>(free - completion_rings_.begin());
  auto ring = std::make_shared<CompletionRing>(number, around_.NextObject(), depth, memory,
                                               events || nic_.profile.device.cq_doorbell);
  *free = ring;
  nic_.counters.Commands(1);
  return ring;
}

absl::StatusOr<std::shared_ptr<CounterCore>> AdminQueue::CreateCounter() {
  const DeviceAttributes& device = nic_.profile.device;
  if (completion_counters_ >= device.max_comp_cntr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "open counter: the NIC has no completion counter left of its ", device.max_comp_cntr));
  }
  ++completion_counters_;
  nic_.counters.Commands(2);  // the driver makes two: of successes, and of errors
  auto counter = std::make_shared<CounterCore>();
  counter->max_value = device.comp_cntr_max_value;
  return counter;
}

void AdminQueue::DestroyCounter() {
  --completion_counters_;
  nic_.counters.Commands(2);
}

absl::StatusOr<QueuePair*> AdminQueue::CreateQueuePair(const QueuePairAttributes& attributes) {
  const Profile& profile = nic_.profile;
  const std::size_t number = nic_.queue_pairs.FreeNumber();
  if (number >= profile.device.max_qp) {
    nic_.counters.Refusal(&DeviceCounters::create_qp_err);
    return absl::ResourceExhaustedError(absl::StrCat(
        "open endpoint: the NIC has no queue pair left of its ", profile.device.max_qp));
  }
  const std::size_t entry_bytes =
      attributes.wide ? sizeof(fabric::efa_queue::WideWqe) : sizeof(fabric::efa_queue::NarrowWqe);
  auto made = std::make_unique<QueuePair>(
      attributes,
      static_cast<std::uint32_t>(MaxBatch(profile, entry_bytes, attributes.send_entries)),
      profile.device.max_wr_recv_sges);
  QueuePair& queue_pair = *made;
  queue_pair.serial = around_.NextObject();
  queue_pair.ordinal = queue_pairs_made_++;
  queue_pair.number = static_cast<std::uint16_t>(number);
  queue_pair.qkey =
      static_cast<std::uint32_t>(qkeys_.Next()) & 0x7fffffffu;  // the top bit is privileged
  nic_.queue_pairs.Insert(std::move(made));
  nic_.counters.Commands(4);  // it is created, and then modified: INIT, RTR, RTS
  return &queue_pair;
}

void AdminQueue::DestroyQueuePair(QueuePair& queue_pair) {
  nic_.counters.Commands(1);
  Abandon(queue_pair);
  nic_.queue_pairs.Erase(queue_pair.number);
}

void AdminQueue::Abandon(QueuePair& queue_pair) {
  requester_.Abandon(queue_pair);
  responder_.Abandon(queue_pair);
  around_.observers.Tell<&Observer::OnQueuePairGone>(queue_pair);
}

void AdminQueue::FailQueuePair(QueuePair& queue_pair) {
  queue_pair.state = QueuePairState::kError;
  responder_.FlushReceives(queue_pair);
  responder_.Abandon(queue_pair);
  requester_.Flush(queue_pair);
  requester_.Resume(queue_pair);
}

// What is under way, its own and its peers', knows it by its serial number, and does not find it
// again.
void AdminQueue::ResetQueuePair(QueuePair& queue_pair) {
  Abandon(queue_pair);
  queue_pair.serial = around_.NextObject();
  queue_pair.state = QueuePairState::kInit;
  queue_pair.drained = false;
  queue_pair.under_way = 0;
  queue_pair.last_doorbell_fault = fabric::efa_queue::DoorbellFault::kNone;
  queue_pair.landing.clear();
  queue_pair.send.Clear();
  queue_pair.receive.Clear();
}

}  // namespace drydock::sim
