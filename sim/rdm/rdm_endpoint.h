// The endpoint that the program sees: it checks requests, and hands them to the protocol.

#ifndef DRYDOCK_SIM_RDM_RDM_ENDPOINT_H_
#define DRYDOCK_SIM_RDM_RDM_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/atomics.h"
#include "drydock/fabric/cancel.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/sim/rdm/counters.h"
#include "drydock/sim/rdm/engine.h"
#include "drydock/sim/rdm/rdm_domain.h"
#include "drydock/sim/rdm/statistics.h"

namespace drydock::sim::rdm {

class RdmEndpoint final : public fabric::Endpoint,
                          public fabric::TaggedMessages,
                          public fabric::Atomics,
                          public fabric::Cancel,
                          public EndpointStatistics {
 public:
  RdmEndpoint(std::shared_ptr<QueueCore> send_queue, std::shared_ptr<QueueCore> receive_queue,
              std::shared_ptr<VectorCore> peers, std::unique_ptr<Engine> engine);
  ~RdmEndpoint() override { Close().IgnoreError(); }

  fabric::PostResult Send(std::span<const fabric::SendRequest> requests) override;
  fabric::PostResult Recv(std::span<const fabric::RecvRequest> requests) override;
  fabric::PostResult Write(std::span<const fabric::WriteRequest> requests) override;
  fabric::PostResult Read(std::span<const fabric::ReadRequest> requests) override;
  const fabric::Limits& limits() const override { return limits_; }
  fabric::Address address() const override { return address_; }
  absl::Status Close() override;
  void* QueryPower(const fabric::PowerId& power) override;

  fabric::PostResult SendTagged(std::span<const fabric::TaggedSendRequest> requests) override;
  fabric::PostResult RecvTagged(std::span<const fabric::TaggedRecvRequest> requests) override;

  fabric::ErrorCode Atomic(const fabric::AtomicRequest& request) override;
  std::size_t MaxAtomicBytes(fabric::AtomicOperation operation, fabric::AtomicType type,
                             bool fetching) const override;

  fabric::ErrorCode CancelReceive(fabric::Context context) override;

  const Statistics& statistics() const override {
    return engine_ != nullptr ? engine_->statistics() : last_statistics_;
  }

 private:
  // Posts each request as `post` does, then rings the device once.
  template <typename Request, typename Post>
  fabric::PostResult PostEach(std::span<const Request> requests, Post post);

  fabric::ErrorCode PostReceive(fabric::Peer source, PostedReceive receive);

  std::shared_ptr<QueueCore> send_queue_;
  std::shared_ptr<QueueCore> receive_queue_;
  std::shared_ptr<VectorCore> peers_;
  std::unique_ptr<Engine> engine_;  // null after Close
  const fabric::Limits limits_;
  const fabric::Address address_;
  const std::size_t operand_bytes_;
  Statistics last_statistics_;
};

// Errors are the device's.
absl::StatusOr<std::unique_ptr<fabric::Endpoint>> OpenRdmEndpoint(
    const std::shared_ptr<DomainCore>& domain, const std::shared_ptr<QueueCore>& send_queue,
    const std::shared_ptr<QueueCore>& receive_queue, const std::shared_ptr<VectorCore>& peers,
    std::optional<std::uint32_t> retries, Counters counters);

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_RDM_ENDPOINT_H_
