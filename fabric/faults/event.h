// The events that may be faulted: the points at which a plan is asked, and the facts known there.

#ifndef DRYDOCK_FABRIC_FAULTS_EVENT_H_
#define DRYDOCK_FABRIC_FAULTS_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

#include "drydock/coro/time.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::faults {

// A set of operation kinds. A value.
class OperationSet {
 public:
  constexpr OperationSet() = default;
  constexpr OperationSet(std::initializer_list<OperationKind> kinds) {
    for (const OperationKind kind : kinds) Add(kind);
  }
  static constexpr OperationSet All() {
    OperationSet all;
    all.bits_ = (1u << (static_cast<unsigned>(OperationKind::kAtomic) + 1)) - 1;
    return all;
  }

  constexpr void Add(OperationKind kind) { bits_ |= Bit(kind); }
  constexpr void Add(OperationSet other) { bits_ |= other.bits_; }
  constexpr bool Has(OperationKind kind) const { return (bits_ & Bit(kind)) != 0; }
  constexpr bool Has(OperationSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }

  friend constexpr bool operator==(OperationSet, OperationSet) = default;

 private:
  static constexpr std::uint32_t Bit(OperationKind kind) {
    return 1u << static_cast<unsigned>(kind);
  }

  std::uint32_t bits_ = 0;
};

// Where in the life of a fabric a plan is asked. At each point at most one rule fires.
enum class Point : std::uint8_t {
  kOpenDomain,
  kOpenAddressVector,
  kOpenCompletionQueue,
  kOpenEndpoint,
  kOpenCounter,
  kRegisterMemory,
  kInsertPeer,
  kCapacity,  // a queue gets its size
  kPost,      // one request is about to be posted; every attempt is an event
  kBatch,     // several requests are about to be posted by one call
  kOutcome,   // how an operation ends: decided when it was accepted; for what peers cause, when its
              // completion is read
  kTiming,    // when its completion can be seen; decided together with the outcome
  kRead,      // a completion queue is about to be read
  kWait,      // a thread is about to sleep on a completion queue
  kPlacement,  // how the device places an operation's bytes: decided when it takes the request
  kPacket,     // a packet leaves
  kMachine,    // a NIC or a link is looked at, before a packet leaves
};
inline constexpr std::size_t kPointCount = static_cast<std::size_t>(Point::kMachine) + 1;

// Which end of an operation an event belongs to.
enum class Direction : std::uint8_t {
  kAny,        // of a selector only: both of these
  kInitiator,  // the side that posted it
  kTarget,     // the side whose memory or receive it goes to
};

// The size that is being decided at Point::kCapacity.
enum class Capacity : std::uint8_t { kSendQueue, kReceiveQueue, kInject, kCompletionQueue };

// The known facts of an event. Absent: unknown, or without meaning at this point; a selector that
// asks for it does not match. A value, made for one question.
struct EventView {
  coro::Duration time{};  // since the run began
  std::string_view nic;   // its name, maybe "machine/name"; empty: not of one NIC
  // Number of the endpoint, in the order of opening; at kRead, kWait and kOpenCompletionQueue of
  // the completion queue.
  std::optional<std::uint32_t> queue;
  // Index of the peer's address in the order of first insertion into its address vector, from 0; in
  // the simulated device into any vector of its NIC, or, where nobody inserts addresses, in the
  // order of the NIC's first requests to them.
  std::optional<std::uint32_t> peer;
  std::optional<OperationKind> operation;
  std::optional<std::uint64_t> key;  // of the remote memory
  std::optional<std::uint64_t> size_bytes;
  std::optional<std::uint32_t> immediate;
  Direction direction = Direction::kInitiator;
  bool signalled = true;             // it has a context
  std::optional<Capacity> capacity;  // at kCapacity: of what
};
static_assert(std::is_trivially_destructible_v<EventView>);

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_EVENT_H_
