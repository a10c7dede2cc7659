// A whole run: two servers, a collector and the clients, each on a simulated
// machine of its own.

#ifndef DRYDOCK_APPS_BLOCKS_RUN_H_
#define DRYDOCK_APPS_BLOCKS_RUN_H_

#include "absl/status/statusor.h"
#include "drydock/apps/blocks/settings.h"

namespace drydock::apps::blocks {

// kInvalidArgument, kNotFound: settings that make no sense; kUnimplemented: the
// NICs of the profile write to no peer; kDeadlineExceeded: it took longer than
// settings.timeout. Other errors: those of the calls, of the barrier, of the
// log.
absl::StatusOr<Report> RunBlocks(const Settings& settings);

}  // namespace drydock::apps::blocks

#endif  // DRYDOCK_APPS_BLOCKS_RUN_H_
