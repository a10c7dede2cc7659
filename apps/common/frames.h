// Whole messages over a stream: each with its length in front. The reader trusts nothing.

#ifndef DRYDOCK_APPS_COMMON_FRAMES_H_
#define DRYDOCK_APPS_COMMON_FRAMES_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/descriptor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"

namespace drydock::apps {

// `to` outlives the task. Errors: kInvalidArgument, over 4 GiB; those of coro::WriteAll.
coro::Task<absl::Status> SendFrame(const coro::Descriptor& to, std::vector<std::byte> message,
                                   coro::Time deadline);

// The next message, of at most `most_bytes`. kInvalidArgument: it says that it is longer; others as
// coro::ReadAll. `from` outlives the task.
coro::Task<absl::StatusOr<std::vector<std::byte>>> ReceiveFrame(const coro::Descriptor& from,
                                                                std::size_t most_bytes,
                                                                coro::Time deadline);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_FRAMES_H_
