// Kernels on ports: puts as fast as they go, two ranks that signal each other in turns, and the two
// of moe.h. Teams: as those of gpu/gda/kernels.h, with Warp(), warps() and warp_number().

#ifndef DRYDOCK_GPU_GDA_DEVICE_KERNELS_H_
#define DRYDOCK_GPU_GDA_DEVICE_KERNELS_H_

#include <cstdint>
#include <type_traits>

#include "drydock/gpu/gda/device/kernel_report.h"
#include "drydock/gpu/gda/device/moe.h"
#include "drydock/gpu/gda/device/port.h"

namespace drydock::gpu::gda {

// Each block of at most a warp puts `count` pieces to the peer, `batch` at a time, which ring once
// and complete before the next.
struct PortPutsArguments {
  PortView view;
  Sharing sharing = Sharing::kExclusive;  // then: as many blocks as queues at most
  bool signals = false;                   // puts with signal 0
  std::uint32_t peer = 0;
  std::uint32_t bytes = 0;
  std::uint32_t batch = 1;
  std::uint64_t count = 0;          // a multiple of the batch
  KernelReport* reports = nullptr;  // one a block
};
static_assert(std::is_trivially_copyable_v<PortPutsArguments>);
static_assert(sizeof(PortPutsArguments) <= 4096);

// Two ranks put `bytes` to each other by turns, each when the other's signal has come: `rounds`
// times there and back. One block of each rank.
struct PingPongArguments {
  PortView view;
  bool first = false;
  std::uint32_t peer = 0;
  std::uint32_t bytes = 0;
  std::uint32_t rounds = 0;
  KernelReport* report = nullptr;
};
static_assert(std::is_trivially_copyable_v<PingPongArguments>);

template <Sharing kSharing, typename Team>
DD_HOST_DEVICE KernelReport PortPuts(const PortPutsArguments& arguments, Team& team) {
  auto warp = team.Warp();
  Port<kSharing> port(arguments.view, team.block());
  const std::uint64_t start = Nanoseconds();
  KernelReport report;
  report.outcome = Outcome::kOk;
  while (report.done < arguments.count && report.outcome == Outcome::kOk) {
    report.outcome = port.PostEach(warp, arguments.batch, Bells::kNow, [&](std::uint32_t i) {
      const std::uint64_t place =
          (std::uint64_t{team.block()} * arguments.batch + i) * arguments.bytes;
      return typename Port<kSharing>::Request{
          arguments.signals ? PortOperation::kPutSignal : PortOperation::kPut,
          {arguments.peer, place, place, arguments.bytes},
          0};
    });
    if (report.outcome == Outcome::kOk) report.outcome = port.Quiet(warp);
    if (report.outcome == Outcome::kOk) report.done += arguments.batch;
  }
  report.nanoseconds = Nanoseconds() - start;
  if (warp.rank() == 0) port.Save();
  return report;
}
template <typename Team>
DD_HOST_DEVICE void PortPutsBody(const PortPutsArguments& arguments, Team& team) {
  const KernelReport report = arguments.sharing == Sharing::kShared
                                  ? PortPuts<Sharing::kShared>(arguments, team)
                                  : PortPuts<Sharing::kExclusive>(arguments, team);
  if (team.rank() == 0) arguments.reports[team.block()] = report;
}

template <typename Team>
DD_HOST_DEVICE void PingPongBody(const PingPongArguments& arguments, Team& team) {
  Port<Sharing::kExclusive> port(arguments.view, 0);
  const std::uint32_t seen = port.ReadSignal(arguments.peer, 1);
  const Piece piece{arguments.peer, 0, 0, arguments.bytes};
  const std::uint64_t start = Nanoseconds();
  KernelReport report;
  report.outcome = Outcome::kOk;
  for (std::uint32_t i = 1; i <= arguments.rounds && report.outcome == Outcome::kOk; ++i) {
    if (arguments.first) report.outcome = port.PutSignal(team, piece, 1);
    if (report.outcome == Outcome::kOk) {
      report.outcome = port.WaitSignal(team, arguments.peer, 1, seen + i);
    }
    if (report.outcome == Outcome::kOk && !arguments.first) {
      report.outcome = port.PutSignal(team, piece, 1);
    }
    if (report.outcome == Outcome::kOk) ++report.done;
  }
  if (report.outcome == Outcome::kOk) report.outcome = port.Quiet(team);
  report.nanoseconds = Nanoseconds() - start;
  if (team.rank() != 0) return;
  port.Save();
  *arguments.report = report;
}

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_KERNELS_H_
