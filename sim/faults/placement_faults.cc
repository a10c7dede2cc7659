// How bytes reach memory under a fault plan: in pieces, late, several times, wrong or not at all.

#include <algorithm>

#include "sim/faults/fault_model.h"
#include "sim/random.h"
#include "sim/world.h"

namespace sim {

using fabric::faults::Fault;
using fabric::faults::Firing;

namespace {

// A packet is cut into no more pieces than this, however small they should be.
constexpr std::uint64_t kMostPieces = 256;

void Flip(MemoryBus& bus, std::uint64_t address, std::byte mask) {
  std::byte byte;
  bus.Copy(&byte, PointerTo(address), 1);
  byte ^= mask;
  bus.Copy(PointerTo(address), &byte, 1);
}

// The bits of an operation that are wrong: so many in a row, from a drawn one on and around. Calls
// flip(byte, mask) for those in `range`.
template <typename Flip>
void CorruptBits(const Firing& firing, std::uint64_t length, Range range, Flip flip) {
  const std::uint64_t all = 8 * length;
  const std::uint64_t first = Below(firing.word, all);
  const auto bits = static_cast<std::uint64_t>(firing.parameters().bits);
  for (std::uint64_t i = 0; i < std::min(bits, all); ++i) {
    const std::uint64_t bit = (first + i) % all;
    const std::uint64_t byte = bit / 8;
    if (byte < range.offset || byte - range.offset >= range.length) continue;
    flip(byte, static_cast<std::byte>(1u << bit % 8));
  }
}

}  // namespace

// ---- When which bytes land ----

// Every piece at a time of its own, or every second one later than the others.
std::vector<FaultModel::Step> FaultModel::PiecesOf(const Firing& placement, Range range,
                                                   const Nic& nic) const {
  const bool shuffled = placement.fault() == Fault::kReorderedSegments;
  std::vector<Step> steps;
  const std::uint64_t piece =
      std::max({std::uint64_t{1}, static_cast<std::uint64_t>(placement.parameters().bytes),
                (range.length + kMostPieces - 1) / kMostPieces});
  const auto spread = std::max<std::uint64_t>(
      1000, static_cast<std::uint64_t>(nic.profile().split_placement_delay.count()));
  for (std::uint64_t at = 0; at < range.length; at += piece) {
    const std::uint64_t word = Combine(placement.word, range.offset + at);
    coro::Duration later =
        (at / piece + placement.word) % 2 == 0 ? coro::Duration() : placement.Delay();
    if (shuffled) later = coro::Duration(static_cast<std::int64_t>(Below(word, spread + 1)));
    steps.push_back({later, {range.offset + at, std::min(piece, range.length - at)}});
  }
  return steps;
}

std::optional<std::vector<FaultModel::Step>> FaultModel::StepsOf(const Fate& fate,
                                                                 const Operation& operation,
                                                                 Range range, Nic& nic) const {
  std::vector<Step> steps;
  if (fate.Fails() && !fate.RunsWhole()) {
    const std::uint64_t end = std::max(range.offset, fate.Placed(operation.length));
    range.length = std::min(range.length, end - range.offset);
    if (range.length > 0) steps.push_back({{}, range});
    return steps;
  }
  if (!fate.placement) return std::nullopt;
  const fabric::faults::Parameters& parameters = fate.placement.parameters();
  const Fault fault = fate.placement.fault();
  if (fault == Fault::kLostPlacement) return steps;
  if (fault == Fault::kCorruptPlacement || fault == Fault::kDuplicatePlacement) {
    steps.push_back({{}, range});
    for (std::int64_t copy = 1; copy <= parameters.copies; ++copy) {
      steps.push_back({fate.placement.Delay() * copy / parameters.copies, range});
      ++nic.counters_.placed_twice;
    }
    return steps;
  }
  const bool in_pieces = fault == Fault::kReorderedSegments || fault == Fault::kTornPlacement ||
                         fault == Fault::kMixedRead;
  if (!in_pieces) return std::nullopt;
  return PiecesOf(fate.placement, range, nic);
}

// ---- Writes, and the data of reads ----

void FaultModel::BeforePlacement(Operation& operation) {
  Fate& fate = FateOf(operation);
  if (!fate.placement || fate.placement.fault() != Fault::kRegionCloses) return;
  if (fate.arrivals++ != Below(fate.placement.word, operation.packets)) return;
  operation.peer->memory().Revoke(operation.remote_key);
  world_.NoteChange();
}

bool FaultModel::Place(Nic& nic, Operation& operation, Range range, std::uint32_t flags) {
  const auto steps = StepsOf(FateOf(operation), operation, range, nic);
  if (!steps.has_value()) return false;
  const auto left = std::make_shared<std::size_t>(steps->size());
  if (steps->empty()) FinishSteps(nic, operation, flags, {range.offset, 0});
  for (const Step& step : *steps) {
    const auto take = [this, &nic, id = operation.id, flags, part = step.range, left] {
      TakeStep(nic, id, flags, part, left);
    };
    if (step.later == coro::Duration::zero()) {
      take();
    } else {
      After(step.later, take);
    }
  }
  return true;
}

void FaultModel::TakeStep(Nic& nic, OperationId id, std::uint32_t flags, Range range,
                          const std::shared_ptr<std::size_t>& left) {
  Operation* operation = world_.operations().Find(id);
  if (operation == nullptr || operation->ended) return;
  if (!nic.alive()) return operation->initiator->StartTimeout(*operation);
  if (!nic.PlacePiece(*operation, flags, range)) return;
  nic.LogPlaced(*operation, flags & Nic::kPacketMask, range, *left > 1);
  if (--*left == 0) FinishSteps(nic, *operation, flags, range);
}

void FaultModel::FinishSteps(Nic& nic, Operation& operation, std::uint32_t flags, Range range) {
  const Fate& fate = FateOf(operation);
  const bool corrupt =
      fate.placement && fate.placement.fault() == Fault::kCorruptPlacement && !IsCut(operation);
  if (corrupt) {
    CorruptBits(fate.placement, operation.length, range, [&](std::uint64_t byte, std::byte mask) {
      if ((flags & Nic::kOfRead) == 0) {
        Flip(world_.bus(), operation.remote_address + byte, mask);
        return;
      }
      operation.Walk({byte, 1}, [&](const Segment& at) { Flip(world_.bus(), at.address, mask); });
    });
  }
  nic.Placed(operation, flags);
}

// ---- To another process ----

std::uint64_t FaultModel::KeptAbroad(const Operation& operation, Range range) const {
  const Fate* fate = Find(operation);
  if (fate == nullptr) return range.length;
  if (fate->placement && fate->placement.fault() == Fault::kLostPlacement) return 0;
  if (!fate->Fails() || fate->RunsWhole()) return range.length;
  const std::uint64_t end = std::max(range.offset, fate->Placed(operation.length));
  return std::min(range.length, end - range.offset);
}

void FaultModel::CorruptAbroad(const Operation& operation, Range range, std::byte* bytes) const {
  const Fate* fate = Find(operation);
  const bool corrupt =
      fate != nullptr && fate->placement && fate->placement.fault() == Fault::kCorruptPlacement;
  if (!corrupt) return;
  CorruptBits(fate->placement, operation.length, range,
              [&](std::uint64_t byte, std::byte mask) { bytes[byte - range.offset] ^= mask; });
}

// ---- Messages ----

bool FaultModel::PlaceMessage(Nic& nic, Operation& operation, Landing& landing) {
  const Fate& fate = FateOf(operation);
  const Range all{0, operation.length};
  const auto steps = StepsOf(fate, operation, all, nic);
  if (!steps.has_value()) return false;
  if (!steps->empty()) {
    landing.rest.resize(operation.length);
    operation.CopyOut(world_.bus(), all, landing.rest.data());
  }
  if (fate.placement.fault() == Fault::kCorruptPlacement) {
    CorruptBits(fate.placement, operation.length, all,
                [&](std::uint64_t byte, std::byte mask) { landing.rest[byte] ^= mask; });
  }
  const std::uint64_t number = nic.next_landing_++;
  nic.landings_.emplace(number, landing);
  coro::Duration last{};
  for (const Step& step : *steps) {
    last = std::max(last, step.later);
    if (step.later == coro::Duration::zero()) {
      LandPiece(nic, number, step.range);
    } else {
      After(step.later,
            [this, &nic, number, range = step.range] { LandPiece(nic, number, range); });
    }
  }
  world_.ScheduleAt(coro::After(world_.Now(), last), &nic, EventKind::kLand, 0, number);
  return true;
}

void FaultModel::LandPiece(Nic& nic, std::uint64_t landing, Range range) {
  const auto found = nic.landings_.find(landing);
  if (found == nic.landings_.end()) return;
  const Landing& message = found->second;
  const QueuePair* target = nic.FindQueuePair(message.queue_pair, message.qkey);
  if (target == nullptr || !nic.alive() || !nic.ReceiveIsValid(*target, message.receive)) return;
  nic.TellPlacingMessage(*target, message.receive, {message.prefix + range.offset, range.length});
  const std::byte* source = message.rest.data() + range.offset;
  message.receive.Walk({message.prefix + range.offset, range.length}, [&](const Segment& piece) {
    world_.bus().Copy(PointerTo(piece.address), source, piece.length);
    source += piece.length;
  });
}

}  // namespace sim
