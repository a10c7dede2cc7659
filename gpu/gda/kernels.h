// What runs on a device: the bodies of the kernels, for CUDA's threads and for host threads.
//
// A Team is the threads of one block: rank(), size(), block(), blocks(), Sync(), Broadcast(value of
// thread 0), Sum(values of all).

#ifndef GPU_GDA_KERNELS_H_
#define GPU_GDA_KERNELS_H_

#include <cstdint>
#include <type_traits>

#include "gpu/gda/bare_loop.h"
#include "gpu/gda/channel.h"
#include "gpu/gda/device_ops.h"
#include "gpu/gda/shared_queue.h"
#include "gpu/gda/transfer.h"

namespace gpu::gda {

enum class Kernel : std::uint8_t {
  kPut,          // PutArguments, one thread
  kWriteLoop,    // LoopArguments, one thread
  kTeamWrites,   // LoopArguments, one block
  kBlockWrites,  // BlockArguments, any number of blocks that are resident together
  kFillBytes,    // BytesArguments, one block
  kCountWrong,   // BytesArguments, one block
  kBareLoop,     // LoopArguments, one thread: for measuring only (bare_loop.h)
};
inline constexpr int kKernels = 7;

// What came of it, in memory that the host sees.
struct KernelReport {
  Outcome outcome = Outcome::kTimedOut;
  std::uint32_t failures = 0;
  std::uint32_t status = 0;       // EFA's, of the last failure
  std::uint64_t done = 0;         // transfers; wrong bytes
  std::uint64_t nanoseconds = 0;  // from before the first to after the last, on the device's clock
};

// put(raddr, src, n, lkey, rkey): blocking.
struct PutArguments {
  ChannelView channel;
  Transfer transfer;
  std::uint64_t timeout_ns = 0;  // of every wait; 0: for ever
  KernelReport* report = nullptr;
};

// `count` transfers: number i is `first`, moved on by (i % places) * stride on both sides.
struct Series {
  Transfer first;
  std::uint64_t count = 0;
  std::uint64_t places = 1;
  std::uint64_t stride = 0;  // bytes

  DD_HOST_DEVICE DD_HOT Transfer At(std::uint64_t i) const {
    Transfer transfer = first;
    const std::uint64_t offset = (i % places) * stride;
    transfer.local += offset;
    transfer.remote += offset;
    return transfer;
  }
};

// One after the other, without a division for each: those take a GPU's thread longer than a post.
class SeriesCursor {
 public:
  DD_HOST_DEVICE explicit SeriesCursor(const Series& series) : series_(series) {}

  DD_HOST_DEVICE DD_HOT Transfer Take() {
    Transfer transfer = series_.first;
    transfer.local += offset_;
    transfer.remote += offset_;
    offset_ += series_.stride;
    if (++place_ == series_.places) place_ = offset_ = 0;
    return transfer;
  }

