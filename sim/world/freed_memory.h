// What happens to the memory that a world has freed, in a process that makes one after the other.

#ifndef DRYDOCK_SIM_WORLD_FREED_MEMORY_H_
#define DRYDOCK_SIM_WORLD_FREED_MEMORY_H_

namespace drydock::sim {

// From now on up to 256 MiB of it stay with the process, for the next world. By default glibc gives
// the top of its heap back from 128 KiB on, and takes it again, page by page: where a world happens
// to lie there, and a page fault is dear, as in some virtual machines, thousands of small ones take
// up to twenty times as long. Thread-safe; does nothing with other C libraries.
void KeepFreedMemory();

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_WORLD_FREED_MEMORY_H_
