// Everything that happens in a world, in order: a digest of all of it, and the entries themselves
// for a listener.
//
//   scheduled event comes due ─┐
//   what its handler decides ──┼──► EventLog ──► digest (128 bits), count
//   what a program does ───────┘            └──► listener: run_twice.h, tests
//
// Two runs with one seed have equal logs, with every compiler, option and sanitizer: nothing in an
// entry comes from a pointer.

#ifndef DRYDOCK_SIM_EVENTS_EVENT_LOG_H_
#define DRYDOCK_SIM_EVENTS_EVENT_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "drydock/coro/time.h"
#include "drydock/sim/events/event.h"

namespace drydock::sim {

struct LoggedEvent {
  coro::Duration time{};  // since the world began
  EventKind kind = EventKind::kAlarm;
  // Which way it went. kFetch: the EfaStatus of the local checks. kSend: bit 0 it arrives, bit 1 it
  // was retransmitted, bit 2 it arrives twice. kPlace: 1 when not all of its packet is there yet.
  // kComplete: the EfaStatus.
  std::uint8_t branch = 0;
  std::uint32_t actor = kNoActor;  // index of the NIC
  std::uint32_t packet = 0;        // number and flags; kComplete: the immediate
  // OperationId::Pack. kComplete: queue pair << 16 | request id. kRead: number of the queue.
  // kDeferred, kVisible: number of the action, of the write.
  std::uint64_t operation = 0;
  std::uint64_t bytes = 0;  // kRead: how many completions

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

// Sees every entry.
class EventListener {
 public:
  virtual ~EventListener() = default;
  // `event` has just entered the digest and the count. Called in the midst of the change that it
  // tells of: must not change the world, nor append.
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
    // Two lanes that do not wait for each other; each takes every word.
    digest_.low = Fold(digest_.low ^ what ^ kFirst,
                       (how ^ kSecond) + when * kThird + event.operation * kFirst);
    digest_.high = Fold(digest_.high ^ event.operation ^ kSecond,
                        (when ^ kThird) + what * kFirst + how * kSecond);
    if (listener_ != nullptr) [[unlikely]] {
      listener_->OnLogged(event);
    }
  }

  std::uint64_t count() const { return count_; }
  const Digest& digest() const { return digest_; }

  // Null: none. The listener outlives the log, or is taken away before. A listener that replaces
  // another one forwards to it, and puts it back at its end.
  void set_listener(EventListener* listener) { listener_ = listener; }
  EventListener* listener() const { return listener_; }

 private:
  // Odd, and with about as many ones as zeros.
  static constexpr std::uint64_t kFirst = 0x9fb21c651e98df25ull;
  static constexpr std::uint64_t kSecond = 0xd6e8feb86659fd93ull;
  static constexpr std::uint64_t kThird = 0xa0761d6478bd642full;

  // Both halves of the product of two words.
  static std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  std::uint64_t count_ = 0;
  Digest digest_;
  EventListener* listener_ = nullptr;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_EVENTS_EVENT_LOG_H_
