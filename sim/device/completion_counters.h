// Completions that are counted for a program, by the device or by its driver.

#ifndef DRYDOCK_SIM_DEVICE_COMPLETION_COUNTERS_H_
#define DRYDOCK_SIM_DEVICE_COMPLETION_COUNTERS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "drydock/fabric/operation.h"

namespace drydock::sim {

enum class CounterKind : std::uint8_t {
  kSends,
  kReceives,
  kWrites,
  kReads,
  kRemoteWrites,
  kRemoteReads
};
inline constexpr std::size_t kCounterKinds = 6;

// The counter of an initiator's completions of this kind.
constexpr CounterKind CounterOf(fabric::OperationKind kind) {
  switch (kind) {
    case fabric::OperationKind::kWrite:
      return CounterKind::kWrites;
    case fabric::OperationKind::kRead:
      return CounterKind::kReads;
    default:
      return CounterKind::kSends;
  }
}

// Shared by the code that raises the counter and the code that reads it. Not thread-safe.
struct CounterCore {
  std::uint64_t value = 0;
  std::uint64_t errors = 0;
  std::uint64_t max_value = ~std::uint64_t{0};  // the next number is 0
  // Where the numbers are as well: called each time that one of them was set. Empty: nowhere.
  std::function<void(std::uint64_t CounterCore::*number)> changed;

  // Makes one of the numbers `to`.
  void Put(std::uint64_t CounterCore::*number, std::uint64_t to) {
    this->*number = to <= max_value ? to : to % (max_value + 1);
    if (changed) changed(number);
  }
};

// Those of one queue pair; null: not counted.
class CounterSet {
 public:
  std::shared_ptr<CounterCore>& operator[](std::size_t kind) { return counters_[kind]; }

  // Whether anything is counted.
  bool any() const {
    return std::any_of(counters_.begin(), counters_.end(),
                       [](const auto& counter) { return counter != nullptr; });
  }

  void Count(CounterKind kind, bool failed) const {
    CounterCore* counter = counters_[static_cast<std::size_t>(kind)].get();
    if (counter == nullptr) return;
    const auto number = failed ? &CounterCore::errors : &CounterCore::value;
    counter->Put(number, counter->*number + 1);
  }

 private:
  std::array<std::shared_ptr<CounterCore>, kCounterKinds> counters_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_COMPLETION_COUNTERS_H_
