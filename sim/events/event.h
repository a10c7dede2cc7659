// An event of a simulated world: its kind, its time and the actor that it happens to.

#ifndef DRYDOCK_SIM_EVENTS_EVENT_H_
#define DRYDOCK_SIM_EVENTS_EVENT_H_

#include <cstdint>
#include <string_view>

#include "drydock/coro/time.h"

namespace drydock::sim {

// Part of the digest: never renumber, only append.
enum class EventKind : std::uint8_t {
  // --- Scheduled: a timeline hands these to their actor ---
  kTransmit = 1,    // the engine of a NIC may send the next packet
  kArrive = 2,      // a packet of a peer's operation is here
  kReadData = 3,    // a packet of the answer to our read is here
  kPlaceRest = 4,   // the other piece of a packet's bytes
  kAnswer = 5,      // an operation of ours has ended
  kTimeOut = 6,     // the peer has not answered in time
  kLand = 7,        // the other piece of a message
  kRnrRetry = 8,    // a send looks for a receive again
  kAlarm = 9,       // a driver's timer
  kSilence = 10,    // no answer to an operation of ours is under way: its time-out begins
  kDeferred = 11,   // an action that a fault plan has put off
  kVisible = 12,    // a device's memory shows what a NIC has written
  kDoorbell = 13,   // a CPU thread has come to a doorbell
  kNicDies = 14,    // a fault plan ends a NIC,
  kNicResets = 15,  // or restarts it
  // --- Outcomes: the event log records these beside them ---
  kFetch = 20,     // a work request left its ring
  kSend = 21,      // a packet left
  kPlace = 22,     // bytes reached memory
  kComplete = 23,  // an entry for a completion queue
  kRead = 24,      // the program has read completions
};

// "place": one word. Static storage.
std::string_view Name(EventKind kind);

// The index of an actor that is no NIC.
inline constexpr std::uint32_t kNoActor = UINT32_MAX;

class Actor;  // sim/events/actor.h

// One thing that happens to one actor. The meaning of a and b is the actor's own.
struct Event {
  coro::Time time{};
  Actor* actor = nullptr;
  std::uint64_t b = 0;
  std::uint32_t a = 0;
  EventKind kind = EventKind::kAlarm;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_EVENT_H_
