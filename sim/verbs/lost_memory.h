// Registered memory that a program has unmapped or protected meanwhile.
//
// On EFA the pages of a region are pinned: the NIC goes on with them, whatever the program does to
// its addresses, and nobody notices. Simulated NICs use the program's own addresses, and so the
// process dies when one of them gets there: with a line that says why.

#ifndef DRYDOCK_SIM_VERBS_LOST_MEMORY_H_
#define DRYDOCK_SIM_VERBS_LOST_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace drydock::sim::verbs {

// A region of a NIC begins and ends. REQUIRES of both: the mutex of the process's host is held.
void RememberRegion(std::uint32_t nic, std::uint32_t key, const void* address, std::size_t length);
void ForgetRegion(std::uint32_t nic, std::uint32_t key);

// From now on the first fault of an access prints the line where the device was at work and the
// address is a region's. Then, as from the second on, SIGSEGV and SIGBUS do what they would have
// done otherwise.
void ExplainLostMemory();

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_LOST_MEMORY_H_
