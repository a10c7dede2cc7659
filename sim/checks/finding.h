// A finding of the simulator's checks: a rule that the program broke, where, and how often.

#ifndef DRYDOCK_SIM_CHECKS_FINDING_H_
#define DRYDOCK_SIM_CHECKS_FINDING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "drydock/coro/time.h"

namespace drydock::sim {

// A rule that no program may break on EFA, whatever it is good for.
enum class Check : std::uint8_t {
  // A completion queue has room for everything that may complete before the program reads it. The
  // device protects no queue: an entry that finds it full is lost, and the slot of its request with
  // it (ofiwg/libfabric prov/efa/docs/efa_fabric_comparison.md).
  kCompletionQueueCapacity,
  // A post that answered kAgain is tried again after its completion queue was read: only reading
  // frees the slots of a send queue (ofiwg/libfabric prov/efa/src/rdm/efa_rdm_ope.c and issue 8825:
  // a program that only retries waits for ever).
  kAgainWithoutReading,
  // A request that was accepted ends in exactly one completion (fi_cq(3); ofiwg/libfabric
  // fabtests/prov/efa/src: completions are counted against posts). Holds the simulator to its word.
  kConservation,
  // Bytes are touched inside a live registration only, with its rights, of its domain and by its
  // own key (fi_mr(3)). Holds the simulator to its word.
  kBounds,
  // Until the completion of a request in flight was read, the bytes that it carries do not change,
  // and nothing else writes the bytes that it writes (fi_rma(3), fi_msg(3): the buffer belongs to
  // the provider until then).
  kBufferRace,
  // A write's immediate is reported when all of its bytes are in memory (fi_cq(3);
  // FI_REMOTE_CQ_DATA of fi_rma(3)). Holds the simulator to its word.
  kImmediateVisibility,
  // A registration is closed when every request that names it has ended, here and at the peers
  // (ofiwg/libfabric fabtests/prov/efa/src, mr_abort: those that meet a closed one fail).
  kUseAfterDeregister,
  // Objects are closed at the end of the program: the device's numbers, and the memory that it
  // pins, are few.
  kLeaks,
  // A request that was refused with kAgain is tried again, and one that was accepted is not:
  // nothing in the network tells a second post of the same operation from the first
  // (fabric/endpoint.h).
  kRetryIdempotence,
  // A context names one operation at a time; on EFA the provider even keeps the operation's peer
  // and flags in it (ofiwg/libfabric man/fi_getinfo.3, FI_CONTEXT2).
  kContextOwnership,
  // An object that waits for a completion, above all a coroutine's awaiter, lives until it was
  // read, or hands its context over (fabric/context_owner.h).
  kAwaiterLifetime,
  // A completion queue in use is read now and then: on EFA nothing else makes progress or frees a
  // slot (ofiwg/libfabric man/fi_cq.3).
  kCompletionQueueService,
  // Opt-in: writes in flight that a receiver has to tell apart have different immediates
  // (aws/aws-ofi-nccl 1a70558: sequence numbers that wrapped).
  kImmediateNamespace,
  // An address names one life of an endpoint, and both sides insert each other before the first
  // read or write (ofiwg/libfabric issue 11054).
  kPeerIncarnation,
  // A program that polls does so for something that can come.
  kProgress,
  // The result of a program does not depend on the order in which a network delivers.
  kOrderIndependence,
  // A region is used only for the access that it was registered for (fi_mr(3)). EFA's device knows
  // one right only, so that nothing else tells (ofiwg/libfabric prov/efa/src/efa_mr.c).
  kLocalRights,
  // Objects that a program has promised to use from one thread at a time are used so: an endpoint
  // with its completion queues (fabric/endpoint.h), a queue pair in a thread domain or of
  // libfabric's, a completion queue of a single thread (ibv_alloc_td(3), ibv_create_cq_ex(3),
  // FI_THREAD_DOMAIN of fi_domain(3)).
  kOneThread,
  // A batch that was begun is rung for, or given up (ibv_wr_complete and ibv_wr_abort of
  // ibv_wr_post(3): before it nothing is sent).
  kWorkNotRung,
  // A program reads its completions (ibv_poll_cq(3): a queue that is full loses them).
  kUnreadCompletions,
  // An address handle stays until every request posted with it has completed: the device flushes
  // the rest (linux-rdma/rdma-core providers/efa/verbs.c, ofiwg/libfabric prov/efa/src/efa_errno.h,
  // status 1).
  kHandleInUse,
  // Opt-in: a message whose receiver had no receive posted, until the retries were over, is sent
  // again, or it is lost (rnr_retry of ibv_modify_qp(3), FI_OPT_EFA_RNR_RETRY of fi_efa(7)).
  kReceiverNotReady,
  // Every event that was taken is acknowledged before its queue is destroyed, which otherwise waits
  // for ever (ibv_get_cq_event(3)).
  kUnacknowledgedEvents,
};

// As reports and scripts name it: "completion-queue-capacity".
std::string_view Name(Check check);

// Whether the rule is broken by the call that a program is in when the check finds it. Other rules
// are seen to be broken by the device, which works while the program does anything.
bool IsBrokenByACall(Check check);

// One broken rule at one place. The same again counts.
struct Finding {
  Check check = Check::kCompletionQueueCapacity;
  coro::Duration first{};   // since the world began
  std::string where;        // "server/rdmap79s0"
  std::uint32_t queue = 0;  // number of the completion queue or queue pair that the check is about
  std::string what;         // the rest of the sentence, for a person
  std::uint64_t times = 1;
};

// "completion-queue-capacity: server/rdmap79s0: completion queue 3 of 16 entries was full (12
// times, first after 1200000 ns)". One line.
std::string ToText(const Finding& finding);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_FINDING_H_
