// Whether this process and another one can read each other's memory; reads that of the other one.

#ifndef DRYDOCK_SIM_HOSTS_MEMORY_ACCESS_H_
#define DRYDOCK_SIM_HOSTS_MEMORY_ACCESS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "drydock/sim/hosts/neighbour_context.h"
#include "drydock/sim/hosts/presence.h"
#include "drydock/sim/memory/segment.h"

namespace drydock::sim {

// Not thread-safe: belongs to the world of this process. Each process probes the other's memory and
// writes the answer into its own slot of the directory, where the other one looks.
class MemoryAccess {
 public:
  // Both outlive it.
  MemoryAccess(NeighbourContext& context, const Presence& presence)
      : context_(context), presence_(presence) {}

  // Another incarnation is present: looks whether its memory can be read. It learns the answer.
  void Appear();
  // Looks again if a read has failed: the rights may be gone, not the bytes alone.
  void Recheck();
  // No incarnation is present: no memory can be read.
  void Vanish();

  // Whether the other process reads `length` bytes of payload where they are, in our host memory:
  // not up to 4 KiB, which are copied faster.
  bool MayReadUs(std::uint64_t length) const;

  // The incarnation whose messages may say where payload is in its memory; 0: none may.
  std::uint32_t PayloadOwner() const { return presence_.is_far() ? 0 : presence_.incarnation(); }
  // Copies bytes [range) of `sources`, pieces of the memory of `incarnation`, laid end to end, to
  // `target`, which is host memory or a device's, as NIC `into` does (NicState::index). False: not
  // all of them can be had any more, and those at `target` are undefined.
  bool Read(std::uint32_t incarnation, std::span<const Segment> sources, Range range,
            std::byte* target, std::uint32_t into);

 private:
  void Probe();
  void Tell(std::uint32_t readable);
  bool ReadPiece(const Segment& source, std::byte* target, std::uint32_t into);

  NeighbourContext& context_;
  const Presence& presence_;
  std::int32_t pid_ = 0;
  std::uint32_t readable_ = 0;  // the incarnation whose memory can be read; 0: none
  bool doubtful_ = false;       // something of it could not be read
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_MEMORY_ACCESS_H_
