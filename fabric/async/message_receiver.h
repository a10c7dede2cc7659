// Receives that are always posted, and the messages that came.
//
// A program that posts a receive only when it expects a message makes its peers wait (on EFA: retry
// for ever), and one that times out on a receive leaves it posted. Here a fixed number of receives
// stays posted; the program takes messages when it wants to, and gives up waiting without giving up
// a receive.

#ifndef DRYDOCK_FABRIC_ASYNC_MESSAGE_RECEIVER_H_
#define DRYDOCK_FABRIC_ASYNC_MESSAGE_RECEIVER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/registered_buffer.h"

namespace drydock::fabric::async {

// One message, copied out of its receive buffer.
struct Message {
  std::vector<std::byte> bytes;
  std::optional<std::uint32_t> immediate;
};

// Not thread-safe, not movable. Dies before its endpoint.
class MessageReceiver {
 public:
  // Posts `window` receives of `message_bytes` each into `room`, which holds at least window *
  // message_bytes. While more than `backlog` messages wait to be taken, receives are not posted
  // again, and senders wait: at most `backlog` + `window` wait. REQUIRES: a running loop.
  MessageReceiver(AsyncEndpoint& endpoint, const BufferRef& room, std::size_t window,
                  std::size_t message_bytes, std::size_t backlog);

  // The next message. kDeadlineExceeded: none came in time; the receives stay posted. Another
  // error: receiving has failed, now and for good (the endpoint closed). A message that does not
  // fit a receive is dropped by the NIC or by us, and one that its sender broke off is no message:
  // they are counted, and no errors of the receiver. Nor is a peer's immediate that took a receive
  // (EndpointOptions::receives_take_immediates) a message: the receive is posted again.
  coro::Task<absl::StatusOr<Message>> Next(coro::Time deadline = coro::kNever);

  // Messages that were too long for their receive.
  std::uint64_t truncated() const { return truncated_; }
  // Receives that a message had taken whose sender has gone, or has given it up.
  std::uint64_t broken_off() const { return broken_off_; }

 private:
  // Keeps one receive posted.
  coro::Task<absl::Status> KeepPosted(BufferSlice room);

  AsyncEndpoint& endpoint_;
  const std::size_t backlog_;
  std::deque<Message> messages_;
  absl::Status failure_;
  std::uint64_t truncated_ = 0;
  std::uint64_t broken_off_ = 0;
  coro::WaitList arrived_;
  coro::WaitList taken_;
  coro::Scope receives_;  // last: its tasks use the rest
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_MESSAGE_RECEIVER_H_
