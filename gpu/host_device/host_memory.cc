#include "gpu/host_device/host_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gpu {
namespace {

// As a GPU's allocations: far coarser than a page of the host, so that its dmabuf starts at a page.
constexpr std::size_t kGranule = std::size_t{64} << 10;

absl::Status OutOfMemory(std::size_t length_bytes, const char* what) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "allocate ", length_bytes, " B on the stand-in GPU: ", what, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<HostMemory>> HostMemory::Make(std::size_t length_bytes,
                                                             std::chrono::nanoseconds delay) {
  const std::size_t mapped = (length_bytes + kGranule - 1) / kGranule * kGranule;
  const int fd = memfd_create("drydock-device-memory", MFD_CLOEXEC);
  if (fd < 0) return OutOfMemory(length_bytes, "memfd_create");
  void* backing = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(mapped)) == 0) {
    backing = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  void* reserved = MAP_FAILED;
  if (backing != MAP_FAILED) {
    reserved = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (reserved == MAP_FAILED) {
    const absl::Status status = OutOfMemory(length_bytes, "mmap");
    if (backing != MAP_FAILED) munmap(backing, mapped);
    close(fd);
    return status;
  }
  return std::shared_ptr<HostMemory>(new HostMemory(fd, length_bytes, mapped,
                                                    static_cast<std::byte*>(reserved),
                                                    static_cast<std::byte*>(backing), delay));
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
  munmap(backing_, mapped_bytes_);
  munmap(reserved_, mapped_bytes_);
  close(fd_);
}

bool HostMemory::Holds(const std::byte* first, std::size_t length) const {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(first) - address();
  return offset <= length_bytes_ && length <= length_bytes_ - offset;
}

// ---- A NIC's side ----

void HostMemory::Read(std::byte* target, std::uint64_t address, std::uint64_t length) {
  const std::uint64_t offset = address - this->address();
  LandOverlapping(offset, length, last_ticket_);
  std::memcpy(target, backing_ + offset, length);
}

HostMemory::Ticket HostMemory::Write(std::uint64_t address, const std::byte* source,
                                     std::uint64_t length) {
  invisible_.emplace(++last_ticket_, Pending{address - this->address(), {source, source + length}});
  return last_ticket_;
}

std::optional<HostMemory::Ticket> HostMemory::CopyFrom(std::uint64_t address,
                                                       fabric::PeerMemory& source,
                                                       std::uint64_t source_address,
                                                       std::uint64_t length) {
  auto* other = dynamic_cast<HostMemory*>(&source);
  if (other == nullptr) return std::nullopt;
  std::vector<std::byte> bytes(length);
  other->Read(bytes.data(), source_address, length);
  invisible_.emplace(++last_ticket_, Pending{address - this->address(), std::move(bytes)});
  return last_ticket_;
}

void HostMemory::MakeVisible(Ticket ticket) {
  const auto found = invisible_.find(ticket);
  if (found == invisible_.end()) return;
  LandOverlapping(found->second.offset, found->second.bytes.size(), ticket);
}

void HostMemory::Flush() {
  for (const auto& [ticket, write] : invisible_) Land(write);
  invisible_.clear();
}

void HostMemory::Land(const Pending& write) {
  std::memcpy(backing_ + write.offset, write.bytes.data(), write.bytes.size());
}

void HostMemory::LandOverlapping(std::uint64_t offset, std::uint64_t length, Ticket last) {
  for (auto write = invisible_.begin(); write != invisible_.end() && write->first <= last;) {
    const bool overlaps = write->second.offset < offset + length &&
                          offset < write->second.offset + write->second.bytes.size();
    if (!overlaps) {
      ++write;
      continue;
    }
    Land(write->second);
    write = invisible_.erase(write);
  }
}

}  // namespace gpu
