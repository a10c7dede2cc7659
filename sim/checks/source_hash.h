// A hash of the bytes that a request carries, to notice that they have changed.

#ifndef SIM_CHECKS_SOURCE_HASH_H_
#define SIM_CHECKS_SOURCE_HASH_H_

#include <cstddef>
#include <cstdint>

namespace sim {

// Different for bytes that differ, but for a chance of about 2^-64. Costs little more than reading
// them. The same on every machine.
std::uint64_t HashSource(const std::byte* bytes, std::uint64_t length, std::uint64_t seed);

}  // namespace sim

#endif  // SIM_CHECKS_SOURCE_HASH_H_
