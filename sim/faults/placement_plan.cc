#include "drydock/sim/faults/placement_plan.h"

#include <algorithm>
#include <chrono>

#include "drydock/sim/random.h"

namespace drydock::sim {

using fabric::faults::Fault;
using fabric::faults::Firing;

namespace {

// A packet is cut into no more pieces than this, however small they should be.
constexpr std::uint64_t kMostPieces = 256;

// Every piece at a time of its own (`shuffled`), or every second one later than the others.
std::vector<PlacementStep> Pieces(const Firing& placement, bool shuffled, Range range,
                                  coro::Duration spread) {
  std::vector<PlacementStep> steps;
  const std::uint64_t piece =
      std::max({std::uint64_t{1}, static_cast<std::uint64_t>(placement.parameters().bytes),
                (range.length + kMostPieces - 1) / kMostPieces});
  const auto most = static_cast<std::uint64_t>(
      std::max(coro::Duration(std::chrono::microseconds(1)), spread).count());
  for (std::uint64_t at = 0; at < range.length; at += piece) {
    const std::uint64_t word = Combine(placement.word, range.offset + at);
    coro::Duration later =
        (at / piece + placement.word) % 2 == 0 ? coro::Duration() : placement.Delay();
    if (shuffled) later = coro::Duration(static_cast<std::int64_t>(Below(word, most + 1)));
    steps.push_back({later, {range.offset + at, std::min(piece, range.length - at)}});
  }
  return steps;
}

// The range, and again later.
PlacementVerdict WithCopies(const Firing& placement, Range range) {
  PlacementVerdict verdict{.as_usual = false};
  verdict.steps.push_back({{}, range});
  const std::int64_t copies = placement.parameters().copies;
  for (std::int64_t copy = 1; copy <= copies; ++copy) {
    verdict.steps.push_back({placement.Delay() * copy / copies, range});
    ++verdict.second_copies;
  }
  return verdict;
}

}  // namespace

PlacementVerdict PlanPlacement(const OperationFaults& faults, std::uint64_t length, Range range,
                               coro::Duration spread) {
  PlacementVerdict verdict;
  if (faults.IsCut()) {
    const std::uint64_t end = std::max(range.offset, faults.Placed(length));
    const Range kept{range.offset, std::min(range.length, end - range.offset)};
    verdict.as_usual = false;
    if (kept.length > 0) verdict.steps.push_back({{}, kept});
    return verdict;
  }
  if (!faults.placement) return verdict;
  switch (faults.placement.fault()) {
    case Fault::kLostPlacement:
      verdict.as_usual = false;
      break;
    case Fault::kCorruptPlacement:
    case Fault::kDuplicatePlacement:
      verdict = WithCopies(faults.placement, range);
      break;
    case Fault::kReorderedSegments:
      verdict.as_usual = false;
      verdict.steps = Pieces(faults.placement, true, range, spread);
      break;
    case Fault::kTornPlacement:
    case Fault::kMixedRead:
      verdict.as_usual = false;
      verdict.steps = Pieces(faults.placement, false, range, spread);
      break;
    case Fault::kReorderedOperations:  // these have acted before
    case Fault::kLateSourceRead:
    case Fault::kStragglerWrite:
    case Fault::kRegionCloses:
      break;
    default:
      RefuseFault(faults.placement.fault());
  }
  verdict.flipped = PlanCorruption(faults, length, range);
  return verdict;
}

// So many bits in a row, from a drawn one of the operation on and around.
std::vector<FlippedBits> PlanCorruption(const OperationFaults& faults, std::uint64_t length,
                                        Range range) {
  std::vector<FlippedBits> flipped;
  const bool corrupts = faults.placement && faults.placement.fault() == Fault::kCorruptPlacement;
  if (!corrupts || faults.IsCut() || length == 0) return flipped;
  const std::uint64_t all = 8 * length;
  const std::uint64_t first = Below(faults.placement.word, all);
  const auto bits = static_cast<std::uint64_t>(faults.placement.parameters().bits);
  for (std::uint64_t i = 0; i < std::min(bits, all); ++i) {
    const std::uint64_t bit = (first + i) % all;
    const std::uint64_t byte = bit / 8;
    if (byte < range.offset || byte - range.offset >= range.length) continue;
    flipped.push_back({byte, static_cast<std::byte>(1u << bit % 8)});
  }
  return flipped;
}

}  // namespace drydock::sim
