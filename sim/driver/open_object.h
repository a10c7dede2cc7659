// That a handle which a program owns is open: observers are told when it opens and when it closes.

#ifndef DRYDOCK_SIM_DRIVER_OPEN_OBJECT_H_
#define DRYDOCK_SIM_DRIVER_OPEN_OBJECT_H_

#include <cstdint>

#include "drydock/sim/device/nic_state.h"
#include "drydock/sim/device/observers.h"
#include "drydock/sim/device/surroundings.h"

namespace drydock::sim {

// A member of the handle. A handle that is destroyed is closed.
class OpenObject {
 public:
  OpenObject(Surroundings& around, ObjectKind kind, const NicState& nic)
      : observers_(&around.observers), number_(around.NextObject()) {
    observers_->Tell<&Observer::OnOpened>(number_, kind, nic);
  }
  OpenObject(const OpenObject&) = delete;
  OpenObject& operator=(const OpenObject&) = delete;
  ~OpenObject() { Closed(); }

  // Numbers all objects that were ever opened in the world.
  std::uint32_t number() const { return number_; }

  void Closed() {
    TellClosed(false);
    observers_ = nullptr;
  }
  // Takes the result of a Close; returns it.
  template <typename Status>
  Status Closing(Status status) {
    if (status.ok()) {
      Closed();
    } else {
      Busy();
    }
    return status;
  }
  // A Close was refused, because others use it.
  void Busy() { TellClosed(true); }

 private:
  void TellClosed(bool busy) {
    if (observers_ != nullptr) observers_->Tell<&Observer::OnClosed>(number_, busy);
  }

  Observers* observers_;  // null: closed
  std::uint32_t number_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_OPEN_OBJECT_H_
