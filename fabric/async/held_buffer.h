// A piece of a buffer that keeps something with it until its last share is gone.
//
//   BufferRef piece = HoldWhileUsed(BufferSlice(buffer, 0, 4096), std::move(permit));
//
// Operations in flight have a share in their buffer until their completion was read, whatever
// becomes of the coroutine that started them. So the thing that the piece keeps, such as a place in
// a pool or among the operations under way, goes when the program *and* the NIC are done with the
// piece.

#ifndef DRYDOCK_FABRIC_ASYNC_HELD_BUFFER_H_
#define DRYDOCK_FABRIC_ASYNC_HELD_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "drydock/coro/check.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/memory.h"

namespace drydock::fabric::async {

// The piece as a region: the keys of the whole, which it shares. Closed with the whole only.
template <typename Hold>
class HeldRegion final : public MemoryRegion {
 public:
  HeldRegion(BufferSlice piece, Hold hold) : piece_(std::move(piece)), hold_(std::move(hold)) {}

  std::byte* data() const override { return piece_.local().data; }
  std::size_t length_bytes() const override { return piece_.local().length_bytes; }
  Access access() const override { return whole().access(); }
  std::uint64_t local_key() const override { return piece_.local().local_key; }
  RemoteBuffer remote() const override {
    return whole().Remote(static_cast<std::size_t>(data() - whole().data()));
  }

  // kUnimplemented: the rest of the buffer belongs to others.
  absl::Status Close() override {
    return absl::UnimplementedError("a piece of a buffer is closed with the whole");
  }

 private:
  MemoryRegion& whole() const { return piece_.buffer()->region(); }

  const BufferSlice piece_;
  Hold hold_;  // goes first: the piece is still there
};

// `piece` as a buffer of its own, with a share in the one that it is a piece of. `hold` is
// destroyed with the last share, on the loop's thread. REQUIRES: the piece has a buffer.
template <typename Hold>
BufferRef HoldWhileUsed(BufferSlice piece, Hold hold) {
  DD_CHECK(piece.buffer() != nullptr, "holding something with a piece of nothing");
  auto region = std::make_unique<HeldRegion<Hold>>(std::move(piece), std::move(hold));
  return BufferRef(std::make_unique<RegisteredBuffer>(nullptr, std::move(region)));
}

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_HELD_BUFFER_H_
