// What happens to the memory that a world has freed, in a process that makes one after the other.

#ifndef DRYDOCK_SIM_WORLD_FREED_MEMORY_H_
#define DRYDOCK_SIM_WORLD_FREED_MEMORY_H_

namespace drydock::sim {

// Called for each world in virtual time that is no guest (WorldOptions). A process that makes a
// second one mostly makes many: from then on up to 256 MiB of freed memory stay with it, for the
// next world. By default glibc gives the top of its heap back from 128 KiB on, and takes it again,
// page by page: where a world happens to lie there, and a page fault is dear, as in some virtual
// machines, thousands of small ones take up to twenty times as long.
//
// A process with one world keeps glibc's ways: memory that it frees while a NIC uses it is gone, as
// without us. Thread-safe; does nothing with other C libraries.
void KeepFreedMemoryFromTheSecondWorld();

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_WORLD_FREED_MEMORY_H_
