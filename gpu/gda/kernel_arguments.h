// What kernels are told. What they tell: device/kernel_report.h.

#ifndef DRYDOCK_GPU_GDA_KERNEL_ARGUMENTS_H_
#define DRYDOCK_GPU_GDA_KERNEL_ARGUMENTS_H_

#include <cstdint>
#include <type_traits>

#include "drydock/gpu/gda/device/kernel_report.h"
#include "drydock/gpu/gda/queue/channel.h"
#include "drydock/gpu/gda/queue/transfer.h"
#include "drydock/gpu/gda/shared_queue.h"

namespace drydock::gpu::gda {

enum class Kernel : std::uint8_t {
  kPut,          // PutArguments, one thread
  kWriteLoop,    // LoopArguments, one thread
  kTeamWrites,   // LoopArguments, one block
  kBlockWrites,  // BlockArguments, any number of blocks that are resident together
  kFillBytes,    // BytesArguments, one block
  kCountWrong,   // BytesArguments, one block
  kBareLoop,     // LoopArguments, one thread: for measuring only (bare_loop.h)
  // Of the device library (device/kernels.h):
  kPortPuts,           // PortPutsArguments, any number of blocks of one warp
  kPingPong,           // PingPongArguments, one block on each of two ranks at once
  kMoeDispatch,        // MoeArguments, on all ranks at once
  kMoeCombine,         // the same
  kMoeDispatchCopies,  // MoeCopiesArguments: the same by stores into the memory of peers
  kMoeCombineCopies,
};
inline constexpr int kKernels = 13;

// put(raddr, src, n, lkey, rkey): blocking.
struct PutArguments {
  ChannelView channel;
  Transfer transfer;
  std::uint64_t timeout_ns = 0;  // of every wait; 0: for ever
  KernelReport* report = nullptr;
};

// `count` transfers: number i is `first`, moved on by (i % places) * stride on both sides.
struct Series {
  Transfer first;
  std::uint64_t count = 0;
  std::uint64_t places = 1;
  std::uint64_t stride = 0;  // bytes

  DD_HOST_DEVICE DD_HOT Transfer At(std::uint64_t i) const {
    Transfer transfer = first;
    const std::uint64_t offset = (i % places) * stride;
    transfer.local += offset;
    transfer.remote += offset;
    return transfer;
  }
};

// How far each is from the first, one after the other, without a division for each: those take a
// GPU's thread longer than a post.
class SeriesCursor {
 public:
  DD_HOST_DEVICE explicit SeriesCursor(const Series& series) : series_(series) {}

  DD_HOST_DEVICE DD_HOT std::uint64_t Take() {
    const std::uint64_t offset = offset_;
    offset_ += series_.stride;
    if (++place_ == series_.places) place_ = offset_ = 0;
    return offset;
  }

 private:
  const Series& series_;
  std::uint64_t place_ = 0;
  std::uint64_t offset_ = 0;
};

struct LoopArguments {
  ChannelView channel;
  Series series;
  std::uint32_t batch = 1;  // completed together, before the next; 0: only at the end
  std::uint64_t timeout_ns = 0;
  KernelReport* report = nullptr;
};

struct BlockArguments {
  SharedView queue;
  Series series;
  std::uint64_t timeout_ns = 0;
  KernelReport* reports = nullptr;  // one a block
};

struct BytesArguments {
  unsigned char* bytes = nullptr;
  std::uint64_t length = 0;
  std::uint32_t value = 0;  // of each byte
  KernelReport* report = nullptr;
};

static_assert(std::is_trivially_copyable_v<PutArguments>);
static_assert(std::is_trivially_copyable_v<LoopArguments>);
static_assert(std::is_trivially_copyable_v<BlockArguments>);
static_assert(std::is_trivially_copyable_v<BytesArguments>);

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_KERNEL_ARGUMENTS_H_
