#include "drydock/sim/checks/retry_idempotence.h"

#include <algorithm>

namespace drydock::sim {

void RetryIdempotence::Refused(const Posted& posted) {
  for (const Posted& before : refused_) {
    if (before.AsksTheSame(posted)) return;
  }
  if (refused_.size() == kMost) refused_.erase(refused_.begin());
  refused_.push_back(posted);
}

void RetryIdempotence::TriedAgain(const Posted& posted) {
  const auto found = std::find_if(refused_.begin(), refused_.end(),
                                  [&](const Posted& each) { return each.AsksTheSame(posted); });
  if (found != refused_.end()) refused_.erase(found);
}

}  // namespace drydock::sim
