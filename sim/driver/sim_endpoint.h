// The driver of one queue pair: it turns the contract's requests into work requests in the rings,
// and the NIC's reports into completions.

#ifndef DRYDOCK_SIM_DRIVER_SIM_ENDPOINT_H_
#define DRYDOCK_SIM_DRIVER_SIM_ENDPOINT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "drydock/fabric/efa_queue/cqe.h"
#include "drydock/fabric/efa_queue/ring.h"
#include "drydock/fabric/efa_queue/wqe.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/more_to_come.h"
#include "drydock/sim/device/completion_counters.h"
#include "drydock/sim/device/queue_pair.h"
#include "drydock/sim/driver/domain_core.h"
#include "drydock/sim/driver/domain_counter.h"
#include "drydock/sim/driver/open_object.h"
#include "drydock/sim/driver/queue_access.h"
#include "drydock/sim/driver/queue_core.h"
#include "drydock/sim/driver/request_slots.h"
#include "drydock/sim/driver/vector_core.h"

namespace drydock::sim {

class SimEndpoint final : public fabric::Endpoint, private QueueAccess, private fabric::MoreToCome {
 public:
  // `counters`: what the driver counts; what the device counts is the queue pair's. `raised`: the
  // counters of both, which are busy until it closes.
  SimEndpoint(std::shared_ptr<QueueCore> send_queue, std::shared_ptr<QueueCore> receive_queue,
              std::shared_ptr<VectorCore> peers, QueuePair& queue_pair,
              const fabric::Limits& limits, const CounterSet& counters,
              std::vector<std::shared_ptr<DomainCounter>> raised);
  ~SimEndpoint() override { Close().IgnoreError(); }

  using fabric::Endpoint::Read;
  using fabric::Endpoint::Recv;
  using fabric::Endpoint::Send;
  using fabric::Endpoint::Write;

  fabric::PostResult Send(std::span<const fabric::SendRequest> requests) override;
  fabric::PostResult Recv(std::span<const fabric::RecvRequest> requests) override;
  fabric::PostResult Write(std::span<const fabric::WriteRequest> requests) override;
  fabric::PostResult Read(std::span<const fabric::ReadRequest> requests) override;
  const fabric::Limits& limits() const override { return limits_; }
  fabric::Address address() const override { return address_; }
  absl::Status Close() override;
  void* QueryPower(const fabric::PowerId& power) override;

  // An entry of this endpoint has left its ring.
  void Count(const fabric::efa_queue::Completion& entry) {
    if (counts_) [[unlikely]] {
      CountEntry(entry);
    }
  }
  // Translates an entry of this endpoint; false when there is nothing to tell the program.
  bool Translate(const fabric::efa_queue::Completion& entry, fabric::Completion& completion);

 private:
  void CountEntry(const fabric::efa_queue::Completion& entry);
  // The two kinds of entries, as Translate.
  bool Sent(const fabric::efa_queue::Completion& entry, fabric::Completion& completion);
  bool Received(const fabric::efa_queue::Completion& entry, fabric::Completion& completion);
  static void SayWhy(fabric::efa_queue::CompletionStatus status, fabric::Completion& completion);

  // Posts each request as `fill(request, work)` describes it, ringing once, or as often as the
  // device wants.
  template <typename Request, typename Fill>
  fabric::PostResult PostWork(std::span<const Request> requests, fabric::OperationKind kind,
                              Fill fill);
  void RingSend();
  // The present state of a peer.
  PeerState StateOf(fabric::Peer peer) const;
  // The queue was full; a request was accepted: tells the observers.
  template <typename Request>
  void TellAgain(const Request& request) const;
  template <typename Request>
  void TellPosted(const Request& request, const fabric::efa_queue::SendWork& work) const;

  // The destination; kOk or kUnknownPeer.
  fabric::ErrorCode Address(fabric::Peer peer, fabric::efa_queue::SendWork& work) const;
  fabric::ErrorCode FillSend(const fabric::SendRequest& request, fabric::efa_queue::SendWork& work);
  fabric::ErrorCode FillWrite(const fabric::WriteRequest& request,
                              fabric::efa_queue::SendWork& work) const;
  fabric::ErrorCode FillRead(const fabric::ReadRequest& request,
                             fabric::efa_queue::SendWork& work) const;
  fabric::ErrorCode FillReceive(const fabric::RecvRequest& request,
                                fabric::efa_queue::ReceiveWork& work) const;
  // No byte of it is a device's.
  bool IsHosts(std::span<const fabric::efa_queue::BufferDescriptor> segments) const;
  // Puts a message's bytes into the work request itself.
  void Inline(std::span<const fabric::efa_queue::BufferDescriptor> segments,
              fabric::efa_queue::SendWork& work);

  // --- QueueAccess ---
  Nic& nic() override { return domain_->nic; }
  QueuePair& queue_pair() override { return *queue_pair_; }
  fabric::efa_queue::Producer& send_producer() override { return send_producer_; }
  std::uint16_t AddressHandleOf(fabric::Peer peer) override;

  // --- MoreToCome ---
  void SetMoreToCome(bool more) override { more_to_come_ = more; }

  std::shared_ptr<QueueCore> send_queue_;
  std::shared_ptr<QueueCore> receive_queue_;
  std::shared_ptr<VectorCore> peers_;
  std::shared_ptr<DomainCore> domain_;
  QueuePair* queue_pair_;  // null after Close
  const fabric::Limits limits_;
  OpenObject open_;
  const bool datagram_;
  const bool reads_;   // it may post reads
  const bool writes_;  // the same for writes
  const fabric::Address address_;
  fabric::efa_queue::Producer send_producer_;
  fabric::efa_queue::Producer receive_producer_;  // counts descriptors
  bool more_to_come_ = false;                     // posts do not ring
  bool new_call_ = false;                         // the post call under way has not rung yet
  RequestSlots sends_;
  RequestSlots receives_;
  CounterSet counters_;
  std::vector<std::shared_ptr<DomainCounter>> raised_;
  const bool counts_;
  fabric::efa_queue::SendWork work_;  // of the post under way: filling a used one is faster
  std::array<std::uint8_t, kMostInlineBytes> gathered_{};  // an inline message of several segments
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DRIVER_SIM_ENDPOINT_H_
