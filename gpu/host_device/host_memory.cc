#include "drydock/gpu/host_device/host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::gpu {
namespace {

// As a GPU's allocations: far coarser than a page of the host, so that its dmabuf starts at a page.
constexpr std::size_t kGranule = std::size_t{64} << 10;

// What is allocated on all stand-ins of this process: one reaches the memory of another.
struct Allocations {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<HostMemory>> by_address;
};

Allocations& AllAllocations() {
  static auto* const kAllocations = new Allocations();
  return *kAllocations;
}

absl::Status OutOfMemory(std::size_t length_bytes, const char* what) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "allocate ", length_bytes, " B on the stand-in GPU: ", what, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<HostMemory>> HostMemory::Make(std::size_t length_bytes,
                                                             std::chrono::nanoseconds delay) {
  const std::size_t mapped = (length_bytes + kGranule - 1) / kGranule * kGranule;
  const int fd = memfd_create("drydock-device-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return OutOfMemory(length_bytes, "memfd_create");
  void* backing = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(mapped)) == 0) {
    backing = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  void* reserved = MAP_FAILED;
  if (backing != MAP_FAILED) {
    // As a GPU's, it cannot be written by its descriptor or made shorter. A kernel that knows no
    // such seal is merely kinder.
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
    reserved = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (reserved == MAP_FAILED) {
    const absl::Status status = OutOfMemory(length_bytes, "mmap");
    if (backing != MAP_FAILED) munmap(backing, mapped);
    close(fd);
    return status;
  }
  std::shared_ptr<HostMemory> memory(new HostMemory(fd, length_bytes, mapped,
                                                    static_cast<std::byte*>(reserved),
                                                    static_cast<std::byte*>(backing), delay));
  Allocations& all = AllAllocations();
  const std::lock_guard lock(all.mutex);
  all.by_address[memory->address()] = memory;
  return memory;
}

std::shared_ptr<HostMemory> HostMemory::Find(const std::byte* first, std::size_t length) {
  Allocations& all = AllAllocations();
  // Let go of after the lock: it may be the last reference by then, and the end of a memory takes
  // the lock.
  std::shared_ptr<HostMemory> memory;
  const std::lock_guard lock(all.mutex);
  const auto after = all.by_address.upper_bound(reinterpret_cast<std::uint64_t>(first));
  if (after == all.by_address.begin()) return nullptr;
  memory = std::prev(after)->second.lock();
  return memory != nullptr && memory->Holds(first, length) ? memory : nullptr;
}

HostMemory::HostMemory(int fd, std::size_t length_bytes, std::size_t mapped_bytes,
                       std::byte* reserved, std::byte* backing, std::chrono::nanoseconds delay)
    : fd_(fd),
      length_bytes_(length_bytes),
      mapped_bytes_(mapped_bytes),
      reserved_(reserved),
      backing_(backing),
      delay_(delay) {
  struct stat status {};
  if (fstat(fd, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
}

HostMemory::~HostMemory() {
  {
    Allocations& all = AllAllocations();
    const std::lock_guard lock(all.mutex);
    all.by_address.erase(address());
  }
  munmap(backing_, mapped_bytes_);
  munmap(reserved_, mapped_bytes_);
  close(fd_);
}

bool HostMemory::Holds(const std::byte* first, std::size_t length) const {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(first) - address();
  return offset <= length_bytes_ && length <= length_bytes_ - offset;
}

// ---- A NIC's side ----

void HostMemory::Read(Way way, std::byte* target, std::uint64_t address, std::uint64_t length) {
  const std::uint64_t offset = address - this->address();
  std::memcpy(target, backing_ + offset, length);
  for (const auto& [ticket, write] : invisible_) {  // the later ones over the earlier ones
    if (way != kEveryWay && write.way != way) continue;
    const std::uint64_t begin = std::max(offset, write.offset);
    const std::uint64_t end = std::min(offset + length, write.offset + write.bytes.size());
    if (begin >= end) continue;
    std::memcpy(target + (begin - offset), write.bytes.data() + (begin - write.offset),
                end - begin);
  }
}

HostMemory::Ticket HostMemory::Write(Way way, std::uint64_t address, const std::byte* source,
                                     std::uint64_t length) {
  invisible_.emplace(++last_ticket_,
                     Pending{way, address - this->address(), {source, source + length}});
  return last_ticket_;
}

void HostMemory::MakeVisible(Ticket ticket) {
  const auto found = invisible_.find(ticket);
  if (found != invisible_.end()) LandUpTo(ticket, found->second.way);
}

void HostMemory::LandUpTo(Ticket last, Way way) {
  for (auto write = invisible_.begin(); write != invisible_.end() && write->first <= last;) {
    if (write->second.way != way) {
      ++write;
      continue;
    }
    Land(write->second);
    write = invisible_.erase(write);
  }
}

void HostMemory::Flush() {
  for (const auto& [ticket, write] : invisible_) Land(write);
  invisible_.clear();
}

void HostMemory::Land(const Pending& write) {
  std::memcpy(backing_ + write.offset, write.bytes.data(), write.bytes.size());
}

}  // namespace drydock::gpu
