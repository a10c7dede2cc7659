// One NIC of an engine: posts the pages that it is given, and reports what becomes of them.
//
//   engine ── commands ──► Rail ── bursts, one doorbell each ──► Endpoint
//          ◄── reports ───      ◄───────── completions ───────── CompletionQueue
//          ◄── arrivals ──      (immediates of peers)
//
// Posting is lazy: a command only waits in its ring; each turn of the loop reads the completion
// queue, and then posts one burst, as far as the window goes. Nothing is shared with other NICs,
// and nothing is allocated for a page.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_RAIL_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_RAIL_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/selector.h"
#include "drydock/coro/time.h"
#include "drydock/coro/timer_queue.h"
#include "drydock/fabric/async/transfer/chunk_line.h"
#include "drydock/fabric/async/transfer/life_sign.h"
#include "drydock/fabric/async/transfer/messages.h"
#include "drydock/fabric/async/transfer/operations.h"
#include "drydock/fabric/async/transfer/paths.h"
#include "drydock/fabric/async/transfer/spsc_ring.h"
#include "drydock/fabric/domain.h"

namespace drydock::fabric::async::transfer {

struct RailOptions {
  // Pages under way at the most; less where the endpoint's send queue is shorter, in which one place
  // is for the question below, or half of the completion queue: the other half is for the immediates
  // of peers.
  std::size_t window = 128;
  std::size_t burst = 16;  // pages posted with one doorbell, at the most kMostBurst
  // When a completion has not come after this long, the NIC is asked whether it is still there: by
  // a write of no bytes to itself. If that does not complete within as long again, the NIC is taken
  // for dead.
  coro::Duration operation_timeout = std::chrono::seconds(5);
  // A NIC that answers waits for a peer that is silent, and says so when it gives it up. How long
  // it tries is not published; this is more than is plausible. A completion that has not come after
  // this long is lost: the NIC is taken for dead, whatever it answers.
  coro::Duration completion_timeout = std::chrono::seconds(75);
  std::size_t completion_queue_depth = 0;  // 0: the provider's default
};

// The counts of a NIC. Read from any thread.
struct RailCounters {
  std::atomic<std::uint64_t> bursts{0};    // posts that took something: doorbells
  std::atomic<std::uint64_t> pages{0};     // that were posted, again or for the first time
  std::atomic<std::uint64_t> again{0};     // posts that were refused for now
  std::atomic<std::uint64_t> stray{0};     // failures without a context, and late completions
  std::atomic<std::uint64_t> overruns{0};  // failures of the completion queue
  std::atomic<std::uint64_t> answers{0};   // signs of life that it was asked for
};

// Owns its queue, address vector and endpoint. Threads: Attach, Detach and Poll on one, the loop's;
// what is under "the engine's side" on one other, or the same.
class Rail final : public coro::Selector {
 public:
  static constexpr std::size_t kMostBurst = 64;

  // Opens queue, address vector and endpoint on `domain`. kInvalidArgument for options out of
  // range; errors of the backend. `index`: its number in Memory's keys.
  static absl::StatusOr<std::unique_ptr<Rail>> Open(Domain& domain, std::size_t index,
                                                    const RailOptions& options);
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;
  // Closes the endpoint: what is under way lands nowhere any more. REQUIRES: detached.
  ~Rail() override;

  // Begins and ends to work on this loop, whose Run is not under way or which calls this.
  void Attach(coro::EventLoop& loop);
  void Detach();

  // --- The engine's side ---
  const Address& address() const { return address_; }
  const NicInfo& nic() const { return nic_; }
  std::size_t window() const { return window_; }
  std::size_t burst() const { return burst_; }
  // Chunks that it may have been given and that have not ended.
  std::size_t most_chunks() const { return line_.most(); }
  const RailCounters& counters() const { return counters_; }
  // REQUIRES: no more chunks than most_chunks(), no more than one introduction at a time.
  void Tell(const Command& command);
  // False: there is nothing new.
  bool TakeReport(Report& report) { return reports_.TryPop(report); }
  bool TakeArrival(std::uint32_t& immediate) { return arrivals_.TryPop(immediate); }

  // --- coro::Selector ---
  std::size_t Poll(std::size_t budget) override;

 private:
  // A timer that calls a member function.
  struct Alarm : coro::TimerNode {
    Alarm(Rail& owner, void (Rail::*function)());
    Rail& rail;
    void (Rail::*const call)();
  };

  // What it works with, and closes: the endpoint first.
  struct Objects {
    std::unique_ptr<CompletionQueue> queue;
    std::unique_ptr<AddressVector> peers;
    std::unique_ptr<Endpoint> endpoint;
  };
  Rail(const NicInfo& nic, std::size_t index, Objects objects, std::size_t window,
       const RailOptions& options);

  std::size_t ReadCompletions(std::size_t budget);
  void Complete(const Completion& completion);
  void EndPage(const ChunkPage& page, const Completion& completion);
  std::size_t TakeCommands();

  // Posts a burst; how many pages were taken, or handed back.
  std::size_t PostBurst();
  // Fills requests_ with the next pages; stops before one that cannot be posted.
  std::size_t Gather(std::size_t most);
  // Notes that the first `count` requests are under way.
  void Accept(std::size_t count);
  // Ends the next page without its being under way. `tried`: the endpoint has refused it.
  void HandBack(ErrorCode error, bool tried);
  void SayFailed(const ChunkPage& page, ErrorCode error, std::int32_t provider_error, bool tried);
  void SayEnded(std::uint32_t chunk);
  void Say(const Report& report);

  // This NIC posts no more.
  void Die(ErrorCode error);
  void Watch();  // looks for operations that never end
  void ArmWatch(coro::Time now);
  // Whether the NIC shows no sign of life; asks for one if it was not asked. `overdue`: a page.
  bool IsSilent(const ChunkPage& overdue);
  void TryAgain();   // after kAgain
  void EndAll();     // closes the endpoint, and ends what is under way
  coro::Time Now();  // read once a turn at the most

  const NicInfo nic_;
  const std::size_t index_;
  const std::size_t window_;
  const std::size_t burst_;
  const coro::Duration timeout_;
  const coro::Duration lost_after_;
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<AddressVector> peers_;
  std::unique_ptr<Endpoint> endpoint_;
  LifeSign life_sign_;
  const Address address_;
  coro::EventLoop* loop_ = nullptr;

  SpscRing<Command> commands_;
  SpscRing<Report> reports_;
  SpscRing<std::uint32_t> arrivals_;

  Paths paths_;
  ChunkLine line_;
  Operations operations_;
  std::array<WriteRequest, kMostBurst> requests_;
  std::array<Completion, 32> completions_;
  coro::Time watch_due_{};
  bool dead_ = false;
  bool refused_ = false;  // kAgain, and nothing has made room since
  coro::Duration wait_;
  bool now_is_read_ = false;
  coro::Time now_{};
  Alarm watch_{*this, &Rail::Watch};
  Alarm try_again_{*this, &Rail::TryAgain};
  RailCounters counters_;
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_RAIL_H_
