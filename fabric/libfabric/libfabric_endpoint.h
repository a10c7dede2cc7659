// Posting to a libfabric endpoint: the contract's data path, with nothing between it and the
// provider but a slot.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_ENDPOINT_H_
#define DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_ENDPOINT_H_

#include <rdma/fi_rma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "drydock/fabric/atomics.h"
#include "drydock/fabric/cancel.h"
#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/libfabric/atomic_limits.h"
#include "drydock/fabric/libfabric/endpoint_opening.h"
#include "drydock/fabric/libfabric/libfabric_domain.h"
#include "drydock/fabric/libfabric/request_slots.h"
#include "drydock/fabric/tagged_messages.h"

namespace drydock::fabric::libfabric {

// Whether a range reaches past the last address, or to it. No region is like that, and shm's target
// would crash over it (libfabric 1.17).
inline bool WrapsAround(const RemoteBuffer& place, std::size_t length_bytes) {
  return place.address + length_bytes < length_bytes;
}

// Begins a cache line, as its queue and its slots do: each post writes there, and its neighbour in
// memory may be another thread's.
class alignas(64) LibfabricEndpoint final : public Endpoint,
                                            private TaggedMessages,
                                            private Cancel,
                                            private Atomics {
 public:
  LibfabricEndpoint(EndpointParts parts, OpenedEndpoint opened);
  ~LibfabricEndpoint() override { Close().IgnoreError(); }

  PostResult Send(std::span<const SendRequest> requests) override;
  PostResult Recv(std::span<const RecvRequest> requests) override;
  PostResult Write(std::span<const WriteRequest> requests) override;
  PostResult Read(std::span<const ReadRequest> requests) override;
  const Limits& limits() const override { return limits_; }
  Address address() const override { return address_; }
  absl::Status Close() override;
  void* QueryPower(const PowerId& power) override;

 private:
  PostResult SendTagged(std::span<const TaggedSendRequest> requests) override;
  PostResult RecvTagged(std::span<const TaggedRecvRequest> requests) override;
  ErrorCode CancelReceive(Context context) override;
  ErrorCode Atomic(const AtomicRequest& request) override;
  std::size_t MaxAtomicBytes(AtomicOperation operation, AtomicType type,
                             bool fetching) const override;

  // Whether a request may be posted at all; kOk, or why not.
  ErrorCode Check(const SendRequest& request) const;
  ErrorCode Check(const RecvRequest& request) const;
  ErrorCode Check(const WriteRequest& request) const;
  ErrorCode Check(const ReadRequest& request) const;
  ErrorCode Check(const TaggedSendRequest& request) const;
  ErrorCode Check(const TaggedRecvRequest& request) const;
  ErrorCode Check(const AtomicRequest& request) const;
  ErrorCode CheckInject(std::size_t length_bytes, std::size_t most_bytes) const;
  bool LacksKey(const LocalBuffer& buffer, std::span<const LocalBuffer> more = {}) const;
  ErrorCode CheckSource(Peer source) const;

  // One request, which was checked, to the provider. `flags`: FI_MORE, or none.
  ssize_t PostOne(const SendRequest& request, void* slot, std::uint64_t flags);
  ssize_t PostOne(const RecvRequest& request, void* slot, std::uint64_t flags);
  ssize_t PostOne(const WriteRequest& request, void* slot, std::uint64_t flags);
  ssize_t PostOne(const ReadRequest& request, void* slot, std::uint64_t flags);
  ssize_t PostOne(const TaggedSendRequest& request, void* slot, std::uint64_t flags);
  ssize_t PostOne(const TaggedRecvRequest& request, void* slot, std::uint64_t flags);
  ssize_t PostOne(const AtomicRequest& request, void* slot, std::uint64_t flags);

  // One request, which was checked, in a slot. REQUIRES: one is available.
  template <typename Request>
  ErrorCode PostChecked(const Request& request, RequestSlots& slots, OperationKind kind, bool more);
  // All requests that pass their check, with one doorbell.
  template <typename Request>
  PostResult PostBatch(std::span<const Request> requests, RequestSlots& slots, OperationKind kind);
  template <typename Request>
  PostResult PostAll(std::span<const Request> requests, RequestSlots* slots, OperationKind kind);

  // Whether it is a write like most: permitted, signalled, not injected.
  bool IsPlain(const WriteRequest& request) const;
  // The provider's result for a plain write. `more`: another follows at once, if there is a slot
  // for it. REQUIRES: one is available.
  ssize_t PostPlain(const WriteRequest& request, RequestSlots& slots, bool more);
  // Why the provider did not take the request in `write_message_`.
  ErrorCode WriteRefused(ssize_t answer);
  PostResult WriteBurst(std::span<const WriteRequest> requests);
  // Writes that are not plain, or not all of them.
  PostResult WriteAny(std::span<const WriteRequest> requests);

  // Declared in the order in which they must go: the endpoint closes first.
  EndpointParts parts_;
  std::unique_ptr<RequestSlots> sends_;
  std::unique_ptr<RequestSlots> receives_;
  Handle<fid_ep> endpoint_;
  const VectorCore* peers_;  // of parts_
  // Longer than a write may be: by one; 0 when there are no writes, or the endpoint is closed.
  std::uint64_t too_long_to_write_;
  // The arguments of plain writes to the provider: filled in as far as they are all alike.
  fi_rma_iov write_target_{};
  fi_msg_rma write_message_{};
  const CapabilitySet capabilities_;
  const bool needs_keys_ = capabilities_.Has(Capability::kLocalRegistration);
  const Limits limits_;
  const Address address_;
  std::unique_ptr<AtomicLimits> atomic_limits_;  // null without atomics
};

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_LIBFABRIC_ENDPOINT_H_
