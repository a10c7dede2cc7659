// The chunks that each NIC has, by their ids.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_TABLE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/coro/check.h"
#include "drydock/fabric/async/transfer/balance.h"

namespace drydock::fabric::async::transfer {

struct Transfer;

// A chunk that a NIC has, or is to have.
struct GivenChunk {
  // A page that failed, and the peer's NIC that it was to go to: a scatter's page may have another
  // one before this chunk has ended.
  struct FailedPage {
    std::uint32_t page = 0;
    std::uint16_t remote = 0;
  };

  Transfer* transfer = nullptr;
  Route route;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t attempts = 0;  // that failed before this one
  std::vector<FailedPage> failed;
  std::uint64_t bytes = 0;
  std::uint64_t failed_bytes = 0;
};

// Records and ids are used again: adding a chunk allocates nothing. Not thread-safe.
class ChunkTable {
 public:
  // The next NIC, which has at most so many chunks at a time.
  void AddNic(std::size_t chunks) {
    Nic& nic = nics_.emplace_back();
    nic.chunks.resize(chunks);
    for (std::uint32_t id = 0; id < chunks; ++id) nic.ids.push_back(id);
  }
  // Keeps a copy. Returns its id, one of its route's NIC's. REQUIRES: that NIC has a free one.
  std::uint32_t Add(const GivenChunk& chunk) {
    Nic& nic = nics_[chunk.route.nic];
    DD_CHECK(nic.used < nic.ids.size(), "a NIC is given more chunks than it can have");
    const std::uint32_t id = nic.ids[nic.used++];
    nic.chunks[id] = chunk;
    return id;
  }
  GivenChunk& At(std::size_t nic, std::uint32_t id) { return nics_[nic].chunks[id]; }
  // The id is free again; the record stays until it is taken.
  void Remove(std::size_t nic, std::uint32_t id) { nics_[nic].ids[--nics_[nic].used] = id; }

 private:
  struct Nic {
    std::vector<GivenChunk> chunks;  // by id
    std::vector<std::uint32_t> ids;  // those from place `used` on are free
    std::size_t used = 0;
  };

  std::vector<Nic> nics_;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_TABLE_H_
