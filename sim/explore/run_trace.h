// What a run leaves behind: the faults that fired, its operations, its last events. In memory that
// a child process shares with its parent, so that a run whose process dies leaves it, too.

#ifndef SIM_EXPLORE_RUN_TRACE_H_
#define SIM_EXPLORE_RUN_TRACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "fabric/faults/engine.h"
#include "fabric/operation.h"
#include "sim/events/event_log.h"
#include "sim/explore/run_seed.h"
#include "sim/world/world.h"

namespace sim::explore {

// Of a NIC, cut where it is longer.
using ShortName = std::array<char, 40>;

// One firing, as a person is told of it.
struct FiringEntry {
  fabric::faults::FiringId id;
  coro::Duration time{};  // since the world began
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
  std::uint32_t to = kNoActor;    // kNoActor: an address of nobody
  std::uint64_t bytes = 0;
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  coro::Duration fetched{};
  bool landed = false;
  coro::Duration landing{};  // of the last of its bytes
};

// The digest after so many events.
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
  std::uint64_t missed_count = 0;  // of the firings that the run was restricted to
  std::array<Mark, kMostMarks> marks;
  std::array<LoggedEvent, kMostEvents> last_events;  // a ring
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

// An empty trace, in memory that is shared with processes that are forked from now on. Aborts when
// there is none: a few megabytes, of which only what is written takes memory.
std::shared_ptr<RunTrace> NewTrace();

// Writes it down. Not thread-safe; used for one run.
class Tracer final : public RunObserver,
                     public fabric::faults::FiringListener,
                     public EventListener {
 public:
  explicit Tracer(RunTrace& trace) : trace_(trace) {}

  void Begin(World& world, fabric::faults::FaultEngine& engine) override;
  void End(World& world, fabric::faults::FaultEngine& engine) override;
  void OnFired(const fabric::faults::FiringId& id, const fabric::faults::EventView& view,
               const fabric::faults::Firing& firing) override;
  void OnLogged(const LoggedEvent& event) override;

 private:
  void NoteFetch(const LoggedEvent& event);
  void NoteMark();

  RunTrace& trace_;
  World* world_ = nullptr;
};

}  // namespace sim::explore

#endif  // SIM_EXPLORE_RUN_TRACE_H_
