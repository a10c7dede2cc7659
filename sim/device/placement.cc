#include "drydock/sim/device/placement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/ending.h"
#include "drydock/sim/device/rights.h"
#include "drydock/sim/device/split.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/random.h"

namespace drydock::sim {
namespace {

using fabric::OperationKind;

// The rest of a range when `last` of it comes later.
Range Without(Range range, Range last) {
  return {range.offset + last.length, range.length - last.length};
}

Segment SegmentAt(std::uint64_t address, std::uint64_t length, std::uint32_t key) {
  return {address, static_cast<std::uint32_t>(length), key};
}

// The memory that a write's target or a read's peer names, as one piece.
Segment RemoteMemory(const Operation& operation) {
  return SegmentAt(operation.remote_address, operation.length, operation.remote_key);
}

// With the number by which the packet draws.
std::uint32_t ForDraws(const Operation& operation, std::uint32_t flags) {
  return (flags & ~PacketFlags::kNumber) | operation.FirstOf(PacketFlags::NumberOf(flags));
}

Segment InlinePayload(const Operation& operation) {
  return SegmentAt(reinterpret_cast<std::uint64_t>(operation.inline_data.data()), operation.length,
                   0);
}

}  // namespace

// ---- Bytes ----

// The one place where bytes of operations reach the memory of a machine.
bool Placement::Put(const BytesPlaced& bytes, const Memory& from) {
  around_.observers.Tell<&Observer::OnPlacing>(bytes);
  bool there = true;
  PayloadElsewhere* const payload =
      bytes.reads_source && bytes.operation != nullptr ? bytes.operation->payload : nullptr;
  if (payload == nullptr) [[likely]] {
    // Word by word: a span that was just written is not there in one piece yet.
    const std::span<const Segment> pieces(bytes.memory.data(), bytes.memory.size());
    Copy(from, {pieces, bytes.in_memory.offset, nic_}, bytes.range.length);
  } else {
    std::uint64_t offset = bytes.range.offset;
    WalkSegments(bytes.memory, bytes.in_memory, [&](const Segment& piece) {
      there = payload->Fetch(*bytes.operation, {offset, piece.length}, PointerTo(piece.address)) &&
              there;
      offset += piece.length;
    });
  }
  if (there) around_.observers.Tell<&Observer::OnPlaced>(bytes);
  return there;
}

void Placement::Copy(const Memory& from, const Memory& to, std::uint64_t length) {
  const MemoryBus::Ways ways{.into = to.nic.index(), .from = from.nic.index()};
  if (from.pieces.size() == 1 && to.pieces.size() == 1) {  // nearly always
    return around_.bus.Copy(PointerTo(to.pieces[0].address + to.offset),
                            PointerTo(from.pieces[0].address + from.offset), length, ways);
  }
  std::uint64_t target_offset = to.offset;
  WalkSegments(from.pieces, {from.offset, length}, [&](const Segment& source) {
    const std::byte* bytes = PointerTo(source.address);
    WalkSegments(to.pieces, {target_offset, source.length}, [&](const Segment& target) {
      around_.bus.Copy(PointerTo(target.address), bytes, target.length, ways);
      bytes += target.length;
    });
    target_offset += source.length;
  });
}

// ---- Writes, and the data of reads ----

EfaStatus Placement::Check(const Operation& operation, Range range) const {
  if (operation.kind == OperationKind::kRead) {
    if (!LocalIsStillValid(around_, operation, range)) return EfaStatus::kLocalInvalidLkey;
    return CheckReadSource(around_, operation, range);
  }
  const QueuePair* target =
      nic_.queue_pairs.FindSame(operation.destination_queue_pair, operation.target_serial);
  if (target == nullptr || target->state == QueuePairState::kError) {
    return EfaStatus::kRemoteBadQueuePair;
  }
  if (!RemoteIsValid(around_, nic_, *target, operation, range)) {
    return EfaStatus::kRemoteBadAddress;
  }
  return LocalIsStillValid(around_, operation, range) ? EfaStatus::kOk
                                                      : EfaStatus::kLocalInvalidLkey;
}

bool Placement::Permits(Operation& operation, Range range) {
  const EfaStatus status = Check(operation, range);
  if (status == EfaStatus::kOk) [[likely]] {
    return true;
  }
  EndWherePlaced(around_, nic_, operation, status);
  return false;
}

void Placement::Place(Operation& operation, std::uint32_t flags) {
  Range range = operation.PacketRange(PacketFlags::NumberOf(flags));
  if ((flags & PacketFlags::kSecondCopy) != 0) ++nic_.counters.placed_twice;
  if (operation.faulted) [[unlikely]] {
    const PlacementVerdict verdict = around_.faults->OnPlacement(nic_, operation, range);
    if (verdict.region_closes) operation.peer->memory.Revoke(operation.remote_key);
    if (!verdict.as_usual) return PlaceBySteps(operation, flags, range, verdict);
  }
  if (range.length > nic_.profile.device.mtu) return PlaceWhole(operation, flags, range);
  const auto later = DrawSplit(nic_.profile, operation, ForDraws(operation, flags), range.length);
  if (!later.has_value()) {
    if (PutPiece(operation, flags, range, false)) PacketPlaced(operation);
    return;
  }
  // A packet is refused as a whole.
  if (!Permits(operation, PayloadOf(operation, flags, range))) return;
  const Range last = LastPart(range);
  if (!PutPiece(operation, flags, Without(range, last), true)) return;
  around_.timeline.After(*later, nic_.actor, EventKind::kPlaceRest, flags, operation.id.Pack());
}

// An operation whose packets take no time, or a piece of several: from a random packet on to the
// end, and then from the beginning. A device's memory takes it in one piece, for each costs a
// command of some microseconds.
void Placement::PlaceWhole(Operation& operation, std::uint32_t flags, Range range) {
  const std::uint64_t mtu = nic_.profile.device.mtu;
  const std::uint64_t packets = PacketsInPiece(nic_.profile, range.length);
  const std::uint64_t word =
      operation.draws.Word(DrawPurpose::kPlacement, flags, PlacementWord::kFirstRun);
  const std::uint64_t first = around_.bus.HostOnly() ? Below(word, packets) * mtu : 0;
  const bool two = first > 0;
  if (!PutPiece(operation, flags, {range.offset + first, range.length - first}, two)) return;
  if (two && !PutPiece(operation, flags, {range.offset, first}, false)) return;
  PacketPlaced(operation);
}

void Placement::PlaceRest(Operation& operation, std::uint32_t flags) {
  const Range packet = operation.PacketRange(PacketFlags::NumberOf(flags));
  if (PutPiece(operation, flags, LastPart(packet), false)) PacketPlaced(operation);
}

Range Placement::PayloadOf(const Operation& operation, std::uint32_t flags, Range cut) const {
  if (!nic_.profile.device.data_polling_128) return cut;
  // Of another process only the packet's own bytes are sure to be here.
  const Range all = operation.payload == nullptr
                        ? Range{0, operation.length}
                        : operation.PacketRange(PacketFlags::NumberOf(flags));
  if (operation.kind == OperationKind::kRead) return WholeBlocks(operation.local(), cut, all);
  const Segment remote = RemoteMemory(operation);
  return WholeBlocks(std::span(&remote, 1), cut, all);
}

bool Placement::PutPiece(Operation& operation, std::uint32_t flags, Range cut, bool rest_comes) {
  const Range range = PayloadOf(operation, flags, cut);
  if (!Permits(operation, range)) return false;
  const bool read = operation.kind == OperationKind::kRead;
  const bool second_copy = (flags & PacketFlags::kSecondCopy) != 0;
  if (!second_copy) operation.bytes_placed += range.length;
  if (range.length == 0 && !around_.observers.any()) return true;
  const Segment remote = RemoteMemory(operation);
  const Segment carried = InlinePayload(operation);
  const std::span<const Segment> local =
      operation.is_inline ? std::span(&carried, 1) : operation.local();
  const NicState& target_nic = read ? *operation.peer : nic_;
  const BytesPlaced bytes{.nic = nic_,
                          .id = operation.id,
                          .operation = &operation,
                          .target = target_nic.queue_pairs.Find(operation.destination_queue_pair),
                          .packet = PacketFlags::NumberOf(flags),
                          .range = range,
                          .cut_bytes = cut.length,
                          .read = range,
                          .second_copy = second_copy,
                          .rest_comes = rest_comes,
                          .reads_source = true,
                          .memory = read ? local : std::span(&remote, 1),
                          .in_memory = range};
  const Memory from{read ? std::span(&remote, 1) : local, range.offset, operation.Reader()};
  if (Put(bytes, from)) [[likely]] {
    return true;
  }
  FallSilent(around_, operation);
  return false;
}

void Placement::PacketPlaced(Operation& operation) {
  ++operation.placed;
  if (operation.all_placed()) listener_.OnAllPlaced(operation);
}

// ---- By the steps of a fault plan ----

void Placement::PlaceBySteps(Operation& operation, std::uint32_t flags, Range range,
                             const PlacementVerdict& verdict) {
  if (!Permits(operation, range)) return;
  nic_.counters.placed_twice += verdict.second_copies;
  const Range own = PayloadOf(operation, flags, range);
  const auto left = std::make_shared<std::size_t>(std::max<std::size_t>(verdict.steps.size(), 1));
  const auto take = [this, id = operation.id, flags, flipped = verdict.flipped, own,
                     left](Range part) {
    Operation* found = around_.operations.Find(id);
    if (found == nullptr || found->ended) return;
    if (!nic_.alive()) return FallSilent(around_, *found);
    const bool nothing = part.length == 0;
    if (!nothing && !PutPiece(*found, flags, part, *left > 1)) return;
    if (--*left > 0) return;
    for (FlippedBits bits : flipped) {
      // In the block that lands with the next packet it would be overwritten.
      bits.byte = own.offset + (bits.byte - own.offset) % own.length;
      Flip(*found, bits);
    }
    PacketPlaced(*found);
  };
  if (verdict.steps.empty()) take({range.offset, 0});
  for (const PlacementStep& step : verdict.steps) {
    if (step.later == coro::Duration::zero()) {
      take(step.range);
    } else {
      around_.deferred.After(step.later, [take, part = step.range] { take(part); });
    }
  }
}

void Placement::Flip(const Operation& operation, const FlippedBits& bits) {
  const Segment remote = RemoteMemory(operation);
  const std::span<const Segment> memory =
      operation.kind == OperationKind::kRead ? operation.local() : std::span(&remote, 1);
  WalkSegments(memory, {bits.byte, 1}, [&](const Segment& placed) {
    std::vector<std::byte> scratch;  // a look that no NIC takes, and that shows the device nothing
    const std::byte flipped = *around_.bus.View(placed.address, 1, scratch) ^ bits.mask;
    const Segment carried = SegmentAt(reinterpret_cast<std::uint64_t>(&flipped), 1, 0);
    Copy({std::span(&carried, 1), 0, nic_}, {memory, bits.byte, nic_}, 1);
  });
}

// ---- Messages ----

void Placement::PlaceMessage(Operation& operation, QueuePair& target, Landing landing) {
  around_.observers.Tell<&Observer::OnMessageLands>(nic_, target, operation, landing.receive,
                                                    landing.prefix);
  const Range all{0, operation.length};
  if (operation.faulted) [[unlikely]] {
    const PlacementVerdict verdict = around_.faults->OnPlacement(nic_, operation, all);
    if (!verdict.as_usual) return LandBySteps(operation, target, std::move(landing), verdict);
  }
  const auto later = DrawSplit(nic_.profile, operation, PacketFlags::kOfMessage, operation.length);
  if (!later.has_value()) {
    PutMessage(landing, &operation, target, all, false);
    return listener_.OnLanded(target, landing, &operation);
  }
  const Range last = LastPart(all);
  PutMessage(landing, &operation, target, Without(all, last), true);
  landing.rest = last;
  const std::uint64_t number = Stage(operation, target, last.length, std::move(landing));
  around_.timeline.After(*later, nic_.actor, EventKind::kLand, 0, number);
}

void Placement::PlaceBeginning(Operation& operation, const QueuePair& target,
                               const ReceiveWork& receive, std::uint64_t prefix,
                               std::uint64_t length) {
  Landing landing;
  landing.receive = receive;
  landing.prefix = prefix;
  landing.operation = operation.id;
  landing.completion.length_bytes = static_cast<std::uint32_t>(prefix + length);
  PutMessage(landing, &operation, target, {0, length}, false);
}

// From the sender's memory, or from the staged bytes of it.
void Placement::PutMessage(const Landing& landing, Operation* operation, const QueuePair& target,
                           Range cut, bool rest_comes) {
  const std::span<const Segment> memory = landing.receive.memory();
  const std::uint64_t prefix = landing.prefix;
  Range in_memory{prefix + cut.offset, cut.length};
  if (nic_.profile.device.data_polling_128) {
    in_memory = WholeBlocks(memory, in_memory, {prefix, landing.completion.length_bytes - prefix});
  }
  const Range range{in_memory.offset - prefix, in_memory.length};
  const bool staged = !landing.staged.empty();
  const Segment carried = staged ? SegmentAt(reinterpret_cast<std::uint64_t>(landing.staged.data()),
                                             landing.staged.size(), 0)
                          : operation->is_inline ? InlinePayload(*operation)
                                                 : Segment{};
  const bool own = staged || operation->is_inline;
  const BytesPlaced bytes{.nic = nic_,
                          .id = landing.operation,
                          .operation = operation,
                          .target = &target,
                          .packet = 0,
                          .range = range,
                          .cut_bytes = cut.length,
                          // Bytes that are placed later leave the sender's memory now as well.
                          .read = rest_comes && !staged ? Range{0, operation->length} : range,
                          .second_copy = false,
                          .rest_comes = rest_comes,
                          .reads_source = !staged,
                          .receive = &landing.receive,
                          .memory = memory,
                          .in_memory = in_memory};
  // Bytes that have left their sender are in memory of our own.
  const Memory from{own ? std::span(&carried, 1) : operation->local(), range.offset,
                    own ? nic_ : operation->Reader()};
  Put(bytes, from);
}

// The message's first bytes leave its sender; they land when the landing's events say.
std::uint64_t Placement::Stage(const Operation& operation, QueuePair& target, std::uint64_t length,
                               Landing landing) {
  target.landing.push_back(landing.receive.request_id);
  landing.staged.resize(length);
  if (operation.payload != nullptr) {
    operation.payload->Fetch(operation, {0, length}, landing.staged.data());
  } else {
    const Segment carried = InlinePayload(operation);
    const Segment staged =
        SegmentAt(reinterpret_cast<std::uint64_t>(landing.staged.data()), length, 0);
    Copy({operation.is_inline ? std::span(&carried, 1) : operation.local(), 0, operation.Reader()},
         {std::span(&staged, 1), 0, nic_}, length);
  }
  const std::uint64_t number = next_landing_++;
  landings_.emplace(number, std::move(landing));
  return number;
}

void Placement::LandBySteps(const Operation& operation, QueuePair& target, Landing landing,
                            const PlacementVerdict& verdict) {
  nic_.counters.placed_twice += verdict.second_copies;
  const std::uint64_t number =
      Stage(operation, target, verdict.steps.empty() ? 0 : operation.length, std::move(landing));
  std::vector<std::byte>& staged = landings_.at(number).staged;
  for (const FlippedBits& bits : verdict.flipped) {
    if (bits.byte < staged.size()) staged[bits.byte] ^= bits.mask;
  }
  coro::Duration last{};
  for (const PlacementStep& step : verdict.steps) {
    last = std::max(last, step.later);
    if (step.later == coro::Duration::zero()) {
      LandPiece(number, step.range);
    } else {
      around_.deferred.After(step.later,
                             [this, number, range = step.range] { LandPiece(number, range); });
    }
  }
  around_.timeline.At(coro::After(around_.timeline.now(), last), nic_.actor, EventKind::kLand, 0,
                      number);
}

void Placement::LandPiece(std::uint64_t number, Range range) {
  const auto found = landings_.find(number);
  if (found == landings_.end()) return;
  const Landing& landing = found->second;
  const QueuePair* target = nic_.queue_pairs.FindSame(landing.queue_pair, landing.serial);
  if (target == nullptr || target->state == QueuePairState::kError || !nic_.alive()) return;
  if (!ReceiveIsValid(around_, nic_, *target, landing.receive)) return;
  PutMessage(landing, around_.operations.Find(landing.operation), *target, range, true);
}

// The message is here whatever its sender does meanwhile; the receive's memory may be gone.
void Placement::Land(std::uint64_t number) {
  const auto found = landings_.find(number);
  Landing landing = std::move(found->second);
  landings_.erase(found);
  QueuePair* target = nic_.queue_pairs.FindSame(landing.queue_pair, landing.serial);
  Operation* operation = around_.operations.Find(landing.operation);
  if (operation != nullptr && operation->ended) operation = nullptr;
  if (target == nullptr || !nic_.alive()) {
    if (operation == nullptr) return;
    if (operation->datagram) return EndUnanswered(around_, *operation, EfaStatus::kOk);
    if (!nic_.alive()) return FallSilent(around_, *operation);
    return Answer(around_, nic_, *operation, EfaStatus::kRemoteBadQueuePair);
  }
  const auto lands =
      std::find(target->landing.begin(), target->landing.end(), landing.receive.request_id);
  if (lands != target->landing.end()) target->landing.erase(lands);
  const bool flushed = target->state == QueuePairState::kError;
  if (flushed || !ReceiveIsValid(around_, nic_, *target, landing.receive)) {
    landing.completion.status =
        static_cast<std::uint8_t>(flushed ? EfaStatus::kFlushed : EfaStatus::kLocalInvalidLkey);
    landing.completion.length_bytes = 0;
  } else if (landing.rest.length > 0) {
    PutMessage(landing, operation, *target, landing.rest, false);
  }
  listener_.OnLanded(*target, landing, operation);
}

}  // namespace drydock::sim
