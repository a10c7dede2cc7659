// Posting to a libfabric endpoint: the contract's data path, with nothing between it and the
// provider but a slot.

#ifndef FABRIC_LIBFABRIC_LIBFABRIC_ENDPOINT_H_
#define FABRIC_LIBFABRIC_LIBFABRIC_ENDPOINT_H_

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fabric/endpoint.h"
#include "fabric/libfabric/libfabric_domain.h"
#include "fabric/libfabric/request_slots.h"

namespace fabric::libfabric {

class LibfabricEndpoint final : public Endpoint {
 public:
  // Opens, binds and enables. On failure everything that was opened is closed again.
  static absl::StatusOr<std::unique_ptr<Endpoint>> Open(const Limits& limits,
                                                        std::shared_ptr<QueueCore> send_queue,
                                                        std::shared_ptr<QueueCore> receive_queue,
                                                        std::shared_ptr<VectorCore> peers);

  ~LibfabricEndpoint() override { Close().IgnoreError(); }

  PostResult Send(std::span<const SendRequest> requests) override;
  PostResult Recv(std::span<const RecvRequest> requests) override;
  PostResult Write(std::span<const WriteRequest> requests) override;
  PostResult Read(std::span<const ReadRequest> requests) override;
  const Limits& limits() const override { return limits_; }
  Address address() const override { return address_; }
  absl::Status Close() override;

 private:
  LibfabricEndpoint(const Limits& limits, std::shared_ptr<QueueCore> send_queue,
                    std::shared_ptr<QueueCore> receive_queue, std::shared_ptr<VectorCore> peers,
                    Handle<fid_ep> endpoint, const Address& address);

  // Whether a request may be posted at all; kOk, or why not.
  ErrorCode Check(Peer peer, std::size_t length_bytes, std::uint64_t most_bytes) const;

  // Posts one request through `post(slot, more)`, which calls the provider.
  template <typename Post>
  ErrorCode PostOne(RequestSlots& slots, std::optional<Context> context, OperationKind kind,
                    bool more, Post post);

  // Declared in the order in which they must go: the endpoint closes first.
  std::shared_ptr<QueueCore> send_queue_;
  std::shared_ptr<QueueCore> receive_queue_;
  std::shared_ptr<VectorCore> peers_;
  std::unique_ptr<RequestSlots> sends_;
  std::unique_ptr<RequestSlots> receives_;
  Handle<fid_ep> endpoint_;
  const Limits limits_;
  const Address address_;
};

}  // namespace fabric::libfabric

#endif  // FABRIC_LIBFABRIC_LIBFABRIC_ENDPOINT_H_