 private:
  const Series& series_;
  std::uint64_t place_ = 0;
  std::uint64_t offset_ = 0;
};

struct LoopArguments {
  ChannelView channel;
  Series series;
  std::uint32_t batch = 1;  // completed together, before the next; 0: only at the end
  std::uint64_t timeout_ns = 0;
  KernelReport* report = nullptr;
};

struct BlockArguments {
  SharedView queue;
  Series series;
  std::uint64_t timeout_ns = 0;
  KernelReport* reports = nullptr;  // one a block
};

struct BytesArguments {
  unsigned char* bytes = nullptr;
  std::uint64_t length = 0;
  std::uint32_t value = 0;  // of each byte
  KernelReport* report = nullptr;
};

static_assert(std::is_trivially_copyable_v<PutArguments>);
static_assert(std::is_trivially_copyable_v<LoopArguments>);
static_assert(std::is_trivially_copyable_v<BlockArguments>);
static_assert(std::is_trivially_copyable_v<BytesArguments>);

template <typename Team>
DD_HOST_DEVICE void PutBody(const PutArguments& arguments, Team& team) {
  if (team.rank() != 0) return;
  WithChannel(arguments.channel, arguments.timeout_ns, [&arguments](auto& channel) {
    const std::uint64_t start = Nanoseconds();
    KernelReport report;
    report.outcome = channel.Put(arguments.transfer);
    report.failures = channel.failures();
    report.status = channel.status();
    report.done = report.outcome == Outcome::kOk ? 1 : 0;
    report.nanoseconds = Nanoseconds() - start;
    channel.Save();
    *arguments.report = report;
  });
}

template <typename Team>
DD_HOST_DEVICE void WriteLoopBody(const LoopArguments& arguments, Team& team) {
  if (team.rank() != 0) return;
  WithChannel(arguments.channel, arguments.timeout_ns, [&arguments](auto& channel) {
    const std::uint64_t start = Nanoseconds();
    SeriesCursor next(arguments.series);
    KernelReport report;
    report.outcome = Outcome::kOk;
    std::uint32_t in_batch = 0;
    for (std::uint64_t i = 0; i < arguments.series.count && report.outcome == Outcome::kOk; ++i) {
      report.outcome = channel.Start(next.Take());
      if (report.outcome != Outcome::kOk) break;
      ++report.done;
      if (++in_batch != arguments.batch) continue;
      report.outcome = channel.Quiet();
      in_batch = 0;
    }
    if (report.outcome == Outcome::kOk) report.outcome = channel.Quiet();
    report.failures = channel.failures();
    report.status = channel.status();
    report.nanoseconds = Nanoseconds() - start;
    channel.Save();
    *arguments.report = report;
  });
}

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

// The threads of a block fill a batch together; thread 0 rings and polls. Not for proxies.
template <typename Team>
DD_HOST_DEVICE void TeamWritesBody(const LoopArguments& arguments, Team& team) {
  const std::uint64_t start = Nanoseconds();
  const Series series = arguments.series;
  KernelReport report;
  report.outcome = Outcome::kOk;
  const bool leads = team.rank() == 0;
  DeviceQueue<> queue(arguments.channel.queue,
                      arguments.channel.queue_state);  // the leader's counts
  std::uint64_t next = 0;
  while (next < series.count) {
    const std::uint64_t left = series.count - next;
    std::uint32_t n = arguments.channel.queue.send.max_batch;
    if (n > team.size()) n = team.size();
    if (n > left) n = static_cast<std::uint32_t>(left);
    if (leads) report.outcome = MakeRoom(queue, n, arguments.timeout_ns, report);
    if (team.Broadcast(static_cast<std::uint32_t>(report.outcome)) !=
        static_cast<std::uint32_t>(Outcome::kOk)) {
      break;
    }
    const std::uint32_t counter = team.Broadcast(queue.posted()) + team.rank();
    if (team.rank() < n) {
      queue.FillAt(counter, WorkOf(series.At(next + team.rank()), arguments.channel.peer, counter));
    }
    team.Sync();
    if (leads) {
      queue.Commit(n);
      queue.Ring();
    }
    next += n;
  }
  if (!leads) return;
  if (report.outcome == Outcome::kOk) {
    report.outcome = MakeRoom(queue, 0, arguments.timeout_ns, report);
  }
  queue.Save();
  if (report.outcome == Outcome::kOk && report.failures != 0) report.outcome = Outcome::kFailed;
  report.done = next;
  report.nanoseconds = Nanoseconds() - start;
  *arguments.report = report;
}

// Blocks share one queue: batch b of the series is the work of block b % blocks.
template <typename Team>
DD_HOST_DEVICE void BlockWritesBody(const BlockArguments& arguments, Team& team) {
  const std::uint64_t start = Nanoseconds();
  const Series series = arguments.series;
  SharedQueue queue(arguments.queue);
  std::uint32_t batch = arguments.queue.queue.send.max_batch;
  if (batch > team.size()) batch = team.size();
  KernelReport report;
  bool sound = true;
  for (std::uint64_t begin = std::uint64_t{team.block()} * batch; sound && begin < series.count;
       begin += std::uint64_t{team.blocks()} * batch) {
    const std::uint64_t left = series.count - begin;
    const std::uint32_t n = left < batch ? static_cast<std::uint32_t>(left) : batch;
    std::uint32_t first = 0;
    if (team.rank() == 0) sound = queue.Take(n, arguments.timeout_ns, first);
    sound = team.Broadcast(sound ? 1 : 0) != 0;
    first = team.Broadcast(first);
    if (!sound) break;
    if (team.rank() < n) queue.Fill(first + team.rank(), series.At(begin + team.rank()));
    team.Sync();
    if (team.rank() == 0) {
      sound = queue.Announce(first, n, arguments.timeout_ns) &&
              queue.Wait(first, n, arguments.timeout_ns);
    }
    sound = team.Broadcast(sound ? 1 : 0) != 0;
    if (sound) report.done += n;
  }
  if (team.rank() != 0) return;
  report.failures = queue.failures();
  report.status = queue.status();
  report.outcome = report.failures != 0 ? Outcome::kFailed : Outcome::kOk;
  if (!sound) {
    report.outcome =
        queue.broken() == SharedQueue::kNonsense ? Outcome::kBroken : Outcome::kTimedOut;
  }
  report.nanoseconds = Nanoseconds() - start;
  arguments.reports[team.block()] = report;
}

template <typename Team>
DD_HOST_DEVICE void FillBytesBody(const BytesArguments& arguments, Team& team) {
  for (std::uint64_t i = team.rank(); i < arguments.length; i += team.size()) {
    arguments.bytes[i] = static_cast<unsigned char>(arguments.value);
  }
  team.Sync();
  if (team.rank() != 0) return;
  KernelReport report;
  report.outcome = Outcome::kOk;
  *arguments.report = report;
}

// report->done: how many bytes are not `value`.
template <typename Team>
DD_HOST_DEVICE void CountWrongBody(const BytesArguments& arguments, Team& team) {
  std::uint32_t wrong = 0;
  for (std::uint64_t i = team.rank(); i < arguments.length; i += team.size()) {
    if (arguments.bytes[i] != static_cast<unsigned char>(arguments.value)) ++wrong;
  }
  const std::uint32_t all = team.Sum(wrong);
  if (team.rank() != 0) return;
  KernelReport report;
  report.outcome = all == 0 ? Outcome::kOk : Outcome::kFailed;
  report.done = all;
  *arguments.report = report;
}

template <typename Team>
DD_HOST_DEVICE void BareLoopBody(const LoopArguments& arguments, Team& team) {
  if (team.rank() != 0) return;
  const ChannelView& channel = arguments.channel;
  KernelReport report;
  report.nanoseconds = BareLoop(channel.queue, channel.queue_state, channel.peer,
                                arguments.series.first, arguments.series.count, arguments.batch);
  report.outcome = Outcome::kOk;
  report.done = arguments.series.count;
  *arguments.report = report;
}

}  // namespace gpu::gda

#endif  // GPU_GDA_KERNELS_H_
