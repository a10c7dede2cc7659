// The callers of a receiver's port, until one of them greets as a sender does.

#ifndef DRYDOCK_APPS_BATCH_RECEPTION_H_
#define DRYDOCK_APPS_BATCH_RECEPTION_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/batch/wire_messages.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::apps::batch {

// A connection, and what its other side asks for.
struct Caller {
  Caller(coro::Descriptor connection_, Hello hello_)  // see docs/coroutine-traps.md
      : connection(std::move(connection_)), hello(std::move(hello_)) {}

  coro::Descriptor connection;
  Hello hello;
};

// A line for a person or a script.
using LogLine = std::function<void(absl::string_view label, absl::string_view text)>;

// Callers that are heard at the same time, each for five seconds at most.
inline constexpr std::size_t kMostCallers = 64;

// Returns the first caller that sends a sender's Hello. Callers are heard concurrently,
// kMostCallers or as many as the process has descriptors for; the others wait in the listener's
// backlog. A caller that sends anything else is refused. When the sender is found, callers still
// being heard are cut off. `listener` must outlive the task. kDeadlineExceeded: no sender came by
// `deadline`. Otherwise the errors of coro::Accept; kResourceExhausted only if no caller holds a
// descriptor.
coro::Task<absl::StatusOr<Caller>> AwaitSender(const coro::Descriptor& listener, LogLine log,
                                               coro::Time deadline);

// Tells a caller why nothing comes of it, in a few seconds at most. `peer` outlives it.
coro::Task<> Refuse(const coro::Descriptor& peer, absl::Status why);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_RECEPTION_H_
