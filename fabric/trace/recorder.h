// The recorder of a run: every observer records its events into it.
//
//   TracedFabric ─┐                ┌──► all events, for a trace (if wished)
//   sim listener ─┼──► Recorder ───┤
//   resumes ──────┘                └──► flight file: the last 4,096, whatever happens
//
// Nothing records where there is no recorder: code that may record holds a pointer, and null costs
// a test. Observing never changes the run: no clock, random draw or digest depends on the recorder.

#ifndef DRYDOCK_FABRIC_TRACE_RECORDER_H_
#define DRYDOCK_FABRIC_TRACE_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drydock/coro/clock.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/trace/event.h"
#include "drydock/fabric/trace/flight_file.h"
#include "drydock/fabric/trace/posted_work.h"
#include "drydock/fabric/trace/regions.h"

namespace drydock::fabric::trace {

struct RecorderOptions {
  TraceInfo info;
  // Events that are kept for Take, parts among them; those that come later are only counted.
  std::size_t capacity = 0;
  // Also keeps the last ones in a file that survives an abort; where that cannot be made, it does
  // without.
  bool flight = true;
};

// Thread-safe. Outlives everything that records into it. Blocking: a lock that is never held for
// long.
class Recorder {
 public:
  explicit Recorder(const RecorderOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // --- Time: nanoseconds since the recording began; never decreases ---
  // Goes on with `clock`, which has shown `start` when it was where the recorder is now; null: it
  // stands still. At first the machine's monotonic clock.
  void UseClock(const coro::Clock* clock, coro::Time start);
  std::int64_t Now() const;

  // --- Names. Ids of tracks, texts and objects are never 0. ---
  // Tells what is recorded, where that is known late.
  void Describe(std::string_view backend, bool simulated, bool virtual_time);
  // The machine of this name; a new one, unless there is one.
  std::uint16_t Node(std::string_view name);
  // A number of the NIC of this name of a machine, for the regions below.
  std::uint32_t NicOf(std::uint16_t node, std::string_view name);
  std::uint32_t TrackOf(const Track& track);
  // Arguments of events, as members of a JSON object. `flight`: the flight file has them, too.
  std::uint32_t Text(std::string text, bool flight = true);
  std::uint32_t NewObject();
  // Numbers of `count` operations of a machine: the first, and those after it.
  std::uint64_t NewOperations(std::uint16_t node, std::size_t count = 1);
  // Whether there was one of any machine.
  bool has_operations() const;

  // --- Events ---
  // One, and the parts that belong to it. Events of one call stay together.
  void Record(std::span<const Event> events);
  void Record(const Event& event) { Record({&event, 1}); }

  // --- Facts that one observer records and others need ---
  void AddRegion(std::uint32_t nic, const Regions::Region& region, std::uint64_t local_key,
                 std::uint64_t remote_key);
  void RemoveRegion(std::uint32_t nic, std::uint32_t id, std::uint64_t local_key,
                    std::uint64_t remote_key);
  // Fills object and offset of an event for memory at event.address that `nic` registered, named by
  // this key; the address goes. False: no region is known there, and the address stays.
  bool Locate(std::uint32_t nic, std::uint64_t key, Event& event) const;
  // Of the open endpoint with this address; null: it is not recorded.
  void AddWork(const Address& address, std::shared_ptr<PostedWork> work);
  void RemoveWork(const Address& address);
  std::shared_ptr<PostedWork> WorkOf(const Address& address) const;

  // Everything so far, which is forgotten.
  Recording Take();
  // Empty: there is none.
  std::string flight_path() const { return flight_ == nullptr ? "" : flight_->path(); }

 private:
  const std::size_t capacity_;
  const coro::SteadyClock steady_;
  mutable std::mutex mutex_;  // of what follows
  const coro::Clock* clock_ = &steady_;
  coro::Time start_;
  std::int64_t before_ns_ = 0;  // this clock
  mutable std::int64_t last_ns_ = 0;
  std::unique_ptr<FlightFile> flight_;  // null: none
  Recording recording_;
  std::map<Track, std::uint32_t> tracks_;
  std::uint32_t texts_ = 0;
  std::uint32_t objects_ = 0;
  std::vector<std::uint64_t> operations_;                                // by node: how many
  std::map<std::pair<std::uint16_t, std::string>, std::uint32_t> nics_;  // by node and name
  Regions regions_;
  std::map<std::string, std::shared_ptr<PostedWork>> work_;  // by address
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_RECORDER_H_
