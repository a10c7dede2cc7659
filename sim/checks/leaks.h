// leaks: every object that a program opened on a simulated machine is closed when the program is
// over.

#ifndef DRYDOCK_SIM_CHECKS_LEAKS_H_
#define DRYDOCK_SIM_CHECKS_LEAKS_H_

#include <cstdint>
#include <map>
#include <string>

#include "drydock/sim/checks/finding_log.h"
#include "drydock/sim/device/observer.h"

namespace drydock::sim {

// Not thread-safe: belongs to its world. A handle that has called Close with success is closed, and
// one that is gone is: the order in which they go is free.
class Leaks final : public Observer {
 public:
  explicit Leaks(FindingLog& log) : log_(log) {}

  void OnOpened(std::uint32_t object, ObjectKind kind, const NicState& nic) override;
  void OnClosed(std::uint32_t object, bool busy) override;

  // The program is over: objects that are open now are leaks.
  void AtEnd();

 private:
  struct Object {
    ObjectKind kind = ObjectKind::kDomain;
    std::uint32_t nic = 0;
    bool was_busy = false;
  };

  FindingLog& log_;
  std::map<std::uint32_t, Object> objects_;     // that are open
  std::map<std::uint32_t, std::string> names_;  // of NICs on which something was opened
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_LEAKS_H_
