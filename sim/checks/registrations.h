// A second record of registrations, kept from the programs' requests and not from the device's
// tables: three checks use it.
//
//   bounds                no byte is read or written but inside a live registration, with its
//                         rights, of the right domain and generation of the key
//   local-rights          no request of our own uses its region for more than it was registered for
//   use-after-deregister  no request meets memory that was registered once and is no more

#ifndef DRYDOCK_SIM_CHECKS_REGISTRATIONS_H_
#define DRYDOCK_SIM_CHECKS_REGISTRATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/checks/watched_queue.h"

namespace drydock::sim {

// A user of the memory: a queue pair, and the kind of its operation.
struct Toucher {
  const std::string& where;
  std::uint16_t queue_pair;
  fabric::OperationKind kind;
};

// Not thread-safe: belongs to its world.
class Registrations {
 public:
  explicit Registrations(FindingLog& log) : log_(log) {}

  // A program registered [address, address + length) with NIC `nic` of the world.
  void Register(std::uint32_t nic, const std::string& where, std::uint16_t domain,
                std::uint32_t local_key, std::uint32_t remote_key, std::uint64_t address,
                std::uint64_t length, fabric::Access access);
  void Deregister(std::uint32_t nic, std::uint32_t remote_key);

  // Whether the bytes may be touched through this key with all of `wanted`; kNone: in any way.
  bool CoversLocal(std::uint32_t nic, std::uint16_t domain, const WatchedPiece& piece,
                   fabric::Access wanted) const {
    const Region* region = Find(nic, piece.key);
    return region != nullptr && region->live && region->local_key == piece.key &&
           region->domain == domain && region->Covers(piece, wanted);
  }
  // The same for a peer's key, in any domain.
  bool CoversRemote(std::uint32_t nic, const WatchedPiece& piece, fabric::Access wanted) const {
    const Region* region = Find(nic, piece.key);
    return region != nullptr && region->CoversRemote(piece, wanted);
  }

  // Rises with each registration and each closing: while it does not, all answers are as before.
  std::uint64_t changes() const { return next_number_; }

  // The device is about to read or write these bytes of its own machine, or, with `domain`, those
  // that a peer named.
  void PlacingLocal(const Toucher& who, std::uint32_t nic, std::uint16_t domain,
                    const WatchedPiece& piece, fabric::Access wanted) {
    if (!CoversLocal(nic, domain, piece, wanted)) [[unlikely]] {
      NotAllowed(who, nic, domain, piece, wanted);
    }
  }
  void PlacingRemote(const Toucher& who, std::uint32_t nic, std::uint16_t domain,
                     const WatchedPiece& piece, fabric::Access wanted) {
    const Region* region = Find(nic, piece.key);
    if (region == nullptr || region->domain != domain || !region->CoversRemote(piece, wanted))
        [[unlikely]] {
      OutOfBounds(who, nic, piece, true);
    }
  }

  // The device refused to touch what this key names. Only a key that was good once breaks a rule.
  void Refused(const Toucher& who, std::uint32_t nic, std::uint32_t key, bool remote);

 private:
  // Generations of one slot that are remembered after their end.
  static constexpr std::size_t kRemembered = 4;

  struct Closed {
    std::uint32_t local_key = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    coro::Duration when{};
    std::uint64_t number = 0;  // of registrations and closings, in the order in which they came
    bool known = false;
  };
  struct Region {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint32_t local_key = 0;
    std::uint32_t remote_key = 0;
    std::uint16_t domain = 0;
    fabric::Access access = fabric::Access::kNone;
    bool live = false;
    std::uint64_t number = 0;

    bool Covers(const WatchedPiece& piece, fabric::Access wanted) const {
      const std::uint64_t offset = piece.address - address;
      return fabric::Allows(access, wanted) && offset <= length && piece.length <= length - offset;
    }
    bool CoversRemote(const WatchedPiece& piece, fabric::Access wanted) const {
      return live && remote_key == piece.key && Covers(piece, wanted);
    }
  };
  struct Past {
    std::uint32_t closings = 0;
    std::array<Closed, kRemembered> closed{};
  };
  struct Nic {
    std::string name;
    std::vector<Region> regions;  // index: the slot, the low bits of its keys
    std::vector<Past> past;       // the same
  };

  static constexpr std::uint32_t kSlotMask = (1u << 18) - 1;

  const Region* Find(std::uint32_t nic, std::uint32_t key) const {
    if (nic >= nics_.size() || (key & kSlotMask) >= nics_[nic].regions.size()) return nullptr;
    return &nics_[nic].regions[key & kSlotMask];
  }
  bool IsRegisteredAgain(std::uint32_t nic, const Closed& old) const;
  void NotAllowed(const Toucher& who, std::uint32_t nic, std::uint16_t domain,
                  const WatchedPiece& piece, fabric::Access wanted);
  void OutOfBounds(const Toucher& who, std::uint32_t nic, const WatchedPiece& piece, bool remote);

  FindingLog& log_;
  std::uint64_t next_number_ = 0;
  std::vector<Nic> nics_;  // index: the NIC's in the world
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_REGISTRATIONS_H_
