// The queue formats as device code: compiled to see that they can be, on machines with a CUDA
// toolkit and no GPU. Every function that a GPU would call is called here.

#include <cstdint>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/malformed.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"

namespace drydock::fabric::efa_queue {

// Fills slots of a send ring, one thread a slot, each in a local entry first as for a ring in the
// NIC's memory; then one thread rings.
__global__ void PostWrites(SendWork work, SendFormat format, Producer* ring, void* slots,
                           volatile std::uint32_t* doorbell) {
  alignas(8) unsigned char entry[sizeof(WideWqe)];
  work.request_id += threadIdx.x;
  EncodeSend(work, format, ring->phase(threadIdx.x), entry);
  unsigned char* slot = static_cast<unsigned char*>(slots) +
                        std::size_t{ring->slot(threadIdx.x)} * format.entry_bytes();
  CopyToDeviceRing(slot, entry, format.entry_bytes());
  __syncthreads();
  if (threadIdx.x == 0) {
    ring->Post(blockDim.x);
    __threadfence_system();
    *doorbell = ring->Ring();
  }
}

__global__ void PostReceive(ReceiveWork work, Producer* ring, void* descriptors,
                            volatile std::uint32_t* doorbell) {
  EncodeReceive(work, descriptors, ring->entries(), ring->posted());
  ring->Post(work.segment_count);
  __threadfence_system();
  *doorbell = ring->Ring();
}

// Waits for one completion.
__global__ void PollCompletion(CompletionConsumer* ring, const void* entries, Completion* out,
                               const char** why_not) {
  const auto* entry = static_cast<const ExtendedReceiveCompletion*>(entries) + ring->slot();
  while (!CompletionIsThere(entry, ring->phase())) {
  }
  const Malformed why = DecodeCompletion(entry, CqeSize::k32, ring->phase(), *out);
  if (why != Malformed::kNone) *why_not = MalformedName(why);
  ring->Pop();
}

// The NIC's side, for a GPU that plays one.
__global__ void ServeSendRing(Fetcher* ring, std::uint32_t doorbell, SendFormat format,
                              const void* slots, CompletionProducer* completions, void* entries,
                              const char** why_not) {
  const DoorbellFault fault = ring->Announce(doorbell);
  if (fault != DoorbellFault::kNone) *why_not = DoorbellFaultName(fault);
  for (; ring->pending() != 0; ring->Fetch()) {
    const unsigned char* slot =
        static_cast<const unsigned char*>(slots) + std::size_t{ring->slot()} * format.entry_bytes();
    SendWork work;
    const Malformed why = DecodeSend(slot, format, ring->phase(), work);
    if (why != Malformed::kNone) {
      *why_not = MalformedName(why);
      return;
    }
    Completion completion;
    completion.request_id = work.request_id;
    completion.operation = work.operation;
    EncodeCompletion(completion, CqeSize::k32, completions->phase(),
                     static_cast<ExtendedReceiveCompletion*>(entries) + completions->slot());
    completions->Push();
  }
}

__global__ void ServeReceiveRing(const void* ring, std::uint32_t entries, std::uint32_t counter,
                                 std::uint32_t announced, ReceiveWork* out, Malformed* why) {
  *why = DecodeReceive(ring, entries, counter, announced, kMaxReceiveSegments, *out);
}

}  // namespace drydock::fabric::efa_queue
