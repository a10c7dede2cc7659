// What happens to the memory that a run frees, in a process that runs one seed after the other.

#ifndef DRYDOCK_SIM_EXPLORE_FREED_MEMORY_H_
#define DRYDOCK_SIM_EXPLORE_FREED_MEMORY_H_

namespace drydock::sim::explore {

// From now on up to 256 MiB of it stay with the process, for its next run. By default glibc gives
// the top of its heap back at 128 KiB, and takes it again, page by page: where a world's end
// happens to lie there, a run takes up to ten times as long. Thread-safe; nothing happens with
// other C libraries.
void KeepFreedMemory();

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_FREED_MEMORY_H_
