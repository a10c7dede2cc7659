// Regions, queues and address vectors of a traced domain.

#ifndef DRYDOCK_FABRIC_TRACE_TRACED_OBJECTS_H_
#define DRYDOCK_FABRIC_TRACE_TRACED_OBJECTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drydock/fabric/forwarding.h"
#include "drydock/fabric/trace/pending_operations.h"
#include "drydock/fabric/trace/resume_listener.h"
#include "drydock/fabric/trace/traced_session.h"

namespace drydock::fabric::trace {

// A region whose beginning and end are recorded, with its bytes where a capture takes them along.
// Ownership: owns the wrapped region. Threads: as the wrapped one; recording is thread-safe.
class TracedMemoryRegion final : public MemoryRegion {
 public:
  TracedMemoryRegion(std::unique_ptr<MemoryRegion> wrapped, std::shared_ptr<TracedSession> session,
                     const std::string& nic, const MemoryRequest& request);
  ~TracedMemoryRegion() override;

  std::byte* data() const override { return wrapped_->data(); }
  std::size_t length_bytes() const override { return wrapped_->length_bytes(); }
  Access access() const override { return wrapped_->access(); }
  std::uint64_t local_key() const override { return wrapped_->local_key(); }
  RemoteBuffer remote() const override { return wrapped_->remote(); }
  absl::Status Close() override;
  void* QueryPower(const PowerId& power) override { return wrapped_->QueryPower(power); }

 private:
  void Closed();

  const std::unique_ptr<MemoryRegion> wrapped_;
  const std::uint64_t local_key_;
  const std::uint64_t remote_key_;
  TracedObject object_;
  bool known_ = true;
};

// Power of a traced queue: what an endpoint that is opened on it needs in order to record its
// posts. The endpoint copies it, and keeps the shared part alive after the queue is gone.
struct TracedQueue {
  static constexpr PowerId kPower{"fabric::trace::TracedQueue"};

  std::uint32_t track = kNone;   // where its completions are drawn
  std::uint32_t object = kNone;  // its id in the recording
  // Operations of its endpoints whose completion was not read yet.
  std::shared_ptr<PendingOperations> pending = std::make_shared<PendingOperations>();
};

// A queue whose reads are recorded: one event for a Read that found something, one for each
// completion on fabrics whose device is not recorded, and one for each coroutine that a completion
// resumes. A Read that finds nothing records nothing.
class TracedCompletionQueue final : public ForwardingCompletionQueue, private ResumeListener {
 public:
  TracedCompletionQueue(std::unique_ptr<CompletionQueue> wrapped,
                        std::shared_ptr<TracedSession> session, const std::string& nic);

  ReadResult Read(std::span<Completion> entries) override;
  absl::Status Close() override;
  void* QueryPower(const PowerId& power) override;

 private:
  void OnResume(std::size_t index) override;
  void Record(std::span<const Completion> read, const ReadResult& result, std::int64_t from);

  TracedObject object_;
  TracedQueue queue_;
  std::vector<std::uint64_t> last_;  // operations of the last read
  std::vector<Event> events_;        // of the read under way: its memory is used again
};

// Power of a traced address vector: its id, for the endpoints that are opened with it.
struct TracedVector {
  static constexpr PowerId kPower{"fabric::trace::TracedVector"};
  std::uint32_t object = kNone;
};

// An address vector whose peers are recorded as objects, from Insert to Remove, with the address
// that identifies the endpoint on its own machine.
class TracedAddressVector final : public ForwardingAddressVector {
 public:
  TracedAddressVector(std::unique_ptr<AddressVector> wrapped,
                      std::shared_ptr<TracedSession> session, const std::string& nic);

  absl::StatusOr<Peer> Insert(const Address& address) override;
  absl::Status Remove(Peer peer) override;
  absl::Status Close() override;
  void* QueryPower(const PowerId& power) override;

 private:
  const std::shared_ptr<TracedSession> session_;
  const std::string nic_;
  TracedObject object_;
  TracedVector vector_;
  std::map<Peer, std::unique_ptr<TracedObject>> peers_;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_TRACED_OBJECTS_H_
