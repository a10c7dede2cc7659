// The key of a network of several computers, in a file: a process that can read it may join.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_KEY_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_KEY_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/sockets/mac.h"

namespace drydock::sim {

// The key in a file of 32 hexadecimal digits. kNotFound: there is no such file. kPermissionDenied:
// other users may read it, or it belongs to another user. kInvalidArgument: it holds no key.
absl::StatusOr<Key> ReadKey(const std::string& file);

// The same, but makes the file where there is none: mode 0600, with a fresh random key.
// kUnavailable: it cannot be made.
absl::StatusOr<Key> ReadOrMakeKey(const std::string& file);

// Unpredictable bytes from the kernel.
void FillRandomly(std::span<std::byte> bytes);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_KEY_H_
