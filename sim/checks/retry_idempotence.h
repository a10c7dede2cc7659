// A refused post is tried again, and an accepted one is not.

#ifndef DRYDOCK_SIM_CHECKS_RETRY_IDEMPOTENCE_H_
#define DRYDOCK_SIM_CHECKS_RETRY_IDEMPOTENCE_H_

#include <cstddef>
#include <vector>

#include "drydock/sim/device/posted.h"

namespace drydock::sim {

// Of one endpoint. Remembers requests that were refused with kAgain until the same is accepted.
class RetryIdempotence {
 public:
  // Whether `posted`, which was accepted, is the same operation as `other`, which is in flight with
  // the same context. Receives never are: two of them into one buffer are another rule's business.
  static bool IsPostedTwice(const Posted& posted, const Posted& other) {
    return posted.AsksTheSame(other) && posted.local == other.local &&
           posted.kind != fabric::OperationKind::kReceive;
  }

  void Refused(const Posted& posted);
  void Accepted(const Posted& posted) {
    if (!refused_.empty()) [[unlikely]] {
      TriedAgain(posted);
    }
  }

  // Requests that were refused and never accepted since, oldest first; no more than kMost.
  const std::vector<Posted>& refused() const { return refused_; }
  void Forget() { refused_.clear(); }

 private:
  // Bounds the search in each post: a program may drop its refused requests.
  static constexpr std::size_t kMost = 8;

  void TriedAgain(const Posted& posted);

  std::vector<Posted> refused_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_RETRY_IDEMPOTENCE_H_
