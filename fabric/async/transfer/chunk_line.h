// The chunks that one NIC was given, in the order in which their pages are posted.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_LINE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_LINE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "drydock/fabric/async/transfer/messages.h"

namespace drydock::fabric::async::transfer {

// A page of the line: it leaves the line when it is posted or handed back, and ends later. A chunk
// has ended when all of its pages have. Not thread-safe.
class ChunkLine {
 public:
  // `most` chunks at once, with ids below that.
  explicit ChunkLine(std::size_t most) : works_(most), line_(std::bit_ceil(most)) {}

  std::size_t most() const { return works_.size(); }
  // REQUIRES: a chunk of this id has ended, or none was added.
  void Add(const Chunk& chunk) {
    works_[chunk.id] = Work{chunk};
    line_[tail_++ & (line_.size() - 1)] = chunk.id;
  }
  // Whether no page is in the line.
  bool empty() const { return head_ == tail_; }
  const Chunk& chunk(std::uint32_t id) const { return works_[id].chunk; }

  // Calls see(chunk, first page, pages) for the pages of each chunk that are in the line, in order,
  // until that returns false.
  template <typename See>
  void Look(See see) const {
    for (std::size_t at = head_; at != tail_; ++at) {
      const Work& work = works_[line_[at & (line_.size() - 1)]];
      if (!see(work.chunk, work.chunk.first + work.left, work.chunk.count - work.left)) return;
    }
  }
  // The next page leaves the line. REQUIRES: not empty().
  ChunkPage Take() {
    Work& work = works_[line_[head_ & (line_.size() - 1)]];
    const ChunkPage page{work.chunk.id, work.chunk.first + work.left};
    if (++work.left == work.chunk.count) ++head_;
    return page;
  }
  // A page of this chunk has ended; whether the chunk has, by that.
  bool EndPage(std::uint32_t id) { return ++works_[id].ended == works_[id].chunk.count; }

 private:
  struct Work {
    Chunk chunk;
    std::uint32_t left = 0;  // the line: the first so many pages
    std::uint32_t ended = 0;
  };

  std::vector<Work> works_;          // by the chunk's id
  std::vector<std::uint32_t> line_;  // ids of chunks with pages in the line: a ring
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_CHUNK_LINE_H_
