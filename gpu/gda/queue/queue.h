// A queue pair that a device can drive: where its rings and doorbells are, and what a peer is
// called in them. Plain values, for host and device code.
//
//   ../sim_queue.h        from a simulated NIC   ┐
//   ../libfabric_queue.h  from libfabric on EFA  ┴─► QueueView ─MapQueue─► a GPU's view
//                                                     device_queue.h drives it ◄─┘
//
// The formats of entries are those of fabric/efa_queue. The names are those of libfabric's
// fi_efa_ops_gda (ofiwg/libfabric prov/efa/src/fi_ext_efa.h).

#ifndef DRYDOCK_GPU_GDA_QUEUE_QUEUE_H_
#define DRYDOCK_GPU_GDA_QUEUE_QUEUE_H_

#include <cstdint>
#include <type_traits>

#include "drydock/fabric/efa_queue/ring.h"

namespace drydock::gpu::gda {

// Where a doorbell is rung: one 32-bit store of the running counter of posted entries (low 16
// bits).
//
// A register of a NIC takes every store. A word in memory keeps only the last one: its reader (a
// simulated NIC, or a host that rings in a device's place) says in `taken` which value it took, and
// no thread rings again before it did. Null: a register.
struct Bell {
  std::uint32_t* word = nullptr;
  const std::uint32_t* taken = nullptr;
};

// What a doorbell in memory holds while nothing was rung: no counter of 16 bits.
inline constexpr std::uint32_t kNotRung = 0xFFFFFFFF;

// A ring that the device fills.
struct WorkRing {
  void* entries = nullptr;        // send: memory of the NIC's; receive: of the host's
  std::uint32_t entry_count = 0;  // a power of two; receive: descriptors
  std::uint32_t entry_bytes = 0;  // send: 64 or 128; receive: 16
  std::uint32_t max_batch = 0;    // entries that may be written between two doorbells
  Bell bell;
};

// A ring that the NIC fills. It is as long as it is: what overruns it is lost.
struct DoneRing {
  const void* entries = nullptr;
  std::uint32_t entry_count = 0;  // a power of two
  std::uint32_t entry_bytes = 0;  // 16 or 32
};

struct QueueView {
  WorkRing send;
  WorkRing receive;  // entries are null where there is none
  DoneRing send_done;
  DoneRing receive_done;  // entries are null where there is none
  std::uint16_t number = 0;
  bool long_request_ids = false;  // request ids of 64 bits, not 16
};
static_assert(std::is_trivially_copyable_v<QueueView>);

// What a peer's queue pair is called in work requests.
struct PeerView {
  std::uint16_t address_handle = 0;
  std::uint16_t queue_pair = 0;
  std::uint32_t qkey = 0;
};
static_assert(std::is_trivially_copyable_v<PeerView>);

// How far the device has come. Lives in memory that outlives kernels; one kernel at a time takes it
// (DeviceQueue), and puts it back.
struct QueueState {
  fabric::efa_queue::Producer send{1, 1};
  fabric::efa_queue::Producer receive{1, 1};
  fabric::efa_queue::CompletionConsumer send_done{1};
  fabric::efa_queue::CompletionConsumer receive_done{1};
  // What was written to a bell, and whether it is known to have been taken.
  std::uint32_t send_rung = 0;
  std::uint32_t receive_rung = 0;
  bool send_bell_free = true;
  bool receive_bell_free = true;
};
static_assert(std::is_trivially_copyable_v<QueueState>);

// The state of a queue that has not been used.
inline QueueState FreshState(const QueueView& view) {
  using namespace fabric::efa_queue;  // NOLINT(build/namespaces)
  QueueState state;
  state.send = Producer(view.send.entry_count, view.send.max_batch);
  state.send_done = CompletionConsumer(view.send_done.entry_count);
  if (view.receive.entries != nullptr) {
    state.receive = Producer(view.receive.entry_count, view.receive.max_batch);
    state.receive_done = CompletionConsumer(view.receive_done.entry_count);
  }
  return state;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_QUEUE_QUEUE_H_
