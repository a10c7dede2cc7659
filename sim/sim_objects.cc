#include "sim/sim_objects.h"

#include "absl/strings/str_cat.h"
#include "coro/status_macros.h"
#include "fabric/shared_core.h"
#include "sim/efa_status.h"

namespace sim {

using fabric::ClosedError;
using fabric::CloseShared;

// ---- Memory ----

absl::Status SimMemoryRegion::Close() {
  if (domain_ == nullptr) return absl::OkStatus();
  domain_->nic.DeregisterMemory(keys_.remote);
  domain_->world.checks().memory().registrations().Deregister(domain_->nic.index(), keys_.remote);
  open_.Closed();
  if (pinned_ != nullptr) {
    pinned_.reset();
    domain_->world.bus().Forget();
  }
  domain_.reset();
  return absl::OkStatus();
}

// ---- Completion queues ----

fabric::ReadResult SimCompletionQueue::Read(std::span<fabric::Completion> entries) {
  if (core_ == nullptr) return {0, fabric::ErrorCode::kClosed};
  if (entries.empty())
    return {};  // as on efa-direct, where a read of no entries does not even poll
  ++core_->reads;
  World& world = core_->domain->world;
  if (world.live()) {
    world.Progress();
    return {core_->Take(entries)};
  }
  Processors& processors = world.processors();
  const bool driven = processors.Drives(core_->domain->nic);
  if (!driven) world.Charge(core_->domain->nic.profile().poll_cost);
  ++core_->domain->reads;
  core_->ring->service().Read();
  const bool busy = driven && !processors.MayRead(core_->domain->nic);
  const fabric::ReadResult result{busy ? 0 : core_->Take(entries)};
  if (result.count == 0 && driven) processors.FoundNothing(core_->domain->nic);
  if (result.count == 0) world.FoundNothing();
  if (result.count > 0) {
    LogRead(result.count);
    if (driven) {
      processors.HasRead(core_->domain->nic);
      return result;
    }
    const coro::Duration far = world.numa().FarThreadCost(core_->domain->nic);
    if (far > coro::Duration::zero()) world.Charge(far);
  }
  return result;
}

void SimCompletionQueue::LogRead(std::size_t count) {
  core_->domain->world.Log({.kind = EventKind::kRead,
                            .actor = core_->domain->nic.index(),
                            .operation = core_->ring->number(),
                            .bytes = count});
}

std::string SimCompletionQueue::ErrorText(const fabric::Completion& completion) {
  return absl::StrCat(StatusText(static_cast<std::uint8_t>(completion.provider_error)),
                      " (EFA status ", completion.provider_error, ")");
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

std::uint64_t SimCounter::Read() {
  if (core_ == nullptr) return 0;
  if (domain_->world.live()) {
    domain_->world.Progress();
  } else {
    Processors& processors = domain_->world.processors();
    if (processors.Drives(domain_->nic)) {
      processors.FoundNothing(domain_->nic);
    } else {
      domain_->world.Charge(domain_->nic.profile().poll_cost);
    }
    domain_->world.FoundNothing();
  }
  return core_->value;
}

std::uint64_t SimCounter::ReadErrors() { return core_ == nullptr ? 0 : core_->errors; }

absl::Status SimCounter::Set(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  core_->value = value;
  return absl::OkStatus();
}

absl::Status SimCounter::Add(std::uint64_t value) {
  if (core_ == nullptr) return ClosedError("counter");
  core_->value += value;
  return absl::OkStatus();
}

absl::Status SimCounter::Close() {
  RETURN_IF_ERROR(open_.Closing(CloseShared(core_, "counter")));
  domain_.reset();
  return absl::OkStatus();
}

}  // namespace sim
