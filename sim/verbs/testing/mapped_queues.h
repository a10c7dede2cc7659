// The queues of an End, driven by their memory: no function of the library is called.

#ifndef DRYDOCK_SIM_VERBS_TESTING_MAPPED_QUEUES_H_
#define DRYDOCK_SIM_VERBS_TESTING_MAPPED_QUEUES_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/sim/verbs/newer_functions.h"
#include "drydock/sim/verbs/testing/end.h"

namespace drydock::sim_testing {

// One completion queue, read where it is.
class MappedQueue {
 public:
  // Fails the test when it cannot be mapped.
  explicit MappedQueue(ibv_cq_ex* queue);

  const sim::verbs::CqAttr& attr() const { return attr_; }
  std::optional<fabric::efa_queue::Completion> Poll();
  // Nothing but memory is looked at. Absent: nothing came for a long time.
  std::optional<fabric::efa_queue::Completion> Wait();
  void Arm() { __atomic_store_n(attr_.doorbell, consumer_.Doorbell(true), __ATOMIC_RELEASE); }

 private:
  sim::verbs::CqAttr attr_{};
  fabric::efa_queue::CompletionConsumer consumer_{1};
};

// The two work rings of an end, which outlives them.
class MappedRings {
 public:
  explicit MappedRings(End& end);

  const sim::verbs::WqAttr& sends() const { return sends_; }
  const sim::verbs::WqAttr& receives() const { return receives_; }

  // Written, and not announced. The bytes go to the same offset of the peer.
  void WriteSend(const End& peer, std::uint16_t number, fabric::efa_queue::Operation operation,
                 std::size_t offset, std::uint32_t length);
  // A message to the queue pair with this number, of the machine that this handle means.
  void WriteMessage(std::uint16_t handle, std::uint32_t queue_pair, std::uint16_t number,
                    std::size_t offset, std::uint32_t length);
  void RingSends() { Store(sends_.doorbell, send_producer_.Ring()); }
  // One that was posted by a call, and has ended.
  void SkipSend() {
    send_producer_.Post();
    send_producer_.Ring();
    send_producer_.Complete();
  }
  void SendEnded() { send_producer_.Complete(); }

  void Receive(std::uint16_t number, std::size_t offset, std::uint32_t length);

  static void Store(std::uint32_t* doorbell, std::uint32_t value) {
    __atomic_store_n(doorbell, value, __ATOMIC_RELEASE);
  }

 private:
  fabric::efa_queue::SendWork Work(std::uint16_t number, std::size_t offset, std::uint32_t length);
  void Write(const fabric::efa_queue::SendWork& work);

  End& end_;
  sim::verbs::WqAttr sends_{};
  sim::verbs::WqAttr receives_{};
  fabric::efa_queue::Producer send_producer_{1, 1};
  fabric::efa_queue::Producer receive_producer_{1, 1};
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_VERBS_TESTING_MAPPED_QUEUES_H_
