// A completion queue that is in use is read.

#ifndef SIM_CHECKS_QUEUE_SERVICE_H_
#define SIM_CHECKS_QUEUE_SERVICE_H_

#include <chrono>
#include <cstdint>

#include "coro/time.h"

namespace sim {

// Of one completion queue. The program that opened it runs on where it reads other queues of the
// same domain; one that sleeps is no sinner.
class QueueService {
 public:
  static constexpr coro::Duration kPatience = std::chrono::seconds(5);
  static constexpr std::uint64_t kReadsElsewhere = 1000;

  // `domain_reads` counts the reads of all queues of the domain, and stays valid while completions
  // arrive. Without it nothing is watched.
  void Watch(const std::uint64_t* domain_reads) { domain_reads_ = domain_reads; }

  // The program looked.
  void Read() { waits_ = false; }

  // An entry came. True when an older one has been waiting for longer than kPatience, and the
  // program read other queues kReadsElsewhere times meanwhile: once each time.
  bool Arrived(coro::Duration now) {
    if (domain_reads_ == nullptr) return false;
    if (waits_) {
      if (now - since_ <= kPatience || *domain_reads_ - reads_then_ < kReadsElsewhere) return false;
      waits_ = false;
      return true;
    }
    waits_ = true;
    since_ = now;
    reads_then_ = *domain_reads_;
    return false;
  }

 private:
  const std::uint64_t* domain_reads_ = nullptr;
  bool waits_ = false;
  coro::Duration since_{};
  std::uint64_t reads_then_ = 0;
};

}  // namespace sim

#endif  // SIM_CHECKS_QUEUE_SERVICE_H_
