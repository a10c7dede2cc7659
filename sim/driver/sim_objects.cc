#include "drydock/sim/driver/sim_objects.h"

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/shared_core.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {
namespace {

using fabric::ClosedError;
using fabric::CloseShared;

// A look into a queue, or into a counter (`ring` is null), has found nothing new.
void TellIfInVain(World& world, const CompletionRing* ring) {
  if (world.timeline().under_way()) return;
  world.observers().Tell<&Observer::OnPolledInVain>(ring);
}

}  // namespace

// ---- Memory ----

absl::Status SimMemoryRegion::Close() {
  if (domain_ == nullptr) return absl::OkStatus();
  freed_.reset();
  domain_->nic.admin().DeregisterMemory(keys_.remote);
  open_.Closed();
  if (pinned_ != nullptr) {
    pinned_.reset();
    domain_->world.bus().Forget();
  }
  domain_.reset();
  return absl::OkStatus();
}

// The driver deregisters memory as soon as a program frees it, and the region stays the program's
// to close (amzn/amzn-drivers kernel/linux/efa/src/efa_gdr.c, nvmem_free_cb).
void SimMemoryRegion::WatchFree() {
  if (request_.dmabuf.has_value()) return;  // which keeps the memory itself
  freed_ = std::make_shared<fabric::PeerMemory::Freed>(
      [this] { domain_->nic.state().memory.Revoke(keys_.remote); });
  pinned_->WatchFree(freed_);
}

// ---- Completion queues ----

fabric::ReadResult SimCompletionQueue::Read(std::span<fabric::Completion> entries) {
  if (core_ == nullptr) return {0, fabric::ErrorCode::kClosed};
  if (entries.empty())
    return {};  // as on efa-direct, where a read of no entries does not even poll
  QueueCore& core = *core_;
  const QueueCall call(core);
  World& world = core.domain->world;
  const Nic& nic = core.domain->nic;
  const CompletionRing* const ring = core.ring.get();
  const bool can_look = world.processors().BeginRead(nic);
  world.timeline().RunDue();
  world.observers().Tell<&Observer::OnPolling>(*ring);
  const std::size_t count = can_look ? core.Take(entries) : 0;
  if (count > 0) {
    world.observers().Tell<&Observer::OnPolled>(nic.state(), *ring, count);
  } else {
    TellIfInVain(world, ring);
  }
  world.processors().EndRead(nic, count);
  return {count};
}

std::string SimCompletionQueue::ErrorText(const fabric::Completion& completion) {
  return absl::StrCat(StatusText(static_cast<std::uint8_t>(completion.provider_error)),
                      " (EFA status ", completion.provider_error, ")");
}

void SimCompletionQueue::ReadErrorData(const fabric::Completion& completion,
                                       fabric::ErrorData& data) {
  error_buffer_.GiveText(ErrorText(completion), data);
}

void* SimCompletionQueue::QueryPower(const fabric::PowerId& power) {
  return &power == &fabric::ErrorDetails::kPower ? static_cast<fabric::ErrorDetails*>(this)
                                                 : nullptr;
}

absl::Status SimCompletionQueue::Close() {
  return open_.Closing(CloseShared(core_, "completion queue"));
}

// ---- Address vectors ----

absl::StatusOr<fabric::Peer> SimAddressVector::Insert(const fabric::Address& address) {
  if (core_ == nullptr) return ClosedError("address vector");
  ASSIGN_OR_RETURN(const EfaAddress decoded, EfaAddress::Decode(address));
  return core_->Insert(decoded);
}

absl::Status SimAddressVector::Remove(fabric::Peer peer) {
  if (core_ == nullptr) return ClosedError("address vector");
  if (core_->Find(peer) == nullptr) return absl::NotFoundError("remove peer: no such peer");
  core_->Remove(peer);
  return absl::OkStatus();
}

absl::StatusOr<fabric::Address> SimAddressVector::Lookup(fabric::Peer peer) const {
  if (core_ == nullptr) return ClosedError("address vector");
  const VectorCore::Entry* entry = core_->Find(peer);
  if (entry == nullptr) return absl::NotFoundError("look up peer: no such peer");
  return entry->address.Encode();
}

absl::Status SimAddressVector::Close() {
  return open_.Closing(CloseShared(core_, "address vector"));
}

// ---- Counters ----

// Either number is read with a look into the queues (ofiwg/libfabric prov/util/src/util_cntr.c).
void SimCounter::Look() {
  const DomainCore& domain = *core_->domain();
  World& world = domain.world;
  const bool can_look = world.processors().BeginRead(domain.nic);
  world.timeline().RunDue();
  if (can_look) core_->Progress();
  world.processors().EndRead(domain.nic, 0);
  TellIfInVain(world, nullptr);
}

std::uint64_t SimCounter::Read() {
  if (core_ == nullptr) return 0;
  Look();
  return core_->value();
}

std::uint64_t SimCounter::ReadErrors() {
  if (core_ == nullptr) return 0;
  Look();
  return core_->errors();
}

absl::Status SimCounter::Set(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  core_->core()->Put(&CounterCore::value, value);
  return absl::OkStatus();
}

absl::Status SimCounter::Add(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  core_->core()->Put(&CounterCore::value, core_->core()->value + value);
  return absl::OkStatus();
}

absl::Status SimCounter::Close() { return open_.Closing(CloseShared(core_, "counter")); }

}  // namespace drydock::sim
