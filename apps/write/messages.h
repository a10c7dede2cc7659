// What client and server say to each other, besides the writes themselves.
//
//   client                                   server
//     CONNECT  address, two regions      ->    inserts the client
//     REQUEST  seed, pages, where to     ->    writes the pages
//                                        <-    REFUSED why, if it will not
//
// Every message starts with a magic number, a version, its type and a session number that the
// client chose, so that a stray or old message is recognised.

#ifndef DRYDOCK_APPS_WRITE_MESSAGES_H_
#define DRYDOCK_APPS_WRITE_MESSAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/common/page_data.h"
#include "drydock/fabric/address.h"
#include "drydock/fabric/capability.h"
#include "drydock/fabric/memory.h"

namespace drydock::apps::write {

inline constexpr std::size_t kRegionBytes = 16u << 20;
inline constexpr std::size_t kMessageBytes = 8u << 10;  // of a message buffer: no message is longer
inline constexpr std::uint64_t kDefaultPageCount = 8;   // per region
inline constexpr std::uint32_t kRemoteContext = 0x123;  // the immediate that announces writes

// What both sides need of their NIC.
inline constexpr std::array kNeededCapabilities = {fabric::Capability::kMessages,
                                                   fabric::Capability::kRemoteWrite,
                                                   fabric::Capability::kImmediateData};

// Which writes carry the immediate.
enum class CompletionMode : std::uint8_t {
  kCount = 0,  // all: the client counts them
  kLast = 1,   // only the last: wrong where writes are not ordered
};

// count, last: what --completion takes.
const char* NameOf(CompletionMode mode);

// A region of the client's memory, as the server may write to it.
struct RemoteRegion {
  fabric::RemoteBuffer remote;
  std::uint64_t length_bytes = 0;
};

struct ConnectMessage {
  std::uint64_t session = 0;
  fabric::Address address;
  std::array<RemoteRegion, kRegionCount> regions;
};

// Write these pages.
struct RandomFillMessage : PageList {
  std::uint64_t session = 0;
  std::uint32_t remote_context = kRemoteContext;
  CompletionMode completion = CompletionMode::kCount;
};

// What it asks for, for a person: "8 pages of 1 MiB into each of 2 regions, data seed 0x2a, ...".
std::string Describe(const RandomFillMessage& request);

// How many announcements a client that asked this waits for.
std::uint64_t ExpectedAnnouncements(const RandomFillMessage& request);

struct RefusedMessage {
  std::uint64_t session = 0;
  std::string reason;
};

using Message = std::variant<ConnectMessage, RandomFillMessage, RefusedMessage>;

// At most kMessageBytes. REQUIRES: what CheckRequest accepts, and a reason of at most 1 KiB.
std::vector<std::byte> Encode(const Message& message);

// kInvalidArgument: truncated, corrupt, or not a message of this version. Safe for any bytes.
absl::StatusOr<Message> Decode(std::span<const std::byte> bytes);

// Whether a request makes sense for regions of this size, and fits a message. Errors: those of
// CheckPages.
absl::Status CheckRequest(const PageList& list, std::uint64_t region_bytes);

}  // namespace drydock::apps::write

#endif  // DRYDOCK_APPS_WRITE_MESSAGES_H_
