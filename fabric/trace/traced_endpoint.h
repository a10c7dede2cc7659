// An endpoint whose posts are recorded.

#ifndef DRYDOCK_FABRIC_TRACE_TRACED_ENDPOINT_H_
#define DRYDOCK_FABRIC_TRACE_TRACED_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drydock/fabric/forwarding.h"
#include "drydock/fabric/tagged_messages.h"
#include "drydock/fabric/trace/posted_work.h"
#include "drydock/fabric/trace/traced_objects.h"
#include "drydock/fabric/trace/traced_session.h"

namespace drydock::fabric::trace {

// Records each post: the requests that were accepted, one event for each that was refused, and
// their segments as parts of known regions. Recording never changes what the wrapped endpoint gets
// or answers. Ownership: owns the wrapped endpoint, shares the pending operations with its queues.
// Threads: as the wrapped endpoint. Tagged messages are recorded too; other powers pass unrecorded.
class TracedEndpoint final : public ForwardingEndpoint, private TaggedMessages {
 public:
  // The queues are those that it was opened with.
  TracedEndpoint(std::unique_ptr<Endpoint> wrapped, std::shared_ptr<TracedSession> session,
                 const std::string& nic, const EndpointOptions& options,
                 const TracedQueue& send_queue, const TracedQueue& receive_queue,
                 const TracedVector& peers);
  ~TracedEndpoint() override;

  using ForwardingEndpoint::Read;
  using ForwardingEndpoint::Recv;
  using ForwardingEndpoint::Send;
  using ForwardingEndpoint::Write;
  PostResult Send(std::span<const SendRequest> requests) override;
  PostResult Recv(std::span<const RecvRequest> requests) override;
  PostResult Write(std::span<const WriteRequest> requests) override;
  PostResult Read(std::span<const ReadRequest> requests) override;
  absl::Status Close() override;
  void* QueryPower(const PowerId& power) override;

 private:
  // --- TaggedMessages ---
  PostResult SendTagged(std::span<const TaggedSendRequest> requests) override;
  PostResult RecvTagged(std::span<const TaggedRecvRequest> requests) override;

  // Posts by `forward(requests)`, and records the results.
  template <typename Request, typename Forward>
  PostResult Post(std::span<const Request> requests, Forward forward);
  template <typename Request>
  void Record(std::span<const Request> requests, const PostResult& result, std::uint64_t first,
              std::int64_t from);
  // Adds the post, as far as the request tells, and its segments; returns where in events_.
  template <typename Request>
  std::size_t Add(const Request& request);
  void AddSegment(const LocalBuffer& buffer);
  // Captures the bytes that it sends or writes, or notes where a read will put them.
  template <typename Request>
  void AddPayload(const Request& request, Event& event);
  void Forget();

  TracedObject object_;
  std::uint32_t send_track_;
  std::uint32_t receive_track_;
  const std::shared_ptr<PendingOperations> sends_;
  const std::shared_ptr<PendingOperations> receives_;
  const Address address_;
  std::shared_ptr<PostedWork> work_;  // null: no device is recorded
  TaggedMessages* tagged_ = nullptr;  // the wrapped endpoint's; null: not asked for, or none
  std::vector<Event> events_;         // of the post under way: its memory is used again
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_TRACED_ENDPOINT_H_
