// A completion queue that is in use is read.

#ifndef DRYDOCK_SIM_CHECKS_QUEUE_SERVICE_H_
#define DRYDOCK_SIM_CHECKS_QUEUE_SERVICE_H_

#include <chrono>
#include <cstdint>

#include "drydock/coro/time.h"

namespace drydock::sim {

// Of one completion queue. The program that opened it runs on where it reads other queues of the
// same protection domain; one that sleeps breaks no rule.
class QueueService {
 public:
  static constexpr coro::Duration kPatience = std::chrono::seconds(5);
  static constexpr std::uint64_t kReadsElsewhere = 1000;

  // The program looked.
  void Read() { waits_ = false; }

  // An entry came, at `now`, when the program had read queues of the domain `domain_reads` times.
  // True when an older one has been waiting for longer than kPatience, and the program read other
  // queues kReadsElsewhere times meanwhile: once each time.
  bool Arrived(coro::Duration now, std::uint64_t domain_reads) {
    if (waits_) {
      if (now - since_ <= kPatience || domain_reads - reads_then_ < kReadsElsewhere) return false;
      waits_ = false;
      return true;
    }
    waits_ = true;
    since_ = now;
    reads_then_ = domain_reads;
    return false;
  }

 private:
  bool waits_ = false;
  coro::Duration since_{};
  std::uint64_t reads_then_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_QUEUE_SERVICE_H_
