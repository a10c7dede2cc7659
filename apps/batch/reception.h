// The callers of a receiver's port, until one of them greets as a sender does.

#ifndef DRYDOCK_APPS_BATCH_RECEPTION_H_
#define DRYDOCK_APPS_BATCH_RECEPTION_H_

#include <functional>

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
  coro::Descriptor connection;
  Hello hello;
};

// A line for a person or a script.
using LogLine = std::function<void(absl::string_view label, absl::string_view text)>;

// The first caller that greets as a sender does. Each caller is heard by itself: one that says
// nothing holds up no other. Whoever else finds the port is told why not, as far as there is time.
// kDeadlineExceeded: no sender has come by then; others as coro::Accept. `listener` outlives it.
coro::Task<absl::StatusOr<Caller>> AwaitSender(const coro::Descriptor& listener, const LogLine& log,
                                               coro::Time deadline);

// Tells a caller why nothing comes of it, in a few seconds at most. `peer` outlives it.
coro::Task<> Refuse(const coro::Descriptor& peer, absl::Status why);

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_RECEPTION_H_
