// The observers of one world, and how an event is told to those that listen to it.

#ifndef DRYDOCK_SIM_DEVICE_OBSERVERS_H_
#define DRYDOCK_SIM_DEVICE_OBSERVERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "drydock/sim/device/observer.h"

namespace drydock::sim {

// The events have numbers, so that a list of those that listen to one is found at once.
enum class ObserverEvent : std::uint8_t {
#define DD_EVENT(name) name,
#include "drydock/sim/device/observer_events.inc"
#undef DD_EVENT
  kEnd
};

template <auto Event>
constexpr std::size_t NumberOf() = delete;
#define DD_EVENT(name)                                    \
  template <>                                             \
  constexpr std::size_t NumberOf<&Observer::name>() {     \
    return static_cast<std::size_t>(ObserverEvent::name); \
  }
#include "drydock/sim/device/observer_events.inc"
#undef DD_EVENT

// Those of one world, in the order in which they are told. Each is told only of the events that its
// class overrides: an observer costs nothing where it does not listen.
class Observers {
 public:
  // The observer outlives this, or is taken away before. Its class overrides in public; told by
  // way of Observer itself, it is told of everything.
  template <typename T>
  void Add(T& observer) {
    ++count_;
#define DD_EVENT(name) Enlist<&Observer::name>(observer, &T::name);
#include "drydock/sim/device/observer_events.inc"
#undef DD_EVENT
  }
  void Remove(Observer& observer) {
    --count_;
    for (std::vector<Observer*>& list : listeners_) std::erase(list, &observer);
  }

  // Tells those that listen: observers.Tell<&Observer::OnGone>(operation).
  template <auto Event, typename... Arguments>
  void Tell(const Arguments&... arguments) const {
    for (Observer* observer : listeners_[NumberOf<Event>()]) (observer->*Event)(arguments...);
  }
  bool any() const { return count_ > 0; }

 private:
  // A class that does not override an event names the base's own.
  template <auto Event, typename T, typename Mine>
  void Enlist(T& observer, Mine /*mine*/) {
    if constexpr (std::is_same_v<T, Observer> || !std::is_same_v<Mine, decltype(Event)>) {
      listeners_[NumberOf<Event>()].push_back(&observer);
    }
  }

  std::size_t count_ = 0;
  std::array<std::vector<Observer*>, static_cast<std::size_t>(ObserverEvent::kEnd)> listeners_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_OBSERVERS_H_
