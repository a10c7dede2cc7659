// What runs on a device: the bodies of the kernels, for CUDA's threads and for host threads.
//
// A Team is the threads of one block: rank(), size(), block(), blocks(), Sync(), Broadcast(value of
// thread 0), Sum(values of all; once), Count(in how many threads it is true).

#ifndef DRYDOCK_GPU_GDA_KERNELS_H_
#define DRYDOCK_GPU_GDA_KERNELS_H_

#include <cstdint>

#include "drydock/gpu/gda/bare_loop.h"
#include "drydock/gpu/gda/kernel_arguments.h"
#include "drydock/gpu/gda/queue/channel.h"
#include "drydock/gpu/gda/queue/device_ops.h"
#include "drydock/gpu/gda/queue/transfer.h"
#include "drydock/gpu/gda/shared_queue.h"
#include "drydock/gpu/gda/team_writes.h"

namespace drydock::gpu::gda {

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
    const auto prepared = channel.Prepare(arguments.series.first);
    KernelReport report;
    report.outcome = Outcome::kOk;
    std::uint32_t in_batch = 0;
    for (std::uint64_t i = 0; i < arguments.series.count && report.outcome == Outcome::kOk; ++i) {
      report.outcome = channel.Start(prepared, next.Take());
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

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_KERNELS_H_
