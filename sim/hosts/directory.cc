#include "drydock/sim/hosts/directory.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/sim/efa_address.h"
#include "drydock/sim/hosts/gid.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

constexpr std::uint64_t kVersion = 0x3361'6665'6b63'6f64ull;  // of the layout

// Locked by a process that changes the network's membership: a byte behind those of the slots.
constexpr off_t kDoor = static_cast<off_t>(kMachines);

bool Lock(int fd, short type, off_t byte, bool wait) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  int result = 0;
  do {
    result = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Also where the system does not say: a machine is not to be taken for dead by mistake.
bool IsLockedByOthers(int fd, off_t first, off_t count) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

// Whether the path still leads to the open file: another process may have removed it meanwhile.
bool IsAt(const std::string& path, int fd) {
  struct stat named;
  struct stat opened;
  return stat(path.c_str(), &named) == 0 && fstat(fd, &opened) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

// The door's lock, from here to the end of the block.
class Door {
 public:
  explicit Door(int fd) : fd_(fd), held_(Lock(fd, F_WRLCK, kDoor, true)) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() {
    if (held_) Lock(fd_, F_UNLCK, kDoor, false);
  }
  bool held() const { return held_; }

 private:
  const int fd_;
  const bool held_;
};

}  // namespace

NetworkTerms TermsOf(const Profile& profile) {
  const std::size_t nics = profile.nics.size();
  NetworkTerms terms{.profile =
                         absl::StrCat(profile.name, " with ", nics, nics == 1 ? " NIC" : " NICs")};
  for (const char letter : profile.name) {
    terms.fingerprint = Combine(terms.fingerprint, static_cast<unsigned char>(letter));
  }
  terms.fingerprint = Combine(terms.fingerprint, nics);
  terms.fingerprint = Combine(terms.fingerprint, profile.device.mtu);
  terms.fingerprint = Combine(terms.fingerprint, profile.device.max_rdma_size);
  return terms;
}

struct alignas(64) Directory::Header {
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint32_t> epoch;
  std::uint64_t fingerprint;  // with the profile: read and written under the door's lock
  char profile[48];
};

Directory::Directory(std::string name, int fd, SharedFile file)
    : name_(std::move(name)), fd_(fd), file_(std::move(file)) {}

Directory::Header& Directory::header() const { return *reinterpret_cast<Header*>(file_.data()); }

MachineSlot& Directory::At(std::uint8_t slot) {
  return reinterpret_cast<MachineSlot*>(file_.data() + sizeof(Header))[slot];
}

std::uint32_t Directory::epoch() const { return header().epoch.load(std::memory_order_acquire); }

std::uint32_t Directory::LivingIn(std::uint8_t slot) {
  const std::uint64_t life = At(slot).life.load(std::memory_order_acquire);
  // A word that holds more than an incarnation is nonsense, and its process no machine: NoteDeath
  // would not find it.
  const bool living = (life & 1) != 0 && life >> 33 == 0;
  return living ? static_cast<std::uint32_t>(life >> 1) : 0;
}

bool Directory::WasTaken(std::uint8_t slot) {
  return At(slot).life.load(std::memory_order_acquire) != 0;
}

bool Directory::IsHeld(std::uint8_t slot) const { return IsLockedByOthers(fd_, slot, 1); }

// ---- Coming ----

absl::StatusOr<std::unique_ptr<Directory>> Directory::Join(const std::string& name,
                                                           const NetworkTerms& terms,
                                                           std::optional<MachinePlace> place) {
  const std::string path = absl::StrCat(kSharedFolder, name);
  while (true) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
      return absl::UnavailableError(
          absl::StrCat("shared memory: open ", path, ": ", std::strerror(errno)));
    }
    absl::StatusOr<SharedFile> file =
        IsOurs(fd)
            ? SharedFile::Map(fd, sizeof(Header) + kMachines * sizeof(MachineSlot))
            : absl::UnavailableError(absl::StrCat("shared memory: ", path, " is not ours alone"));
    if (!file.ok()) {
      close(fd);
      return file.status();
    }
    std::unique_ptr<Directory> directory(new Directory(name, fd, *std::move(file)));
    const Door door(fd);
    if (!door.held()) {
      return absl::UnavailableError(
          absl::StrCat("shared memory: lock ", path, ": ", std::strerror(errno)));
    }
    if (!IsAt(path, fd)) continue;  // the last one left while we came
    const absl::Status claimed = directory->Claim(terms, place);
    if (!claimed.ok()) return claimed;
    return directory;
  }
}

