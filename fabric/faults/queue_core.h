// Between the fabric's completion queue and the program: completions that fail, wait or vanish
// here.
//
//   endpoint ──Track──► token ──► fabric below ──► completion with the token ──► faults ──► program
//        └──CompleteUnposted───────────────────────────────────────────────────► held ────┘

#ifndef DRYDOCK_FABRIC_FAULTS_QUEUE_CORE_H_
#define DRYDOCK_FABRIC_FAULTS_QUEUE_CORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/faults/event.h"
#include "drydock/fabric/faults/held_completions.h"
#include "drydock/fabric/faults/session.h"
#include "drydock/fabric/faults/tracked_operations.h"

namespace drydock::fabric::faults {

// The state of a queue that its endpoints share: either may go first. Not thread-safe: endpoints
// and their queues belong to one thread.
class QueueCore : public std::enable_shared_from_this<QueueCore> {
 public:
  // By which a domain finds the core of a queue that it is given, through other wrappers.
  static constexpr PowerId kPower{"fabric::faults::QueueCore"};

  QueueCore(std::shared_ptr<Session> session, std::string nic);

  // ---- For endpoints ----

  // Whether operations of this kind are posted with a token.
  bool Tracks(OperationKind kind) const { return tracked_.Has(kind); }

  // The token to post the operation with. Untrack takes it back when the post was refused;
  // otherwise SetFaults sets the outcome.
  Context Track(const TrackedOperation& operation) { return operations_.Add(operation); }
  void Untrack(Context token) { operations_.Remove(token); }
  void SetFaults(Context token, const OperationFaults& faults) {
    operations_.Find(token)->faults = faults;
  }

  // The operation was accepted, and fails without having been posted. REQUIRES: its outcome fires.
  void CompleteUnposted(const TrackedOperation& operation);

  // An endpoint receives here, until Forget.
  void Receives(EndpointState* endpoint) { receivers_.push_back(endpoint); }

  // The endpoint closes: nothing of it is seen any more. Of several endpoints that receive here,
  // nobody can tell whose a held arrival is: those are seen.
  void Forget(EndpointState* endpoint);

  // How often the queue was read with room.
  std::uint64_t polls() const { return polls_; }

  // ---- For the queue ----

  ReadResult Read(CompletionQueue& below, std::span<Completion> entries);
  // The words for a failure that a rule has made; empty for others.
  std::string ErrorText(const Completion& completion) const;
  void Wait(BlockingWait& below, coro::Time deadline);

 private:
  enum class Verdict : std::uint8_t { kSeen, kGone };

  // How many entries a read may have; 0: the queue looks empty.
  std::size_t RoomOf(std::size_t room);
  std::size_t TakeDue(std::span<Completion> entries);
  // Applies the decided outcomes to entries that were read; returns how many are left, in front.
  std::size_t Filter(std::span<Completion> entries);
  Verdict Judge(Completion& completion);
  Verdict JudgeTracked(Completion& completion);
  Verdict JudgeArrived(Completion& completion);
  Verdict Apply(const OperationFaults& faults, EndpointState* endpoint, Completion& completion);
  void Remember(const Completion& completion, const FaultRule* rule);

  // An error that a rule has made and the last read has shown.
  struct Injected {
    std::optional<Context> context;
    std::int32_t provider_error;
    const FaultRule* rule;
  };

  const std::shared_ptr<Session> session_;
  const std::string nic_;
  const std::uint32_t number_;
  OperationSet tracked_;
  OperationSet arrivals_;  // kinds whose completions are judged when they are read
  bool idle_ = true;       // no rule concerns this queue
  TrackedOperations operations_;
  HeldCompletions held_;
  std::vector<EndpointState*> receivers_;
  std::vector<Injected> injected_;
  std::uint64_t polls_ = 0;
  bool more_ = false;  // the last read left something that could have been read
};

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_QUEUE_CORE_H_
