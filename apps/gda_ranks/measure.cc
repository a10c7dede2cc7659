#include "drydock/apps/gda_ranks/measure.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/memory.h"
#include "drydock/gpu/gda/launcher.h"
#include "drydock/gpu/gda/sim_ranks.h"

namespace drydock::apps::gda_ranks {
namespace {

using namespace gpu::gda;  // NOLINT(build/namespaces)

constexpr std::uint32_t kBytes = 64;
constexpr std::size_t kPieceBytes = 1 << 20;  // of a transfer

absl::Status Check(const SimRanks& ranks, std::uint32_t rank, const KernelReport& report,
                   std::uint64_t count) {
  if (report.outcome == Outcome::kOk && report.done == count) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("rank ", rank, " ", OutcomeName(report.outcome),
                                          " after ", report.done, " of ", count, ": ",
                                          ranks.ErrorText(rank)));
}

// Ranks on two devices, and room for reports.
struct Pair {
  std::unique_ptr<SimRanks> ranks;
  std::vector<SharedMemory> reports;  // of each rank
};

absl::StatusOr<Pair> OpenPair(const sim::Profile& profile, gpu::Device& first, gpu::Device& second,
                              SimRanksOptions options, std::uint32_t blocks) {
  Pair pair;
  pair.ranks = std::make_unique<SimRanks>(profile, /*seed=*/1, std::vector{&first, &second},
                                          std::move(options));
  RETURN_IF_ERROR(pair.ranks->Open());
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ASSIGN_OR_RETURN(const SharedMemory reports,
                     pair.ranks->launcher(rank).AllocateShared(blocks * sizeof(KernelReport)));
    pair.reports.push_back(reports);
  }
  return pair;
}

// What tells one window of host memory from another, and each word of it from the others.
std::vector<std::uint64_t> Words(std::uint64_t seed, std::size_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = seed << 32 | i;
  return words;
}

// Each rank's window has words of its own from now on.
absl::Status FillWindows(SimRanks& ranks, std::size_t bytes) {
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    RETURN_IF_ERROR(ranks.Write(rank, 0, Words(1 + rank, bytes).data(), bytes));
  }
  return absl::OkStatus();
}

// Whether both windows have the words of the first one.
absl::StatusOr<bool> BothHaveTheFirst(SimRanks& ranks, std::size_t bytes) {
  const std::vector<std::uint64_t> wanted = Words(1, bytes);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    std::vector<std::uint64_t> found(wanted.size());
    RETURN_IF_ERROR(ranks.Read(rank, 0, found.data(), bytes));
    if (found != wanted) return false;
  }
  return true;
}

void Add(std::uint64_t operations, std::uint64_t nanoseconds, Rate& rate) {
  const double each = static_cast<double>(std::max<std::uint64_t>(nanoseconds, 1)) /
                      static_cast<double>(operations);
  rate.each_ns = std::max(rate.each_ns, each);
  rate.per_second += 1e9 / each;
}

}  // namespace

absl::StatusOr<Rate> MeasurePuts(const sim::Profile& profile,
                                 const std::vector<gpu::Device*>& devices, const PutWay& way,
                                 std::uint64_t count) {
  const std::uint64_t of_block = (count + way.grid.blocks - 1) / way.grid.blocks;
  const std::uint64_t each = (of_block + way.batch - 1) / way.batch * way.batch;
  const std::size_t window_bytes = std::size_t{way.grid.blocks} * way.batch * kBytes;
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    ASSIGN_OR_RETURN(
        Pair pair,
        OpenPair(profile, *devices[i], *devices[(i + 1) % devices.size()],
                 {.queues = way.queues, .window_bytes = window_bytes, .host_memory = true},
                 way.grid.blocks));
    pairs.push_back(std::move(pair));
  }
  // The first time is for what is slow only once.
  Rate rate;
  for (const bool warm : {false, true}) {
    for (Pair& pair : pairs) RETURN_IF_ERROR(FillWindows(*pair.ranks, window_bytes));
    absl::Status status;
    for (Pair& pair : pairs) {
      const PortPutsArguments arguments{pair.ranks->port(0),
                                        way.sharing,
                                        way.signals,
                                        /*peer=*/1,
                                        kBytes,
                                        way.batch,
                                        warm ? each : way.batch,
                                        pair.reports[0].on_device<KernelReport>()};
      status.Update(pair.ranks->launcher(0).Launch(Kernel::kPortPuts, way.grid, &arguments));
    }
    for (Pair& pair : pairs) status.Update(pair.ranks->launcher(0).Wait());
    RETURN_IF_ERROR(status);
    for (const Pair& pair : pairs) {
      std::uint64_t slowest = 0;
      for (std::uint32_t block = 0; block < way.grid.blocks; ++block) {
        const KernelReport& report = pair.reports[0].on_host<KernelReport>()[block];
        RETURN_IF_ERROR(Check(*pair.ranks, 0, report, warm ? each : way.batch));
        slowest = std::max(slowest, report.nanoseconds);
      }
      ASSIGN_OR_RETURN(const bool arrived, BothHaveTheFirst(*pair.ranks, window_bytes));
      rate.correct = rate.correct && arrived;
      if (warm) Add(each * way.grid.blocks, slowest, rate);
    }
  }
  return rate;
}

