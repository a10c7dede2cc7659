// What two batch processes say to each other, over TCP, before and after the pages: messages with a
// length in front. The parser trusts nothing.

#ifndef DRYDOCK_APPS_BATCH_WIRE_MESSAGES_H_
#define DRYDOCK_APPS_BATCH_WIRE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/batch/load.h"
#include "drydock/fabric/async/transfer/descriptor.h"

namespace drydock::apps::batch {

using fabric::async::transfer::MemoryDescriptor;
using fabric::async::transfer::PeerDescriptor;

// The sender's first message: its load and its descriptor.
struct Hello {
  Hello() = default;  // no aggregate: see docs/coroutine-traps.md
  Load load;          // gpus, nics_per_gpu, page_bytes, pages, window, burst, warm_up
  std::uint64_t seed = 0;
  std::vector<PeerDescriptor> engines;  // by GPU

  std::vector<std::byte> Serialize() const;
  // kInvalidArgument: the message names the wrong field.
  static absl::StatusOr<Hello> Parse(std::span<const std::byte> bytes);
};

// The receiver's answer: where the pages go.
struct Ready {
  Ready() = default;
  std::string refusal;  // not empty: there is nothing else
  std::vector<PeerDescriptor> engines;
  std::vector<MemoryDescriptor> memories;

  std::vector<std::byte> Serialize() const;
  static absl::StatusOr<Ready> Parse(std::span<const std::byte> bytes);
};

// The receiver's last message: the result of its check.
struct Verdict {
  Verdict() = default;
  bool correct = false;
  std::uint64_t duplicates = 0;
  std::string error;  // of the receiver; empty: none

  std::vector<std::byte> Serialize() const;
  static absl::StatusOr<Verdict> Parse(std::span<const std::byte> bytes);
};

// More than any of these has.
inline constexpr std::size_t kMostMessageBytes = std::size_t{1} << 20;

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_WIRE_MESSAGES_H_
