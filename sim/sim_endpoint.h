// The driver of one queue pair: it turns the contract's requests into the NIC's work, and what the
// NIC reports back into completions.

#ifndef SIM_SIM_ENDPOINT_H_
#define SIM_SIM_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "fabric/endpoint.h"
#include "sim/completion_ring.h"
#include "sim/queue_pair.h"
#include "sim/sim_domain.h"

namespace sim {

// The requests that one queue holds: request ids on one side, the program's contexts on the other.
// A slot is free again only when the completion of its request was read from the completion queue,
// as on EFA.
class RequestSlots {
 public:
  explicit RequestSlots(std::size_t depth);

  bool full() const { return free_.empty(); }
  // REQUIRES: not full.
  std::uint16_t Take(std::optional<fabric::Context> context);
  // Frees the slot and returns its context.
  std::optional<fabric::Context> Release(std::uint16_t request_id);

 private:
  std::vector<std::optional<fabric::Context>> contexts_;
  std::vector<std::uint16_t> free_;
};

class SimEndpoint final : public fabric::Endpoint {
 public:
  SimEndpoint(std::shared_ptr<QueueCore> send_queue, std::shared_ptr<QueueCore> receive_queue,
              std::shared_ptr<VectorCore> peers, QueuePair& queue_pair);
  ~SimEndpoint() override { Close().IgnoreError(); }

  fabric::PostResult Send(std::span<const fabric::SendRequest> requests) override;
  fabric::PostResult Recv(std::span<const fabric::RecvRequest> requests) override;
  fabric::PostResult Write(std::span<const fabric::WriteRequest> requests) override;
  fabric::PostResult Read(std::span<const fabric::ReadRequest> requests) override;
  const fabric::Limits& limits() const override { return limits_; }
  fabric::Address address() const override { return address_; }
  absl::Status Close() override;

  // Translates an entry of this endpoint; false when there is nothing to tell the program.
  bool Translate(const DeviceCompletion& entry, fabric::Completion& completion);

 private:
  // Fills the common part of a work request and takes a slot; kOk, or why not.
  fabric::ErrorCode Prepare(fabric::Peer peer, std::optional<fabric::Context> context,
                            SendWork& work);

  // Posts each request as `convert` describes it, with one doorbell.
  template <typename Request, typename Convert>
  fabric::PostResult PostWork(std::span<const Request> requests, Convert convert);

  std::shared_ptr<QueueCore> send_queue_;
  std::shared_ptr<QueueCore> receive_queue_;
  std::shared_ptr<VectorCore> peers_;
  std::shared_ptr<DomainCore> domain_;
  QueuePair* queue_pair_;  // null after Close
  fabric::Address address_;
  fabric::Limits limits_;
  RequestSlots sends_;
  RequestSlots receives_;
  std::vector<SendWork> batch_;  // work of the post under way
  std::vector<ReceiveWork> receive_batch_;
};

}  // namespace sim

#endif  // SIM_SIM_ENDPOINT_H_
