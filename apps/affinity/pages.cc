#include "drydock/apps/affinity/pages.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace drydock::apps::affinity {
namespace {

constexpr std::size_t kMaskBits = 8 * sizeof(unsigned long);

absl::Status Refused(absl::string_view what) {
  const int number = errno;
  return absl::FailedPreconditionError(
      absl::StrCat("the system does not let this program ", what, ": ", std::strerror(number)));
}

}  // namespace

absl::StatusOr<Pages> Pages::Map(std::size_t length_bytes) {
  void* data =
      mmap(nullptr, length_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no ", length_bytes, " bytes of memory: ", std::strerror(errno)));
  }
  return Pages(static_cast<std::byte*>(data), length_bytes);
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), length_(std::exchange(other.length_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(length_, other.length_);
  return *this;
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, length_);
}

// The system call itself: its wrapper is in libnuma, which nothing else here needs.
absl::Status Pages::BindTo(int numa_node) {
  const auto node = static_cast<std::size_t>(numa_node);
  std::vector<unsigned long> mask(node / kMaskBits + 1);
  mask.back() |= 1ul << (node % kMaskBits);
  // One more than there are bits: the kernel leaves out the last one.
  const unsigned long bits = mask.size() * kMaskBits + 1;
  if (syscall(SYS_mbind, data_, length_, MPOL_BIND, mask.data(), bits, 0) != 0) {
    return Refused(absl::StrCat("bind memory to NUMA node ", numa_node));
  }
  return absl::OkStatus();
}

absl::Status PinThisThread(const gpu::topology::CpuList& cpus) {
  const std::size_t bytes = CPU_ALLOC_SIZE(cpus.back() + 1);
  std::vector<unsigned long> mask(bytes / sizeof(unsigned long) + 1);
  auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  if (sched_setaffinity(0, bytes, set) != 0) {
    return Refused(absl::StrCat("run on CPUs ", gpu::topology::FormatCpuList(cpus)));
  }
  return absl::OkStatus();
}

}  // namespace drydock::apps::affinity
