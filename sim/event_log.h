// Everything that happens in a world, in order: a digest of all of it, and the entries themselves
// for whoever listens.
//
//   scheduled event comes due ─┐
//   what its handler decides ──┼──► EventLog ──► digest (128 bits), count
//   what a program does ───────┘            └──► listener: run_twice.h, tests
//
// Two runs with one seed have equal logs, with every compiler, option and sanitizer: nothing in an
// entry comes from a pointer.

#ifndef SIM_EVENT_LOG_H_
#define SIM_EVENT_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "coro/time.h"
#include "sim/random.h"

namespace sim {

// Part of the digest: never renumber, only append.
enum class EventKind : std::uint8_t {
  // --- Something scheduled comes due ---
  kTransmit = 1,   // the link of a NIC is free
  kArrive = 2,     // a packet of a peer's operation is here
  kReadData = 3,   // a packet of the answer to our read is here
  kPlaceRest = 4,  // the other piece of a packet's bytes
  kAnswer = 5,     // an operation of ours has ended
  kTimeOut = 6,    // nobody answered
  kLand = 7,       // the other piece of a message
  kRnrRetry = 8,   // a send tries again to find a receive
  kAlarm = 9,      // a driver's timer
  // --- What came of it ---
  kFetch = 10,     // a work request left its ring; branch: EfaStatus, 2 when malformed
  kSend = 11,      // a packet left; branch: bit 0 arrives, bit 1 retransmitted, bit 2 twice
  kPlace = 12,     // bytes reached memory; branch: 1 not all of their packet yet
  kComplete = 13,  // an entry for a completion queue; branch: EfaStatus; packet: the immediate;
                   // operation: queue pair << 16 | request id
  // --- What the program did ---
  kRead = 14,  // completions were read; operation: number of the queue; bytes: how many
  // --- And what a fault plan does by a timer of its own (sim/faults) ---
  kFault = 15,  // operation: number of the timer
  // --- Memory of a device ---
  kVisible = 16,  // it sees what a NIC has written; operation: number of the write
  // --- CPU threads that a program has given its NICs to ---
  kDoorbell = 17,  // one has come to a doorbell; packet: the thread
};

// "place": one word. Static storage.
std::string_view Name(EventKind kind);

// Actors are numbered by World; this one is the world's own timer.
inline constexpr std::uint32_t kNoActor = UINT32_MAX;

struct LoggedEvent {
  coro::Duration time{};  // since the world began
  EventKind kind = EventKind::kAlarm;
  std::uint8_t branch = 0;         // which way it went: see the kinds
  std::uint32_t actor = kNoActor;  // index of the NIC
  std::uint32_t packet = 0;        // number and flags
  std::uint64_t operation = 0;     // OperationId::Pack, or what the kind says
  std::uint64_t bytes = 0;

  friend bool operator==(const LoggedEvent&, const LoggedEvent&) = default;
};

// "after 8421 ns: place: nic 1, operation 17, packet 3, 4096 bytes, branch 1". One line.
std::string ToText(const LoggedEvent& event);

// Of everything that happened, in order.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // 32 hexadecimal digits.
  std::string ToHex() const;

  friend bool operator==(const Digest&, const Digest&) = default;
};

// Told of every entry, after it entered the digest. Must not touch the world.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void OnLogged(const LoggedEvent& event) = 0;
};

// Not thread-safe: belongs to its world. Allocates nothing.
class EventLog {
 public:
  void Append(const LoggedEvent& event) {
    ++count_;
    const std::uint64_t what = std::uint64_t{event.actor} << 32 ^ std::uint64_t{event.packet};
    const std::uint64_t how = static_cast<std::uint64_t>(event.kind) << 56 ^
                              std::uint64_t{event.branch} << 48 ^ event.bytes;
    const auto when = static_cast<std::uint64_t>(event.time.count());
    // Two lanes that take the same words in another order and feed each other.
    digest_.low = Combine(digest_.low ^ what, how + event.operation * kOdd);
    digest_.high = Combine(digest_.high + digest_.low, when ^ how);
    if (listener_ != nullptr) listener_->OnLogged(event);
  }

  std::uint64_t count() const { return count_; }
  const Digest& digest() const { return digest_; }

  // Null: nobody. The listener outlives the log, or is taken away before. Whoever takes the place
  // of another one tells it, and gives it back its place.
  void set_listener(EventListener* listener) { listener_ = listener; }
  EventListener* listener() const { return listener_; }

 private:
  static constexpr std::uint64_t kOdd = 0x9fb21c651e98df25ull;

  std::uint64_t count_ = 0;
  Digest digest_;
  EventListener* listener_ = nullptr;
};

}  // namespace sim

#endif  // SIM_EVENT_LOG_H_
