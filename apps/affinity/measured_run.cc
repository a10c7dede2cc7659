#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "drydock/apps/affinity/runs.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"

namespace drydock::apps::affinity {
namespace {

// What one NIC's thread uses alone.
class Workplace {
 public:
  Workplace(const MeasuredRun& run, const Seat& seat) : run_(run), seat_(seat) {}

  // Pins the calling thread, and opens everything from it. `opening` is held while libraries open:
  // below there may be one that two threads must not open at once.
  absl::Status Prepare(std::mutex& opening) {
    if (!seat_.cpus.empty()) RETURN_IF_ERROR(PinThisThread(seat_.cpus));
    ASSIGN_OR_RETURN(Pages source, MapPages());
    ASSIGN_OR_RETURN(Pages target, MapPages());
    const std::lock_guard<std::mutex> lock(opening);
    ASSIGN_OR_RETURN(backend_, ChooseBackend(run_.backend));
    if (run_.metrics != nullptr) backend_.fabric = run_.metrics->Watch(std::move(backend_.fabric));
    if (run_.trace != nullptr) {
      backend_.fabric = run_.trace->Wrap(std::move(backend_.fabric), "this machine");
    }
    ASSIGN_OR_RETURN(lane_, Lane::Open(loop_, *backend_.fabric, *backend_.fabric, seat_.nic,
                                       run_.load, std::move(source), std::move(target)));
    return absl::OkStatus();
  }

  // The first round connects, and is not counted.
  absl::StatusOr<coro::Duration> WriteOneByOne() {
    RETURN_IF_ERROR(loop_.Run(lane_->WriteOneByOne()).status());
    return loop_.Run(lane_->WriteOneByOne());
  }

  absl::StatusOr<coro::Duration> WriteMany() { return loop_.Run(lane_->WriteMany()); }

 private:
  absl::StatusOr<Pages> MapPages() const {
    ASSIGN_OR_RETURN(Pages pages, Pages::Map(BytesOf(run_.load)));
    const bool bind = run_.bind_memory && seat_.memory_node >= 0;
    if (bind) RETURN_IF_ERROR(pages.BindTo(seat_.memory_node));
    return pages;
  }

  const MeasuredRun& run_;
  const Seat& seat_;
  coro::SteadyClock clock_;
  BackendChoice backend_;
  coro::EventLoop loop_{clock_};
  std::unique_ptr<Lane> lane_;
};

// The life of one thread. All begin their pages at the same time; a thread that fails before keeps
// no other waiting.
absl::StatusOr<SeatResult> Work(const MeasuredRun& run, const Seat& seat, std::mutex& opening,
                                std::latch& all_are_ready) {
  Workplace workplace(run, seat);
  SeatResult result;
  result.seat = seat;
  absl::Status ready = workplace.Prepare(opening);
  if (ready.ok()) {
    const absl::StatusOr<coro::Duration> took = workplace.WriteOneByOne();
    ready = took.status();
    if (took.ok()) result.write_took = *took;
  }
  all_are_ready.arrive_and_wait();
  RETURN_IF_ERROR(ready);
  ASSIGN_OR_RETURN(result.pages_took, workplace.WriteMany());
  return result;
}

}  // namespace

absl::StatusOr<std::vector<SeatResult>> RunMeasured(const MeasuredRun& run,
                                                    std::span<const Seat> seats) {
  std::vector<absl::StatusOr<SeatResult>> worked(seats.size(), absl::UnknownError("not begun"));
  std::mutex opening;
  std::latch all_are_ready(static_cast<std::ptrdiff_t>(seats.size()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    threads.emplace_back([&, i] { worked[i] = Work(run, seats[i], opening, all_are_ready); });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<SeatResult> results;
  for (absl::StatusOr<SeatResult>& result : worked) {
    ASSIGN_OR_RETURN(results.emplace_back(), std::move(result));
  }
  return results;
}

}  // namespace drydock::apps::affinity
