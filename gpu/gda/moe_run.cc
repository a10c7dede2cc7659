#include "drydock/gpu/gda/moe_run.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/coro/status_macros.h"

namespace drydock::gpu::gda {

MoeRun::MoeRun(SimRanks& ranks, const MoeShape& shape)
    : ranks_(ranks), layout_(shape), each_(ranks.size()) {}

absl::Status MoeRun::Open() {
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    Launcher& launcher = ranks_.launcher(i);
    for (MoeState** const state : {&each_[i].nics_state, &each_[i].copies_state}) {
      ASSIGN_OR_RETURN(void* const memory, launcher.AllocateScratch(sizeof(MoeState)));
      *state = static_cast<MoeState*>(memory);
    }
    ASSIGN_OR_RETURN(each_[i].report, launcher.AllocateShared(sizeof(KernelReport)));
  }
  return absl::OkStatus();
}

absl::Status MoeRun::Fill(std::uint64_t seed) {
  const MoeShape& shape = layout_.shape;
  const std::vector<std::uint32_t> garbage(std::size_t{shape.tokens} * shape.words, 0xDEADBEEF);
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = each_[i];
    rank.input = DrawMoeInput(shape, i, seed);
    const auto write = [&](std::uint64_t offset, const std::vector<std::uint32_t>& words) {
      return ranks_.Write(i, offset, words.data(), words.size() * 4);
    };
    RETURN_IF_ERROR(write(layout_.Token(0), rank.input.tokens));
    RETURN_IF_ERROR(write(layout_.Table(), rank.input.table));
    RETURN_IF_ERROR(write(layout_.Weights(), rank.input.weights));
    RETURN_IF_ERROR(write(layout_.Result(0), garbage));
  }
  return absl::OkStatus();
}

absl::Status MoeRun::Launch(std::uint32_t rank, MoeWay way, bool combine, Grid grid) {
  auto* const report = each_[rank].report.on_device<KernelReport>();
  Launcher& launcher = ranks_.launcher(rank);
  if (way == MoeWay::kNics) {
    const MoeArguments arguments{ranks_.port(rank), layout_.shape, each_[rank].nics_state, report};
    return launcher.Launch(combine ? Kernel::kMoeCombine : Kernel::kMoeDispatch, grid, &arguments);
  }
  ASSIGN_OR_RETURN(const CopiesView view, ranks_.Copies(rank));
  const MoeCopiesArguments arguments{view, layout_.shape, each_[rank].copies_state, report};
  return launcher.Launch(combine ? Kernel::kMoeCombineCopies : Kernel::kMoeDispatchCopies, grid,
                         &arguments);
}

// Nanoseconds of the slowest rank.
absl::StatusOr<std::uint64_t> MoeRun::RunKernel(MoeWay way, bool combine, Grid grid) {
  absl::Status status;
  for (std::uint32_t i = 0; i < ranks_.size() && status.ok(); ++i) {
    *each_[i].report.on_host<KernelReport>() = KernelReport();
    status.Update(Launch(i, way, combine, grid));
  }
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) status.Update(ranks_.launcher(i).Wait());
  RETURN_IF_ERROR(status);
  std::uint64_t slowest = 0;
  std::vector<std::string> failures;
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const KernelReport& report = *each_[i].report.on_host<KernelReport>();
    slowest = std::max(slowest, report.nanoseconds);
    if (report.outcome == Outcome::kOk) continue;
    failures.push_back(absl::StrCat(combine ? "combine" : "dispatch", " on rank ", i, " ",
                                    OutcomeName(report.outcome), ": ", ranks_.ErrorText(i)));
  }
  if (!failures.empty()) return absl::InternalError(absl::StrJoin(failures, "; "));
  return slowest;
}

absl::StatusOr<MoeTimes> MoeRun::Round(MoeWay way, Grid grid) {
  MoeTimes times;
  ASSIGN_OR_RETURN(times.dispatch_ns, RunKernel(way, /*combine=*/false, grid));
  ASSIGN_OR_RETURN(times.combine_ns, RunKernel(way, /*combine=*/true, grid));
  return times;
}

absl::StatusOr<std::uint64_t> MoeRun::CountWrong() {
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const std::vector<std::uint32_t> expected = MoeResult(layout_.shape, each_[i].input);
    std::vector<std::uint32_t> result(expected.size());
    RETURN_IF_ERROR(ranks_.Read(i, layout_.Result(0), result.data(), result.size() * 4));
    for (std::size_t word = 0; word < result.size(); ++word) {
      if (result[word] != expected[word]) ++wrong;
    }
  }
  return wrong;
}

}  // namespace drydock::gpu::gda
