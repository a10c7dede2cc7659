// Queue pairs: the host driver for the rings of a simulated queue pair, as the verbs interface
// shows them. It writes entries of the hardware's format and rings.

#ifndef DRYDOCK_SIM_VERBS_QUEUE_PAIR_H_
#define DRYDOCK_SIM_VERBS_QUEUE_PAIR_H_

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/receive_wqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/device/one_thread.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/driver/request_slots.h"
#include "drydock/sim/verbs/completion_queue.h"
#include "drydock/sim/verbs/newer_abi.h"
#include "drydock/sim/verbs/objects.h"
#include "drydock/sim/verbs/telling.h"

namespace drydock::sim::verbs {

// A work request that a program builds call by call, and its errno so far. The bytes of an inline
// one are kept here.
struct BuiltWork {
  fabric::efa_queue::SendWork work;
  std::uint64_t wr_id = 0;
  std::array<std::uint8_t, kMostInlineBytes> inline_data{};
};

class QueuePair;
struct Counter;

// Functions that a program takes out of the queue pair (efadv_qp_from_ibv_qp_ex).
struct QueuePairFunctions : QpFunctions {
  QueuePair* queue_pair = nullptr;
};

// How far a doorbell in memory was looked at.
struct RungBell {
  std::uint32_t seen = 0;       // the value that was there last
  std::uint32_t announced = 0;  // the last counter that made sense, low 16 bits
  // The program has written to it. Read without the context's mutex, too.
  std::atomic<bool> moved{false};

  void Restart(std::uint32_t value) {
    seen = announced = value;
    moved = false;
  }
};

class QueuePair : public ibv_qp_ex {
 public:
  // `device_pair` lives until DestroyQueuePair. REQUIRES: the context's mutex is held, as for all
  // that does not say otherwise.
  QueuePair(Context& owner, sim::QueuePair& device_pair, const ibv_qp_init_attr_ex& attr,
            Queue& sends, Queue& receives);
  // LeaveNic comes first.
  ~QueuePair();

  Context& owner() const { return owner_; }
  sim::QueuePair& device() const { return device_; }
  Queue& send_queue() const { return sends_; }
  Queue& receive_queue() const { return receives_; }
  const ibv_qp_cap& cap() const { return cap_; }
  // Whether it was created with send_ops_flags, and has the functions of ibv_qp_ex.
  bool extended() const { return extended_; }
  QueuePairFunctions& functions() { return functions_; }

  // --- Posting. An errno, or 0: EINVAL: wrong state, flags or segments; ENOMEM: the ring is full.
  // Nothing is rung before Ring.
  int CheckSend(unsigned flags) const;
  // EINVAL where the program has rung the sends' doorbell itself.
  int CheckSendDoorbell() const;
  int PostSend(BuiltWork& built);
  int PostReceive(const ibv_recv_wr& request);
  void RingSends();
  void RingReceives();
  // Moves it. In RESET it forgets all that was posted, and is to the checks and the trace as one
  // that has closed.
  void Enter(ibv_qp_state state);
  // Destroys it on the NIC; nothing looks at its doorbells then. The program keeps this handle.
  void LeaveNic();
  // The program is done with it: forgets its completions, and tells the checks and the trace.
  void Close();
  // How many more sends the ring takes.
  std::uint32_t free_sends() const { return send_producer_.free(); }

  // A completion of this queue pair was read: its slots are free. Returns its wr_id; 0 of an
  // unsolicited one.
  std::uint64_t Ended(const fabric::efa_queue::Completion& entry);

  // --- The program may drive the rings itself (mapped_queues.cc). From the first MapRings on, the
  // host's thread looks at the doorbells; once one of them has moved, nothing is posted to its ring
  // here any more (EINVAL).
  struct Doorbells {
    alignas(64) std::uint32_t send = 0;
    alignas(64) std::uint32_t receive = 0;
  };
  Doorbells& MapRings();
  // Before a post: the host's thread may not have looked yet at what the program has rung.
  void NoteDoorbells();
  bool mapped() const { return doorbells_ != nullptr; }
  bool driven() const { return rung_sends_.moved || rung_receives_.moved; }

  // --- Completion counters: `counter` counts these operations (kCountSends...) from now on. 0, or
  // an errno: EBUSY: another counter counts one of them.
  int Attach(Counter& counter, std::uint32_t operations);

  // --- Work requests that are built call by call, between wr_start and wr_complete: by one thread
  // at a time, which holds `building`. No mutex is needed.
  std::mutex building;
  std::vector<BuiltWork> built;
  int build_error = 0;
  std::atomic<std::uint32_t> unrung{0};  // requests of the session that is open

  // --- What the driver keeps, and the device does not know ---
  std::uint32_t sq_psn = 0;

  // --- For the checks ---
  Opened opened;
  bool told_ready = false;
  OneThread sending;    // the thread that posts sends, or has a session
  OneThread receiving;  // the thread that posts receives

 private:
  void Reset();
  // The doorbells have the value of the rings' counters.
  void RestartDoorbells();
  // Takes the doorbells' values; returns whether there was one.
  bool TakeDoorbells();
  void NoteMoved(RungBell& bell, std::uint32_t value);

  Context& owner_;
  sim::QueuePair& device_;
  Queue& sends_;
  Queue& receives_;
  ibv_qp_cap cap_;
  QueuePairFunctions functions_;
  const bool extended_;
  const bool all_signalled_;
  RequestSlots send_slots_;
  RequestSlots receive_slots_;
  fabric::efa_queue::Producer send_producer_;
  fabric::efa_queue::Producer receive_producer_;
  std::uint32_t unrung_receives_ = 0;     // that were posted since the last ring
  std::unique_ptr<Doorbells> doorbells_;  // null: not mapped
  RungBell rung_sends_;
  RungBell rung_receives_;
  int watch_ = 0;  // the host's number for it; 0: not mapped
  std::vector<Counter*> counters_;
  std::uint32_t counted_ = 0;  // operations that one of them counts
};

inline QueuePair& QueuePairOf(ibv_qp_ex* queue_pair) {
  return *static_cast<QueuePair*>(queue_pair);
}
// The interface has two structures for a queue pair, of which the longer one begins with the other.
inline QueuePair& QueuePairOf(ibv_qp* queue_pair) {
  return QueuePairOf(reinterpret_cast<ibv_qp_ex*>(queue_pair));
}

// The functions that a context carries: results and errors as in ibv_create_qp_ex(3),
// ibv_post_send(3), ibv_post_recv(3).
ibv_qp* CreateQueuePair(ibv_context* context, ibv_qp_init_attr_ex* attr);
int PostSends(ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr** bad);
int PostReceives(ibv_qp* queue_pair, ibv_recv_wr* request, ibv_recv_wr** bad);

// The functions of ibv_wr_...(3), for the operations that `send_ops` names, and of efadv_wr_...(3),
// for the settings that `efa_settings` names.
void FillWorkRequestFunctions(QueuePair& queue_pair, std::uint64_t send_ops,
                              std::uint64_t efa_settings);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_QUEUE_PAIR_H_
