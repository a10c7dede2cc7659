// The state that all objects of a faulty fabric share: the engine, the clock, and the numbers that
// selectors use.

#ifndef DRYDOCK_FABRIC_FAULTS_SESSION_H_
#define DRYDOCK_FABRIC_FAULTS_SESSION_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/faults/engine.h"

namespace drydock::fabric::faults {

// One faulty fabric: everything that is opened from it shares its session, and keeps it alive.
// Ownership: shares the engine; the clock must outlive it. Threads: thread-safe where the clock is.
// Times of events are relative to `start`, the beginning of the run, so that a plan means the same
// whenever its program starts.
class Session {
 public:
  Session(std::shared_ptr<FaultEngine> engine, const coro::Clock& clock,
          std::function<void(coro::Time)> wake_at, coro::Time start)
      : engine_(std::move(engine)), clock_(clock), wake_at_(std::move(wake_at)), start_(start) {}

  // Whether any rule can act at this point, or on this kind of operation there. False lets a
  // decorator forward a call untouched.
  bool Concerns(Point point) const { return engine_->Concerns(kLayer, point); }
  bool Concerns(Point point, OperationKind kind) const {
    return engine_->Concerns(kLayer, point, kind);
  }
  // The firing of the rules on this event. Each event is asked for once: asking counts it.
  Firing Decide(Point point, EventView view) {
    view.time = Now() - start_;
    return engine_->Decide(kLayer, point, view);
  }
  // The answer that Decide would give now; counts nothing.
  Firing Foresee(Point point, EventView view) const {
    view.time = Now() - start_;
    return engine_->Foresee(kLayer, point, view);
  }

  coro::Time Now() const { return clock_.Now(); }

  // Something can be read at `time` that the wrapped fabric knows nothing of.
  void WakeAt(coro::Time time) const {
    if (wake_at_) wake_at_(time);
  }

  // Numbers by which plans select endpoints and queues: from 0, in the order of opening.
  std::uint32_t NumberEndpoint() { return next_endpoint_++; }
  std::uint32_t NumberQueue() { return next_queue_++; }

 private:
  static constexpr Layer kLayer = Layer::kDecorator;

  const std::shared_ptr<FaultEngine> engine_;
  const coro::Clock& clock_;
  const std::function<void(coro::Time)> wake_at_;
  const coro::Time start_;
  std::atomic<std::uint32_t> next_endpoint_{0};
  std::atomic<std::uint32_t> next_queue_{0};
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_SESSION_H_
