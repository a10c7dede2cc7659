// The queues and address vectors of a faulty domain.

#ifndef DRYDOCK_FABRIC_FAULTS_FAULTY_OBJECTS_H_
#define DRYDOCK_FABRIC_FAULTS_FAULTY_OBJECTS_H_

#include <memory>
#include <string>

#include "drydock/fabric/error_data.h"
#include "drydock/fabric/faults/peer_directory.h"
#include "drydock/fabric/faults/queue_core.h"
#include "drydock/fabric/faults/session.h"
#include "drydock/fabric/forwarding.h"

namespace drydock::fabric::faults {

// The status of a control call that a rule makes fail: the rule's error code, and a message with
// `what` and the rule's name.
absl::Status ErrorOf(const Firing& firing, absl::string_view what);

// A queue whose completions the rules may fail, delay, drop, duplicate or reorder. It gives back
// the program's contexts, which the fabric below never sees. Ownership: owns the wrapped queue;
// shares its core with the endpoints on it, which may outlive it. Threads and blocking: as the
// wrapped queue; a Wait ends early for a completion that was held back.
class FaultyCompletionQueue final : public ForwardingCompletionQueue,
                                    private BlockingWait,
                                    private ErrorDetails {
 public:
  FaultyCompletionQueue(std::unique_ptr<CompletionQueue> wrapped, std::shared_ptr<QueueCore> core)
      : ForwardingCompletionQueue(std::move(wrapped)), core_(std::move(core)) {}

  ReadResult Read(std::span<Completion> entries) override;
  std::string ErrorText(const Completion& completion) override;
  void* QueryPower(const PowerId& power) override;

 private:
  void Wait(coro::Time deadline) override;
  void ReadErrorData(const Completion& completion, ErrorData& data) override;

  const std::shared_ptr<QueueCore> core_;
  ErrorBuffer error_buffer_;
};

// An address vector whose insertions the rules may refuse, and that numbers its addresses from 0 in
// the order of first insertion, because selectors of a plan name them by that number. Ownership and
// threads: as the wrapped one.
class FaultyAddressVector final : public ForwardingAddressVector {
 public:
  FaultyAddressVector(std::unique_ptr<AddressVector> wrapped, std::shared_ptr<Session> session,
                      std::string nic)
      : ForwardingAddressVector(std::move(wrapped)),
        session_(std::move(session)),
        nic_(std::move(nic)),
        directory_(std::make_shared<PeerDirectory>()) {}

  absl::StatusOr<Peer> Insert(const Address& address) override;
  absl::Status Remove(Peer peer) override;
  void* QueryPower(const PowerId& power) override;

 private:
  const std::shared_ptr<Session> session_;
  const std::string nic_;
  const std::shared_ptr<PeerDirectory> directory_;
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_FAULTY_OBJECTS_H_
