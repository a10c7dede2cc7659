// A hash of the bytes that a request carries, to notice that they have changed.

#ifndef DRYDOCK_SIM_CHECKS_SOURCE_HASH_H_
#define DRYDOCK_SIM_CHECKS_SOURCE_HASH_H_

#include <cstddef>
#include <cstdint>

namespace drydock::sim {

// Different for bytes that differ, but for a chance of about 2^-64. Costs little more than reading
// them. The same on every machine.
std::uint64_t HashSource(const std::byte* bytes, std::uint64_t length, std::uint64_t seed);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_SOURCE_HASH_H_
