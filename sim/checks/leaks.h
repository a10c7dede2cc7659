// leaks: what a program opened on a simulated machine is closed when the program is over.

#ifndef SIM_CHECKS_LEAKS_H_
#define SIM_CHECKS_LEAKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/checks/finding_log.h"

namespace sim {

enum class OpenKind : std::uint8_t {
  kDomain,
  kMemoryRegion,
  kCompletionQueue,
  kAddressVector,
  kCounter,
  kEndpoint,
};
inline constexpr std::size_t kOpenKinds = 6;

// Not thread-safe: belongs to its world. A handle that has called Close with success is closed, and
// one that is gone is: the order in which they go is free.
class Leaks {
 public:
  explicit Leaks(FindingLog& log) : log_(log) {}

  // Returns the number of the object, for the other two.
  std::uint32_t Opened(OpenKind kind, const std::string& where);
  void Closed(std::uint32_t object);
  // Its Close answered that it is busy.
  void WasBusy(std::uint32_t object) { objects_[object].was_busy = true; }

  // The program is over: whatever is open now stays open.
  void AtEnd();

 private:
  struct Object {
    OpenKind kind = OpenKind::kDomain;
    bool open = false;
    bool was_busy = false;
    std::uint32_t where = 0;  // index in names_
  };

  FindingLog& log_;
  std::vector<Object> objects_;
  std::vector<std::uint32_t> free_;
  std::vector<std::string> names_;
};

// An object's entry there, held by the handle that the program owns.
class OpenObject {
 public:
  OpenObject(Leaks& leaks, OpenKind kind, const std::string& where)
      : leaks_(&leaks), number_(leaks.Opened(kind, where)) {}
  OpenObject(const OpenObject&) = delete;
  OpenObject& operator=(const OpenObject&) = delete;
  ~OpenObject() { Closed(); }

  void Closed() {
    if (leaks_ != nullptr) std::exchange(leaks_, nullptr)->Closed(number_);
  }
  // What a Close came to; returns it.
  template <typename Status>
  Status Closing(Status status) {
    if (status.ok()) {
      Closed();
    } else if (leaks_ != nullptr) {
      leaks_->WasBusy(number_);
    }
    return status;
  }

 private:
  Leaks* leaks_;
  std::uint32_t number_;
};

}  // namespace sim

#endif  // SIM_CHECKS_LEAKS_H_
