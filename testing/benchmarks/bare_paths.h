// The two limits that no simulator can beat: a copy, and the least that a NIC in a process can do.

#ifndef DRYDOCK_TESTING_BENCHMARKS_BARE_PATHS_H_
#define DRYDOCK_TESTING_BENCHMARKS_BARE_PATHS_H_

#include <memory>

#include "drydock/testing/benchmarks/write_path.h"

namespace drydock::bench {

// memcpy and nothing else, over the same ranges of the same buffers.
std::unique_ptr<WritePath> MakeMemcpyPath(const Buffers& buffers);

// The floor: builds a 64-byte work request in a ring, looks its key up in a table and checks
// bounds and rights, copies, writes a completion into either side's ring, and polls both rings by
// their phase bits.
std::unique_ptr<WritePath> MakeFloorPath(const Buffers& buffers);

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_BARE_PATHS_H_