absl::StatusOr<Rate> MeasureSignals(const sim::Profile& profile,
                                    const std::vector<gpu::Device*>& devices,
                                    std::uint32_t rounds) {
  std::vector<Pair> pairs;
  for (gpu::Device* const device : devices) {
    ASSIGN_OR_RETURN(Pair pair, OpenPair(profile, *device, *device,
                                         {.window_bytes = kBytes, .host_memory = true}, 1));
    pairs.push_back(std::move(pair));
  }
  Rate rate;
  for (const bool warm : {false, true}) {
    for (Pair& pair : pairs) RETURN_IF_ERROR(FillWindows(*pair.ranks, kBytes));
    absl::Status status;
    const std::uint32_t some = warm ? rounds : 1;
    for (Pair& pair : pairs) {
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        const PingPongArguments arguments{
            pair.ranks->port(rank),
            /*first=*/rank == 0,
            /*peer=*/1 - rank,      kBytes, some, pair.reports[rank].on_device<KernelReport>()};
        status.Update(pair.ranks->launcher(rank).Launch(Kernel::kPingPong, {}, &arguments));
      }
    }
    for (Pair& pair : pairs) {
      status.Update(pair.ranks->launcher(0).Wait());
      status.Update(pair.ranks->launcher(1).Wait());
    }
    RETURN_IF_ERROR(status);
    for (const Pair& pair : pairs) {
      const KernelReport& report = *pair.reports[0].on_host<KernelReport>();
      const absl::Status first = Check(*pair.ranks, 0, report, some);
      const absl::Status second =
          Check(*pair.ranks, 1, *pair.reports[1].on_host<KernelReport>(), some);
      if (!first.ok() && !second.ok()) {  // one has waited for the other
        return absl::InternalError(absl::StrCat(first.message(), "; ", second.message()));
      }
      RETURN_IF_ERROR(first);
      RETURN_IF_ERROR(second);
      ASSIGN_OR_RETURN(const bool arrived, BothHaveTheFirst(*pair.ranks, kBytes));
      rate.correct = rate.correct && arrived;
      if (warm) Add(std::uint64_t{2} * rounds, report.nanoseconds, rate);
    }
  }
  return rate;
}

absl::StatusOr<Transfer> MeasureTransfer(const sim::Profile& profile, gpu::Device& from,
                                         gpu::Device& to, std::size_t bytes) {
  ASSIGN_OR_RETURN(Pair pair,
                   OpenPair(profile, from, to, {.window_bytes = bytes, .dmabuf = true}, 1));
  SimRanks& ranks = *pair.ranks;
  Transfer transfer;
  for (const std::uint64_t seed : {11u, 12u}) {  // the first time is for what is slow only once
    RETURN_IF_ERROR(ranks.FillWindow(0, seed));
    RETURN_IF_ERROR(ranks.FillWindow(1, ~seed));
    const std::size_t piece = std::min(bytes, kPieceBytes);
    const auto count = static_cast<std::uint32_t>(bytes / piece);
    const PortPutsArguments arguments{ranks.port(0),
                                      Sharing::kExclusive,
                                      /*signals=*/false,
                                      /*peer=*/1,
                                      static_cast<std::uint32_t>(piece),
                                      count,
                                      count,
                                      pair.reports[0].on_device<KernelReport>()};
    RETURN_IF_ERROR(ranks.launcher(0).Launch(Kernel::kPortPuts, {}, &arguments));
    RETURN_IF_ERROR(ranks.launcher(0).Wait());
    const KernelReport& report = *pair.reports[0].on_host<KernelReport>();
    RETURN_IF_ERROR(Check(ranks, 0, report, count));
    ASSIGN_OR_RETURN(const gpu::Mismatch mismatch, ranks.VerifyWindow(1, seed));
    transfer.correct = mismatch.none();
    transfer.gbytes_per_s = static_cast<double>(bytes) /
                            static_cast<double>(std::max<std::uint64_t>(report.nanoseconds, 1));
    if (!transfer.correct) return transfer;
  }
  return transfer;
}

}  // namespace drydock::apps::gda_ranks
