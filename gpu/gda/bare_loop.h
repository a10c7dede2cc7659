// The least that a thread can do to write through a ring, with nothing looked after: what the
// kernels of kernels.h are measured against. It knows that nothing fails, that the ring never
// fills, and that completions come one for one; do not use it for anything else.

#ifndef DRYDOCK_GPU_GDA_BARE_LOOP_H_
#define DRYDOCK_GPU_GDA_BARE_LOOP_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/queue.h"
#include "drydock/gpu/gda/queue/transfer.h"

namespace drydock::gpu::gda {

// Nothing on a GPU; on the host, now and then, the NIC's thread may need this processor.
class YieldingWait {
 public:
#if defined(__CUDA_ARCH__)
  DD_HOST_DEVICE void Look() {}
#else
  DD_HOST_DEVICE void Look() { patience_.Over(); }

 private:
  Patience patience_{0};
#endif
};

// `count` times the same write, `batch` at a time; `count` is a multiple. Returns nanoseconds.
DD_HOST_DEVICE inline std::uint64_t BareLoop(const QueueView& view, QueueState* state,
                                             const PeerView& peer, const Transfer& transfer,
                                             std::uint64_t count, std::uint32_t batch) {
  using fabric::efa_queue::Word;
  const std::uint64_t start = Nanoseconds();
  alignas(8) Word entry[8];
  fabric::efa_queue::EncodeSend(WorkOf(transfer, peer, 0), {}, 0, entry);
  const std::uint64_t phase_bit = std::uint64_t{1} << 24;
  auto* const ring = static_cast<volatile Word*>(view.send.entries);
  const auto* const done = static_cast<const Word*>(view.send_done.entries);
  const std::uint32_t words = view.send_done.entry_bytes / 8;
  std::uint32_t posted = state->send.posted();
  std::uint32_t consumed = state->send_done.consumed();
  for (std::uint64_t left = count; left > 0; left -= batch) {
    for (std::uint32_t i = 0; i < batch;) {
      const std::uint32_t rest = batch - i;
      const std::uint32_t some = rest < view.send.max_batch ? rest : view.send.max_batch;
      for (const std::uint32_t end = i + some; i < end; ++i, ++posted) {
        volatile Word* const slot = ring + 8 * (posted & (view.send.entry_count - 1));
        slot[0] = entry[0] | ((posted & view.send.entry_count) != 0 ? phase_bit : 0);
        for (unsigned word = 1; word < 8; ++word) slot[word] = entry[word];
      }
      if (i > some) {  // not the first doorbell of this batch
        YieldingWait wait;
        while (LoadShared(view.send.bell.taken) != ((posted - some) & 0xFFFF)) wait.Look();
      }
      SystemFence();
      StoreFencedBell(view.send.bell.word, posted & 0xFFFF);
    }
    consumed += batch;
    const std::uint32_t last = consumed - 1;  // entries come in the order of the ring
    const std::uint32_t slot = last & (view.send_done.entry_count - 1);
    const bool phase = (last & view.send_done.entry_count) == 0;
    YieldingWait wait;
    while (((fabric::efa_queue::LoadPublishedWord(done, slot * words) & phase_bit) != 0) != phase) {
      wait.Look();
    }
  }
  const auto all = static_cast<std::uint32_t>(count);
  state->send.Post(all);
  state->send_rung = state->send.Ring();
  state->send.Complete(all);
  state->send_done.Pop(all);
  return Nanoseconds() - start;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_BARE_LOOP_H_
