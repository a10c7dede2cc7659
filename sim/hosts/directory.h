// The machines of a network: a file in shared memory with a slot for each machine.
//
//   | header: terms, epoch | slot 0 | slot 1 | ... | slot 255 |
//
// A machine has a slot as long as its process holds a lock on the byte of the file with the slot's
// number: the lock dies with the process, however it ends. Each process that takes a slot is
// another incarnation of its machine; files between two machines carry both incarnations in their
// names, so that nothing of a dead process is ever taken for its successor's. The epoch counts
// comings and goings.

#ifndef DRYDOCK_SIM_HOSTS_DIRECTORY_H_
#define DRYDOCK_SIM_HOSTS_DIRECTORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/hosts/shared_file.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

inline constexpr std::size_t kMachines = 256;

// The settings that the machines of a network have to agree on.
struct NetworkTerms {
  std::string profile;            // and how many NICs, for a person; at most 47 bytes are kept
  std::uint64_t fingerprint = 0;  // of the fields of the profile that matter
};

NetworkTerms TermsOf(const Profile& profile);

// The place of a machine in a network that is more than one computer's, and gives places itself.
struct MachinePlace {
  std::uint8_t slot = 0;
  std::uint32_t incarnation = 0;  // not 0
};

// One machine, in shared memory. Others may write nonsense here: nothing of it is trusted.
struct alignas(64) MachineSlot {
  // Incarnation << 1 | 1 while a process has the slot.
  std::atomic<std::uint64_t> life;
  // For cross_memory.h: the process, and a random word in its memory.
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint64_t> word_address;
  std::atomic<std::uint64_t> word;
  std::atomic<std::uint32_t> zone;  // availability zone
  // See Bell.
  alignas(64) std::atomic<std::uint32_t> bell;
  // A bit per machine: it has written something for us.
  alignas(64) std::atomic<std::uint64_t> incoming[kMachines / 64];
  // Per machine: the incarnation of it whose memory we can read; 0: none.
  std::atomic<std::uint32_t> readable[kMachines];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// One process's view; it has a slot of its own. Not thread-safe, except for the contents of the
// slots.
class Directory {
 public:
  // Takes `place`, or the first free slot of the network whose files begin with `name`; makes the
  // network when there is none. Removes the files that dead processes have left.
  // kFailedPrecondition: the network has other terms. kAlreadyExists: another process has `place`.
  // kResourceExhausted: no slot is free, or no shared memory. kUnavailable: it cannot be used.
  static absl::StatusOr<std::unique_ptr<Directory>> Join(
      const std::string& name, const NetworkTerms& terms,
      std::optional<MachinePlace> place = std::nullopt);
  // Leaves. The last one removes the network.
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::uint8_t slot() const { return slot_; }
  std::uint32_t incarnation() const { return incarnation_; }
  MachineSlot& mine() { return At(slot_); }
  MachineSlot& At(std::uint8_t slot);
  // The incarnation that is in the slot now; 0: none.
  std::uint32_t LivingIn(std::uint8_t slot);
  // Whether some process has or had it, since this version of the network began.
  bool WasTaken(std::uint8_t slot);
  std::uint32_t epoch() const;

  // The slot, with everything in it but its life, is ready for others to see.
  void Announce();
  // Whether some process, not this directory, holds the slot.
  bool IsHeld(std::uint8_t slot) const;
  // That incarnation of the slot is dead: others learn it, and its files go.
  void NoteDeath(std::uint8_t slot, std::uint32_t incarnation);

  // The name of the file with messages from one machine to another.
  std::string RingName(std::uint8_t from, std::uint32_t from_incarnation, std::uint8_t to,
                       std::uint32_t to_incarnation) const;

  // In a forked child: gives up the lock, which stays the parent's. From then on nothing may be
  // changed.
  void Abandon();
  bool abandoned() const { return fd_ < 0; }

 private:
  Directory(std::string name, int fd, SharedFile file);

  absl::Status Claim(const NetworkTerms& terms, std::optional<MachinePlace> place);
  void TakeSlot(std::uint8_t slot, std::uint32_t incarnation);
  absl::Status Agree(const NetworkTerms& terms);
  void RemoveLeftovers();

  struct Header;
  Header& header() const;

  const std::string name_;
  int fd_;
  const SharedFile file_;
  std::uint8_t slot_ = 0;
  std::uint32_t incarnation_ = 0;  // 0: no slot is ours
};

// Removes the networks whose names begin with `prefix` and that no living process holds: a process
// that was killed, or ended without closing its device, leaves its files, and no process may ever
// join a network of that name again.
void RemoveDeadNetworks(const std::string& prefix);

// Removes the files of 16 MiB that libfabric's provider efa makes in shared memory, one for each
// endpoint ("fe80::3272:5598:aced:0_0000_2ee17a9b_0000": the GID, queue pair, qkey, user), and that
// a killed process leaves: those of this user, with a GID of a network that no process is in, which
// the process that made them does not use any more. Those of a libfabric with an SMR_VERSION above
// 8 stay. Where no process is in the file's network, a file is swept from under a process that is
// not to be told by its number: one that shares /dev/shm with us but not the numbers of processes
// (another container), or one that forked after it opened its endpoint and goes on as the child.
void RemoveDeadProviderFiles();

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_DIRECTORY_H_
