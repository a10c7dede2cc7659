// What will happen, in the order in which it will happen.

#ifndef SIM_EVENT_QUEUE_H_
#define SIM_EVENT_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coro/time.h"
#include "sim/event_log.h"

namespace sim {

class Actor;

// One thing that happens to one actor. The meaning of a and b is the actor's own.
struct Event {
  coro::Time time;
  std::uint64_t sequence;  // among events of the same time, the one scheduled first happens first
  Actor* actor;
  EventKind kind;
  std::uint32_t a;
  std::uint64_t b;
};

// Something that events happen to. An actor lives as long as the world that schedules for it.
//
// Rules: OnEvent runs to its end before any other event; it may schedule events, never in the past;
// it sees the world's clock at the time of the event; it must not run the event loop of the program
// under test.
class Actor {
 public:
  virtual ~Actor() = default;
  // Which one it is, the same in every run with the same seed.
  virtual std::uint32_t index() const = 0;
  virtual void OnEvent(const Event& event) = 0;
};

// A binary heap. Invariant: top() is the earliest event, and among events of equal time the first
// that was pushed.
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Event& top() const { return heap_.front(); }

  void Push(coro::Time time, Actor* actor, EventKind kind, std::uint32_t a, std::uint64_t b) {
    heap_.push_back(Event{time, next_sequence_++, actor, kind, a, b});
    std::push_heap(heap_.begin(), heap_.end(), Later());
  }

  Event Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later());
    const Event event = heap_.back();
    heap_.pop_back();
    return event;
  }

 private:
  // A type, so that the heap's functions have it inlined.
  struct Later {
    bool operator()(const Event& x, const Event& y) const {
      return x.time != y.time ? x.time > y.time : x.sequence > y.sequence;
    }
  };

  std::vector<Event> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace sim

#endif  // SIM_EVENT_QUEUE_H_
