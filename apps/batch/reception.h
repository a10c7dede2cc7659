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

// The first caller that greets as a sender does. Each caller is heard by itself, as long as there
// are no more than kMostCallers or the process's descriptors allow: others wait for a place. One
// that speaks, and is no sender, is told so; those that are still being heard when the sender is
// found are cut off. kDeadlineExceeded: no sender has come by then; others as coro::Accept, but a
// lack of descriptors only where no caller has any. `listener` outlives it.
coro::Task<absl::StatusOr<Caller>> AwaitSender(const coro::Descriptor& listener, LogLine log,
                                               coro::Time deadline);

// Tells a caller why nothing comes of it, in a few seconds at most. `peer` outlives it.
coro::Task<> Refuse(const coro::Descriptor& peer, absl::Status why);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_RECEPTION_H_
