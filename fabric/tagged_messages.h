// Messages that choose their receive by a tag: a power of endpoints whose NIC has
// Capability::kTaggedMessages.
//
//   auto* tagged = endpoint.power<fabric::TaggedMessages>();
//   if (tagged == nullptr) return ...;   // efa-direct: the device matches nothing

#ifndef DRYDOCK_FABRIC_TAGGED_MESSAGES_H_
#define DRYDOCK_FABRIC_TAGGED_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "drydock/fabric/capability.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric {

struct TaggedSendRequest {
  LocalBuffer buffer;
  Peer peer{};
  std::uint64_t tag = 0;
  std::optional<std::uint32_t> immediate;
  std::optional<Context> context;
  bool inject = false;  // as SendRequest::inject
};

// Takes a message whose tag equals `tag` in every bit that is not set in `ignore`.
struct TaggedRecvRequest {
  LocalBuffer buffer;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  Peer source = kNoPeer;  // as RecvRequest::source
  std::optional<Context> context;
};

static_assert(std::is_trivially_destructible_v<TaggedSendRequest>);
static_assert(std::is_trivially_destructible_v<TaggedRecvRequest>);

// Completions are of kind kTaggedSend and kTaggedReceive; the latter carries the sender's tag.
// Messages of one peer are matched in the order in which they were sent, each to the oldest posted
// receive that fits; a message that fits none waits at the target as unexpected. Tagged and
// untagged messages never match each other. A message longer than its receive fills it, and the
// receive completes with kTruncated. Ownership, threads and errors of a post: as Endpoint's; the
// power lives as long as its endpoint.
class TaggedMessages {
 public:
  static constexpr PowerId kPower{"TaggedMessages"};
  virtual ~TaggedMessages() = default;

  // Post messages with a tag, in order, as Endpoint::Send does.
  virtual PostResult SendTagged(std::span<const TaggedSendRequest> requests) = 0;
  // Post receives that choose by tag, in order, as Endpoint::Recv does. A receive takes the oldest
  // unexpected message that fits, if there is one, and waits for the next otherwise.
  virtual PostResult RecvTagged(std::span<const TaggedRecvRequest> requests) = 0;

  // One request.
  [[nodiscard]] ErrorCode SendTagged(const TaggedSendRequest& request) {
    return SendTagged({&request, 1}).error;
  }
  [[nodiscard]] ErrorCode RecvTagged(const TaggedRecvRequest& request) {
    return RecvTagged({&request, 1}).error;
  }
};

}  // namespace drydock::fabric

#endif  // DRYDOCK_FABRIC_TAGGED_MESSAGES_H_
