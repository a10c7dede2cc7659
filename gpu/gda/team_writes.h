// A kernel of one block whose threads share the work of a batch, as a GPU likes it: one thread
// makes a work request in a tenth of a microsecond, and 32 make 32 in the same time.
//
//   each: fill one entry │ barrier │ thread 0: ring │ each: look for one completion │ how many?

#ifndef DRYDOCK_GPU_GDA_TEAM_WRITES_H_
#define DRYDOCK_GPU_GDA_TEAM_WRITES_H_

#include <cstdint>

#include "drydock/fabric/efa_queue/prepared_send.h"
#include "drydock/gpu/gda/kernel_arguments.h"
#include "drydock/gpu/gda/queue/channel.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/device_queue.h"
#include "drydock/gpu/gda/queue/transfer.h"

namespace drydock::gpu::gda {

// Waits until `count` entries can be written; with 0, until nothing is under way. By one thread.
template <typename Queue>
DD_HOST_DEVICE Outcome MakeRoom(Queue& queue, std::uint32_t count, std::uint64_t timeout_ns,
                                KernelReport& report) {
  Patience patience(timeout_ns);
  for (;;) {
    const PostResult room = count == 0 ? PostResult::kFull : queue.Reserve(count);
    if (room == PostResult::kOk) return Outcome::kOk;
    if (room == PostResult::kTooMany) return Outcome::kTooMany;
    if (count == 0 && queue.in_flight() == 0) return Outcome::kOk;
    queue.Ring();
    typename Queue::Tally tally;
    const PollResult polled = queue.PollSome(tally);
    report.failures += tally.failed;
    if (tally.failed != 0) report.status = tally.status;
    if (polled == PollResult::kOk) continue;
    if (polled != PollResult::kEmpty) return Outcome::kBroken;
    if (patience.Over()) return Outcome::kTimedOut;
  }
}

// Waits until nothing is under way, thread 0 for all: it looks at one completion after the other,
// and sees what is wrong with each. The counts are the same in every thread before and, with kOk,
// after.
template <typename Team>
DD_HOST_DEVICE Outcome Settle(DeviceQueue<>& queue, std::uint64_t timeout_ns, KernelReport& report,
                              Team& team) {
  Outcome outcome = Outcome::kOk;
  if (team.rank() == 0) {
    outcome = MakeRoom(queue, 0, timeout_ns, report);
  } else {
    queue.RungByAnother();
    queue.Take(queue.in_flight());
  }
  return static_cast<Outcome>(team.Broadcast(static_cast<std::uint32_t>(outcome)));
}

// Waits until `n` completions are there, of which each thread looks at one. False: after a while
// they were not all there, or not all well.
template <typename Team>
DD_HOST_DEVICE bool AllHaveEnded(DeviceQueue<>& queue, std::uint32_t n, Team& team) {
  constexpr int kLooks = 64;
  for (int look = 0; look < kLooks; ++look) {
    const bool ended = team.rank() >= n || queue.HasEnded(team.rank());
    if (team.Count(ended) != team.size()) continue;
    queue.Take(n);
    return true;
  }
  return false;
}

// One batch, whose counts are the same in every thread before and, with kOk, after: all fill it,
// thread 0 rings, each looks for one completion. Returns what it came to, in every thread.
template <typename Team>
DD_HOST_DEVICE Outcome TeamBatch(DeviceQueue<>& queue, std::uint32_t n,
                                 const fabric::efa_queue::PreparedSend& prepared,
                                 std::uint64_t offset, std::uint64_t timeout_ns,
                                 KernelReport& report, Team& team) {
  if (team.rank() < n) queue.Fill(team.rank(), prepared, offset);
  queue.Commit(n);
  team.Sync();
  if (team.rank() == 0) {
    queue.Ring();
  } else {
    queue.RungByAnother();
  }
  if (AllHaveEnded(queue, n, team)) return Outcome::kOk;
  return Settle(queue, timeout_ns, report, team);
}

// The threads of a block fill a batch together, and see it completed before the next. Not for
// proxies.
template <typename Team>
DD_HOST_DEVICE void TeamWritesBody(const LoopArguments& arguments, Team& team) {
  const std::uint64_t start = Nanoseconds();
  const Series& series = arguments.series;
  KernelReport report;
  DeviceQueue<> queue(arguments.channel.queue, arguments.channel.queue_state);
  const auto prepared = queue.Prepare(WorkOf(series.first, arguments.channel.peer, 0));
  std::uint32_t most = queue.largest_batch();
  if (most > team.size()) most = team.size();
  if (arguments.batch != 0 && most > arguments.batch) most = arguments.batch;
  report.outcome = Settle(queue, arguments.timeout_ns, report, team);
  std::uint64_t next = 0;
  std::uint64_t place = team.rank();  // next + rank, modulo the places
  while (report.outcome == Outcome::kOk && next < series.count) {
    const std::uint64_t left = series.count - next;
    const std::uint32_t n = left < most ? static_cast<std::uint32_t>(left) : most;
    if (place >= series.places) place %= series.places;  // rarely: a division takes long
    report.outcome =
        TeamBatch(queue, n, prepared, place * series.stride, arguments.timeout_ns, report, team);
    next += n;
    place += n;
  }
  if (team.rank() != 0) return;
  queue.Save();
  if (report.outcome == Outcome::kOk && report.failures != 0) report.outcome = Outcome::kFailed;
  report.done = next;
  report.nanoseconds = Nanoseconds() - start;
  *arguments.report = report;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_TEAM_WRITES_H_
