// The key of a network of several computers, in a file: who can read it may join.

#ifndef DRYDOCK_SIM_HOSTS_SOCKETS_KEY_H_
#define DRYDOCK_SIM_HOSTS_SOCKETS_KEY_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "drydock/sim/hosts/sockets/mac.h"

namespace drydock::sim {

// The key in a file of 32 hexadecimal digits. kNotFound: there is no such file. kPermissionDenied:
// somebody else may read it, or it is somebody else's. kInvalidArgument: it holds no key.
absl::StatusOr<Key> ReadKey(const std::string& file);

// The same, of a file that is made where there is none: mode 0600, a key that nobody knows.
// kUnavailable: it cannot be made.
absl::StatusOr<Key> ReadOrMakeKey(const std::string& file);

// Bytes that nobody can guess, of the kernel.
void FillRandomly(std::span<std::byte> bytes);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SOCKETS_KEY_H_
