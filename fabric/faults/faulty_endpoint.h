// An endpoint whose posts are refused, and whose operations fail, as the rules say.

#ifndef DRYDOCK_FABRIC_FAULTS_FAULTY_ENDPOINT_H_
#define DRYDOCK_FABRIC_FAULTS_FAULTY_ENDPOINT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/peer_directory.h"
#include "drydock/fabric/faults/queue_core.h"
#include "drydock/fabric/faults/session.h"
#include "drydock/fabric/forwarding.h"
#include "drydock/fabric/more_to_come.h"

namespace drydock::fabric::faults {

// Posts that are refused with kAgain for a while: of the send queue or of the receive queue. Ends
// when the program has read the completion queue, as on a real device, or after a number of
// attempts, whichever the rule names.
class Refusal {
 public:
  // Refuses until the queue was read more than `polls` times.
  void UntilPolledAfter(std::uint64_t polls) {
    until_polled_ = true;
    polls_ = polls;
  }
  // Refuses this many posts, then lets one pass.
  void Attempts(std::int64_t attempts) {
    attempts_ = attempts;
    pass_ = attempts == 0;
  }

  // Whether a post is refused now.
  bool Refuses(std::uint64_t polls) {
    if (until_polled_ && polls == polls_) return true;
    if (attempts_ > 0) {
      --attempts_;
      pass_ = attempts_ == 0;
      return true;
    }
    pass_ = pass_ || until_polled_;
    until_polled_ = false;
    return false;
  }

  // Whether this is the post that was refused: it goes through, whatever the rules say.
  bool TakePass() {
    const bool pass = pass_;
    pass_ = false;
    return pass;
  }

  bool active() const { return until_polled_ || attempts_ > 0 || pass_; }

 private:
  bool until_polled_ = false;
  std::uint64_t polls_ = 0;
  std::int64_t attempts_ = 0;
  bool pass_ = false;
};

// An endpoint that asks the rules about each request before the fabric below gets it: a post may be
// refused, an accepted operation may never be given to the fabric, or complete in another way.
// Powers are forwarded untouched: no rule acts on their posts, and rules act on their completions
// only by kind. Only a batch (MoreToCome) is rung at each post where a rule may keep an operation
// from the fabric below: were that the last one, nothing would ring for those before it. Ownership:
// owns the wrapped endpoint, shares the cores of its queues. Threads: as
// the wrapped endpoint.
class FaultyEndpoint final : public ForwardingEndpoint, private MoreToCome {
 public:
  FaultyEndpoint(std::unique_ptr<Endpoint> wrapped, std::shared_ptr<Session> session,
                 std::shared_ptr<QueueCore> send_queue, std::shared_ptr<QueueCore> receive_queue,
                 std::shared_ptr<PeerDirectory> peers, std::string nic);
  ~FaultyEndpoint() override;

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
  void SetMoreToCome(bool /*more*/) override {}  // in the place of the fabric's own: see above

  template <typename Request>
  PostResult Post(std::span<const Request> requests);
  template <typename Request>
  ErrorCode PostOne(const Request& request);
  template <typename Request>
  ErrorCode PostTracked(const Request& request, const EventView& view);
  // Fills the fields that selectors can ask for. False when the request's peer is not in the
  // address vector: the fabric refuses such a request.
  template <typename Request>
  bool Look(const Request& request, EventView& view) const;

  // The fabric's own.
  PostResult Forward(std::span<const SendRequest> requests) { return wrapped().Send(requests); }
  PostResult Forward(std::span<const RecvRequest> requests) { return wrapped().Recv(requests); }
  PostResult Forward(std::span<const WriteRequest> requests) { return wrapped().Write(requests); }
  PostResult Forward(std::span<const ReadRequest> requests) { return wrapped().Read(requests); }

  // Its queues show nothing of it any more.
  void Forget();

  // Begins to refuse, as the rule says; returns the answer of this post.
  static ErrorCode Refuse(const Firing& firing, std::uint64_t polls, Refusal& refusal);

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<QueueCore> send_queue_;
  const std::shared_ptr<QueueCore> receive_queue_;
  const std::shared_ptr<PeerDirectory> peers_;
  const std::string nic_;
  const std::uint32_t number_;
  OperationSet concerned_;  // kinds that some rule may do something to
  EndpointState state_;
  Refusal sends_;
  Refusal receives_;
  bool closed_ = false;
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_FAULTY_ENDPOINT_H_