absl::Status Directory::Agree(const NetworkTerms& terms) {
  Header& known = header();
  if (!IsLockedByOthers(fd_, 0, static_cast<off_t>(kMachines))) {  // the network is empty
    if (known.version.exchange(kVersion) != kVersion) {
      for (std::size_t i = 0; i < kMachines; ++i) At(static_cast<std::uint8_t>(i)).life.store(0);
    }
    known.fingerprint = terms.fingerprint;
    std::snprintf(known.profile, sizeof(known.profile), "%s", terms.profile.c_str());
    return absl::OkStatus();
  }
  if (known.version.load() != kVersion) {
    return absl::FailedPreconditionError(
        "shared memory: the network was made by another version of the simulator");
  }
  if (known.fingerprint == terms.fingerprint) return absl::OkStatus();
  const std::string other(known.profile, strnlen(known.profile, sizeof(known.profile)));
  return absl::FailedPreconditionError(
      absl::StrCat("the machines of the network are of profile ", other, ", this one would be of ",
                   terms.profile, ": choose another fabric name, or the same machine"));
}

absl::Status Directory::Claim(const NetworkTerms& terms, std::optional<MachinePlace> place) {
  const absl::Status agreed = Agree(terms);
  if (!agreed.ok()) return agreed;
  for (std::size_t i = 0; i < kMachines; ++i) {
    const auto slot = static_cast<std::uint8_t>(i);
    if (LivingIn(slot) != 0 && !IsHeld(slot)) NoteDeath(slot, LivingIn(slot));
  }
  RemoveLeftovers();
  if (place.has_value()) {
    if (!Lock(fd_, F_WRLCK, place->slot, false)) {
      return absl::AlreadyExistsError(
          absl::StrCat("machine ", place->slot, " of the network is another process here"));
    }
    TakeSlot(place->slot, place->incarnation);
    return absl::OkStatus();
  }
  for (std::size_t i = 0; i < kMachines; ++i) {
    if (!Lock(fd_, F_WRLCK, static_cast<off_t>(i), false)) continue;
    const auto slot = static_cast<std::uint8_t>(i);
    const auto incarnation = static_cast<std::uint32_t>(At(slot).life.load() >> 1) + 1;
    TakeSlot(slot, incarnation == 0 ? 1 : incarnation);
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the network has ", kMachines, " machines already"));
}

// REQUIRES: we hold its lock.
void Directory::TakeSlot(std::uint8_t number, std::uint32_t incarnation) {
  slot_ = number;
  incarnation_ = incarnation;
  MachineSlot& slot = mine();
  slot.life.store(std::uint64_t{incarnation_} << 1);
  slot.pid.store(0);
  slot.bell.store(0);
  for (auto& bits : slot.incoming) bits.store(0);
  for (auto& readable : slot.readable) readable.store(0);
}

void Directory::Announce() {
  mine().life.store(std::uint64_t{incarnation_} << 1 | 1, std::memory_order_seq_cst);
  header().epoch.fetch_add(1, std::memory_order_seq_cst);
}

// ---- Going ----

void Directory::NoteDeath(std::uint8_t slot, std::uint32_t incarnation) {
  std::uint64_t living = std::uint64_t{incarnation} << 1 | 1;
  const bool ours = At(slot).life.compare_exchange_strong(living, living & ~std::uint64_t{1});
  if (!ours) return;  // another process noted it, or the slot has a successor
  header().epoch.fetch_add(1, std::memory_order_seq_cst);
  RemoveLeftovers();
}

std::string Directory::RingName(std::uint8_t from, std::uint32_t from_incarnation, std::uint8_t to,
                                std::uint32_t to_incarnation) const {
  return absl::StrFormat("%s-%u.%u-%u.%u", name_, from, from_incarnation, to, to_incarnation);
}

// Removes files between two machines of which one is not there.
void Directory::RemoveLeftovers() {
  DIR* folder = opendir(kSharedFolder);
  if (folder == nullptr) return;
  const std::string prefix = name_ + "-";
  while (const dirent* entry = readdir(folder)) {
    const std::string file(entry->d_name);
    if (!absl::StartsWith(file, prefix)) continue;
    unsigned from = 0;
    unsigned from_incarnation = 0;
    unsigned to = 0;
    unsigned to_incarnation = 0;
    const int read = std::sscanf(file.c_str() + prefix.size(), "%u.%u-%u.%u", &from,
                                 &from_incarnation, &to, &to_incarnation);
    if (read != 4 || from >= kMachines || to >= kMachines) continue;
    const bool needed = LivingIn(static_cast<std::uint8_t>(from)) == from_incarnation &&
                        LivingIn(static_cast<std::uint8_t>(to)) == to_incarnation;
    if (!needed) SharedFile::Unlink(file);
  }
  closedir(folder);
}

Directory::~Directory() {
  if (fd_ < 0) return;
  if (incarnation_ != 0) {
    const Door door(fd_);
    NoteDeath(slot_, incarnation_);
    Lock(fd_, F_UNLCK, slot_, false);
    const bool last = !IsLockedByOthers(fd_, 0, static_cast<off_t>(kMachines));
    if (door.held() && last && IsAt(absl::StrCat(kSharedFolder, name_), fd_)) {
      SharedFile::Unlink(name_);
    }
  }
  close(fd_);
}

void Directory::Abandon() {
  close(fd_);
  fd_ = -1;
}

// ---- Clearing up ----

namespace {

// "drydock-efa-0-0123456789-1.1-2.1", a file between two machines, is of network
// "drydock-efa-0-0123456789".
std::string NetworkOf(const std::string& file, std::size_t prefix) {
  return file.substr(0, file.find('-', prefix));
}

// Removes the files of a network that no process is in. A process that is about to join waits for
// the door, and then sees that the network's file has gone: so that file goes last, and is made
// where it is missing. Where it was seen and is gone, its last machine has just left: nothing is
// made then, which others would see.
void RemoveIfDead(const std::string& network, const std::vector<std::string>& files) {
  const std::string path = absl::StrCat(kSharedFolder, network);
  const bool seen = std::find(files.begin(), files.end(), network) != files.end();
  const int make = seen ? 0 : O_CREAT;
  const int fd = open(path.c_str(), O_RDWR | make | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  const bool dead = IsOurs(fd) && Lock(fd, F_WRLCK, kDoor, false) && IsAt(path, fd) &&
                    !IsLockedByOthers(fd, 0, static_cast<off_t>(kMachines));
  for (const std::string& file : files) {
    if (dead && file != network) SharedFile::Unlink(file);
  }
  if (dead) SharedFile::Unlink(network);
  close(fd);  // with the lock
}

bool HasMachines(const std::string& network) {
  const int fd = open(absl::StrCat(kSharedFolder, network).c_str(),
                      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno != ENOENT;
  const bool has = IsLockedByOthers(fd, 0, static_cast<off_t>(kMachines));
  close(fd);
  return has;
}

// The network of a file of the provider's; absent: it is no such file.
std::optional<std::uint64_t> FabricOfProviderFile(const std::string& file) {
  const std::size_t end = file.find('_');
  unsigned numbers[3] = {};
  int length = 0;
  if (end == std::string::npos ||
      std::sscanf(file.c_str() + end, "_%x_%x_%x%n", &numbers[0], &numbers[1], &numbers[2],
                  &length) != 3 ||
      end + static_cast<std::size_t>(length) != file.size()) {
    return std::nullopt;
  }
  Gid gid{};
  if (inet_pton(AF_INET6, file.substr(0, end).c_str(), gid.data()) != 1) return std::nullopt;
  return FabricOf(gid);
}

// A machine in virtual time is in no network, and one of several computers in a network of another
// name: so the process whose number the file has near its beginning is looked at, too (libfabric
// prov/shm/src/smr_util.h, smr_region: up to SMR_VERSION 8; later ones have it elsewhere). Where it
// does not tell, as when it has not written its number yet or its memory is not shown to us, the
// file is in use.
bool IsUsedByItsProcess(const std::string& path, int fd) {
  struct {
    std::uint8_t version;
    std::uint8_t others[3];
    std::int32_t pid;
  } head{};
  constexpr std::uint8_t kLastWithPidHere = 8;
  if (pread(fd, &head, sizeof head, 0) != sizeof head) return true;
  if (head.version > kLastWithPidHere || head.pid == 0) return true;
  errno = 0;
  std::ifstream maps(absl::StrCat("/proc/", head.pid, "/maps"));
  if (!maps.is_open()) return errno != ENOENT;
  bool shown = false;
  for (std::string line; std::getline(maps, line); shown = true) {
    if (absl::EndsWith(line, path)) return true;
  }
  return !shown;
}

}  // namespace

void RemoveDeadNetworks(const std::string& prefix) {
  DIR* folder = opendir(kSharedFolder);
  if (folder == nullptr) return;
  std::map<std::string, std::vector<std::string>> files;
  while (const dirent* entry = readdir(folder)) {
    const std::string file(entry->d_name);
    if (absl::StartsWith(file, prefix)) files[NetworkOf(file, prefix.size())].push_back(file);
  }
  closedir(folder);
  for (const auto& [network, of_it] : files) RemoveIfDead(network, of_it);
}

void RemoveDeadProviderFiles() {
  DIR* folder = opendir(kSharedFolder);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    const std::string file(entry->d_name);
    const std::optional<std::uint64_t> fabric = FabricOfProviderFile(file);
    if (!fabric.has_value() || HasMachines(FabricFileName(*fabric))) continue;
    const std::string path = absl::StrCat(kSharedFolder, file);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (IsOurs(fd) && !IsUsedByItsProcess(path, fd)) SharedFile::Unlink(file);
    close(fd);
  }
  closedir(folder);
}

}  // namespace drydock::sim
