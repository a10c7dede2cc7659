// Random numbers that depend on the owner and the purpose of a draw, never on earlier draws.
//
// Every draw is a hash of (seed, subsystem, entity, purpose, counter). Two consumers share nothing,
// so that a new consumer, or a fault rule that never fires, leaves every other draw as it was. No
// distribution of the standard library is used: theirs differ between implementations. All
// arithmetic is on integers.

#ifndef DRYDOCK_SIM_RANDOM_H_
#define DRYDOCK_SIM_RANDOM_H_

#include <cstdint>

#include "drydock/coro/keyed_random.h"

namespace drydock::sim {

// The drawing part of the simulator. Part of the key: never renumber, only append.
enum class Subsystem : std::uint32_t {
  kNicIdentity = 1,  // GIDs and qkeys
  kEngine = 2,       // which work request a NIC serves next
  kWire = 3,         // delays of packets
  kDriver = 4,       // choices of the host driver
  kPath = 5,         // the constant delay of a path between two NICs
  kKeys = 7,         // where the generations of memory keys begin
  kPlacement = 6,    // the order in which the bytes of a packet reach memory
  kScheduler = 8,    // what a strategy picks (sim/explore/strategy)
};

using coro::Below;
using coro::Combine;
using coro::Mix;

// A source of independent words. A value: copies continue independently from the same point.
class RandomStream {
 public:
  // `entity` is the owner of the stream (a NIC, an operation), `purpose` its use; both count from
  // zero.
  constexpr RandomStream(std::uint64_t seed, Subsystem subsystem, std::uint64_t entity,
                         std::uint64_t purpose)
      : key_(Combine(Combine(Combine(Mix(seed), static_cast<std::uint64_t>(subsystem)), entity),
                     purpose)) {}

  // The next word.
  constexpr std::uint64_t Next() { return At(counter_++); }

  // The word with a given number, whatever was drawn before.
  constexpr std::uint64_t At(std::uint64_t counter) const { return Combine(key_, counter); }

  // The next value from [0, bound). REQUIRES: bound > 0.
  constexpr std::uint64_t NextBelow(std::uint64_t bound) { return Below(Next(), bound); }

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_RANDOM_H_
