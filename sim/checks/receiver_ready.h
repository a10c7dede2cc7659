// A message that its receiver had no receive for, in time, is sent again or lost.

#ifndef DRYDOCK_SIM_CHECKS_RECEIVER_READY_H_
#define DRYDOCK_SIM_CHECKS_RECEIVER_READY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/posted.h"
#include "drydock/sim/efa_status.h"

namespace drydock::sim {

// Of one endpoint. Does nothing before a peer has refused a message.
class ReceiverReady {
 public:
  // The program read the completion of `posted`.
  void Completed(const Posted& posted, std::uint8_t status) {
    if (status != static_cast<std::uint8_t>(EfaStatus::kRemoteNotReady)) return;
    if (lost_.size() < kMost && posted.kind == fabric::OperationKind::kSend) {
      lost_.push_back(posted);
    }
  }
  // A message that resembles a refused one may be the same one again: in doubt it is. Its peer may
  // have been inserted anew meanwhile.
  void Accepted(const Posted& posted) {
    if (lost_.empty()) return;
    const auto again = std::find_if(lost_.begin(), lost_.end(), [&](const Posted& lost) {
      const bool is_named_so = lost.kind == posted.kind && lost.context == posted.context &&
                               (lost.peer == posted.peer || lost.length == posted.length);
      return is_named_so || lost.AsksTheSame(posted);
    });
    if (again != lost_.end()) lost_.erase(again);
  }

  // Messages that were refused and never sent again; forgets them.
  std::size_t TakeLost() { return std::exchange(lost_, {}).size(); }

 private:
  // No more are remembered.
  static constexpr std::size_t kMost = 64;

  std::vector<Posted> lost_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_RECEIVER_READY_H_
