// Reading another process's memory by cross-memory attach: process_vm_readv, with the rights that a
// debugger needs.

#ifndef DRYDOCK_SIM_HOSTS_CROSS_MEMORY_H_
#define DRYDOCK_SIM_HOSTS_CROSS_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace drydock::sim {

// False when not all of [address, address + length) of process `pid` could be read: its memory is
// not there any more, or we may not. `target` is host memory; its bytes are undefined then.
bool ReadAcross(std::int32_t pid, std::uint64_t address, std::byte* target, std::size_t length);

// Whether we can read that process: there, at `address`, stands `word`. It may be a process of
// another namespace with the same number.
bool CanReadAcross(std::int32_t pid, std::uint64_t address, std::uint64_t word);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_CROSS_MEMORY_H_
