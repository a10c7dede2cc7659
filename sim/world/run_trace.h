// The trace of a run: the faults that fired, its operations, its last events. In memory that a
// child process can share with its parent, so that a run whose process dies leaves it, too.

#ifndef DRYDOCK_SIM_WORLD_RUN_TRACE_H_
#define DRYDOCK_SIM_WORLD_RUN_TRACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/events/event_log.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim {

// Of a NIC, cut where it is longer.
using ShortName = std::array<char, 40>;

// One firing, as a person is told of it.
struct FiringEntry {
  fabric::faults::FiringId id;
  coro::Duration time{};  // since the run began: in whichever of its worlds
  ShortName nic{};        // empty: not of one NIC
  bool has_operation = false;
  fabric::OperationKind operation{};
  std::uint64_t size_bytes = 0;
  bool has_peer = false;
  std::uint32_t peer = 0;
};

// One operation of the run. Its index is its sequence.
struct OperationEntry {
  fabric::OperationKind kind{};
  std::uint32_t from = kNoActor;  // indices of NICs
  std::uint32_t to = kNoActor;    // kNoActor: no NIC has the address
  std::uint64_t bytes = 0;
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  coro::Duration fetched{};
  bool landed = false;
  coro::Duration landing{};  // of the last of its bytes
};

// The digest after so many events, of which those of the worlds before are a part.
struct Mark {
  std::uint64_t events = 0;
  Digest digest;

  friend bool operator==(const Mark&, const Mark&) = default;
};

struct RunTrace {
  static constexpr std::size_t kMostFirings = 1 << 16;
  static constexpr std::size_t kMostOperations = 1 << 16;
  static constexpr std::size_t kMostNics = 256;
  static constexpr std::size_t kMostMarks = 64;
  static constexpr std::uint64_t kFirstDistance = 16;  // events from mark to mark, as a run begins
  static constexpr std::size_t kMostEvents = 32;

  std::uint64_t firing_count = 0;
  std::uint64_t operation_count = 0;
  std::uint64_t event_count = 0;
  std::uint64_t mark_count = 0;
  std::uint64_t mark_distance = kFirstDistance;
  std::array<Mark, kMostMarks> marks;
  std::array<LoggedEvent, kMostEvents> last_events;  // a ring; times are since the run began
  std::array<ShortName, kMostNics> nics;
  std::array<FiringEntry, kMostFirings> firings;
  std::array<OperationEntry, kMostOperations> operations;

  // Whether every firing was noted; the first ones are in any case.
  bool has_all_firings() const { return firing_count <= kMostFirings; }
  std::vector<fabric::faults::FiringId> FiringIds() const;
  // The oldest first.
  std::vector<LoggedEvent> LastEvents() const;
};
static_assert(std::is_trivially_copyable_v<FiringEntry> &&
              std::is_trivially_copyable_v<OperationEntry>);

// Makes a trace in memory that is zero, and writes only fields that are not zero.
RunTrace& InitTrace(void* zeros);

// An empty trace, in memory that is shared with processes that are forked from now on. Aborts when
// there is none: a few megabytes, of which only written pages take memory.
std::shared_ptr<RunTrace> NewTrace();

// Writes it down: of one world, or of one after the other, as a process has that closes all its
// devices and opens them again. Numbers of events, of operations and of the events that a rule
// could act on go on then. Not thread-safe.
class Tracer final : public fabric::faults::FiringListener, public EventListener {
 public:
  explicit Tracer(RunTrace& trace) : trace_(trace) {}

  // Up to End, which comes before the world's end. `engine`: null: there are no faults. The same
  // plan for all worlds. `began`: when the world does, on the run's clock. REQUIRES: nothing has
  // happened yet.
  void Begin(World& world, fabric::faults::FaultEngine* engine, coro::Duration began = {});
  void End();
  bool is_tracing() const { return world_ != nullptr; }

  // Totals of the worlds before the next one: eligible events by rule, where there was a world, and
  // operations.
  std::span<const std::uint64_t> eligible_before() const { return eligible_before_; }
  std::uint64_t operations_before() const { return operations_before_; }

  void OnFired(const fabric::faults::FiringId& id, const fabric::faults::EventView& view,
               const fabric::faults::Firing& firing) override;
  void OnLogged(const LoggedEvent& event) override;

 private:
  std::uint64_t FiringsBefore(std::uint32_t rule) const {
    return rule < eligible_before_.size() ? eligible_before_[rule] : 0;
  }
  // Null: there is no room for it.
  OperationEntry* EntryOf(const Operation& operation);
  void NoteFetch(const LoggedEvent& event);
  void NoteMark();
  Digest DigestSoFar() const;

  RunTrace& trace_;
  World* world_ = nullptr;  // null: none has begun
  fabric::faults::FaultEngine* engine_ = nullptr;
  coro::Duration began_{};
  // Of the worlds that are over.
  Digest digest_before_;
  bool has_before_ = false;
  std::uint64_t operations_before_ = 0;
  std::vector<std::uint64_t> eligible_before_;  // by rule
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_WORLD_RUN_TRACE_H_
