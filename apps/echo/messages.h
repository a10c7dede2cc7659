// Shared by both kinds of echo: options, contents of messages, results.

#ifndef DRYDOCK_APPS_ECHO_MESSAGES_H_
#define DRYDOCK_APPS_ECHO_MESSAGES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/time.h"

namespace drydock::apps::echo {

inline constexpr std::uint64_t kMostMessageBytes = 16u << 20;

struct EchoOptions {
  std::uint64_t message_bytes = 64;  // 1 to kMostMessageBytes
  std::uint64_t count = 1000;        // round trips, one after the other
  // How long one round trip, or the other side's next move, may take.
  coro::Duration timeout = std::chrono::seconds(10);
};

// What a client has seen so far. A trip counts when its message came back right.
struct EchoReport {
  std::uint64_t round_trips = 0;
  coro::Duration total{};  // of all round trips
  coro::Duration fastest = coro::Duration::max();

  void Add(coro::Duration round_trip);
};

// "1000 round trips of 64 B, 62.5 KiB each way in 18.4 ms: 18.4 us each, 15.1 us at best".
std::string Describe(const EchoReport& report, const EchoOptions& options);

// A line of output; `label` is its first word: tcp, rdma.
using Log = std::function<void(absl::string_view label, absl::string_view text)>;

// The bytes of the message with this number: no two in a row are alike, so that an old one shows.
void FillMessage(std::uint64_t number, std::span<std::byte> message);

// kDataLoss, with the first place that differs.
absl::Status CheckMessage(std::uint64_t number, std::span<const std::byte> message,
                          std::uint64_t expected_bytes);

}  // namespace drydock::apps::echo

#endif  // DRYDOCK_APPS_ECHO_MESSAGES_H_
