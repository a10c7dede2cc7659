// Test helper: memory whose neighbours cannot be touched. A read or write one byte outside ends the
// process, in every build.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_TESTING_GUARDED_PAGE_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_TESTING_GUARDED_PAGE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace drydock::fabric::efa_queue {

class GuardedPage {
 public:
  GuardedPage() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    map_ = mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map_ == MAP_FAILED || mprotect(begin(), page_, PROT_READ | PROT_WRITE) != 0) {
      std::perror("map a guarded page");
      std::abort();
    }
  }
  ~GuardedPage() { munmap(map_, 3 * page_); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  // The first byte; the one before it is forbidden.
  std::uint8_t* begin() const { return static_cast<std::uint8_t*>(map_) + page_; }

  // `size` bytes, after the last of which it is forbidden.
  std::uint8_t* last(std::size_t size) const { return begin() + page_ - size; }

 private:
  std::size_t page_;
  void* map_ = nullptr;
};

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_TESTING_GUARDED_PAGE_H_
