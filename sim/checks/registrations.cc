#include "drydock/sim/checks/registrations.h"

#include "absl/strings/str_cat.h"
#include "drydock/sim/memory/device_rights.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim {
namespace {

std::string WhoDid(const Toucher& who) {
  return absl::StrCat("a ", std::string(fabric::Name(who.kind)), " of queue pair ", who.queue_pair);
}

}  // namespace

void Registrations::Register(std::uint32_t nic, const std::string& where, std::uint16_t domain,
                             std::uint32_t local_key, std::uint32_t remote_key,
                             std::uint64_t address, std::uint64_t length, fabric::Access access) {
  if (nics_.size() <= nic) nics_.resize(nic + 1u);
  nics_[nic].name = where;
  std::vector<Region>& regions = nics_[nic].regions;
  const std::uint32_t slot = remote_key & kSlotMask;
  if (regions.size() <= slot) {
    regions.resize(slot + 1u);
    nics_[nic].past.resize(slot + 1u);
  }
  Region& region = regions[slot];
  region.address = address;
  region.length = length;
  region.local_key = local_key;
  region.remote_key = remote_key;
  region.domain = domain;
  region.access = access;
  region.live = true;
  region.number = next_number_++;
  // Generations come round: a number that means this one now is no old one any more.
  for (Closed& old : nics_[nic].past[slot].closed) {
    if (old.local_key == local_key || old.remote_key == remote_key) old.known = false;
  }
}

void Registrations::Deregister(std::uint32_t nic, std::uint32_t remote_key) {
  if (nic >= nics_.size() || (remote_key & kSlotMask) >= nics_[nic].regions.size()) return;
  Region& region = nics_[nic].regions[remote_key & kSlotMask];
  Past& past = nics_[nic].past[remote_key & kSlotMask];
  if (!region.live || region.remote_key != remote_key) return;
  region.live = false;
  Unpoison(region.address, region.length);  // nothing is written there any more
  past.closed[past.closings++ % kRemembered] = {region.local_key,
                                                region.remote_key,
                                                region.address,
                                                region.length,
                                                log_.Now(),
                                                next_number_++,
                                                true};
}

bool Registrations::IsRegisteredAgain(std::uint32_t nic, const Closed& old) const {
  for (const Region& region : nics_[nic].regions) {
    const std::uint64_t offset = old.address - region.address;
    if (!region.live || region.number < old.number) continue;
    if (offset <= region.length && old.length <= region.length - offset) return true;
  }
  return false;
}

void Registrations::Refused(const Toucher& who, std::uint32_t nic, std::uint32_t key, bool remote) {
  const Region* region = Find(nic, key);
  if (region == nullptr) return;
  if (region->live && (remote ? region->remote_key : region->local_key) == key) return;
  for (const Closed& old : nics_[nic].past[key & kSlotMask].closed) {
    if (!old.known || (remote ? old.remote_key : old.local_key) != key) continue;
    return log_.Add(Check::kUseAfterDeregister, who.where, who.queue_pair, [&] {
      return absl::StrCat(
          WhoDid(who), " met a registration of ", old.length, " bytes that ", nics_[nic].name,
          " had closed ", (log_.Now() - old.when).count(), " ns before",
          IsRegisteredAgain(nic, old) ? " (the same memory is registered again, by another key)"
                                      : "",
          ": close it when everything that names it has completed");
    });
  }
}

// The device may do this, but the program's registration does not allow it.
void Registrations::NotAllowed(const Toucher& who, std::uint32_t nic, std::uint16_t domain,
                               const WatchedPiece& piece, fabric::Access wanted) {
  if (!CoversLocal(nic, domain, piece, fabric::Access::kNone) ||
      !fabric::Allows(DeviceRights(Find(nic, piece.key)->access), wanted)) {
    return OutOfBounds(who, nic, piece, false);
  }
  log_.Add(Check::kLocalRights, who.where, who.queue_pair, [&] {
    return absl::StrCat(WhoDid(who),
                        " used a region that was not registered for that: EFA's NIC does not "
                        "look, another provider may");
  });
}

void Registrations::OutOfBounds(const Toucher& who, std::uint32_t nic, const WatchedPiece& piece,
                                bool remote) {
  const Region* region = Find(nic, piece.key);
  const std::uint32_t key =
      region == nullptr ? 0 : (remote ? region->remote_key : region->local_key);
  const char* why = region == nullptr                   ? "the key was never given"
                    : !region->live || key != piece.key ? "the key is of another registration"
                                                        : "the registration does not allow it";
  log_.Add(Check::kBounds, who.where, who.queue_pair, [&] {
    return absl::StrCat(WhoDid(who), " touched ", piece.length, " bytes of ",
                        nic < nics_.size() ? nics_[nic].name : "a NIC that registered nothing",
                        " that it must not: ", why);
  });
}

}  // namespace drydock::sim
