// How the bytes of a packet reach memory: on the harsher side in two steps, the end first, so that
// a program that polls the last byte of a buffer is wrong here as it is on EFA.

#include <utility>

#include "sim/faults/fault_model.h"
#include "sim/nic.h"
#include "sim/world.h"

namespace sim {
namespace {

using fabric::OperationKind;

// Devices that promise it place aligned blocks of this size in one piece, and in order.
constexpr std::uint64_t kInOrderBlock = 128;

// The piece of a packet's bytes that reaches memory last; empty when there is nothing to split.
// `address`: of the byte at range.offset.
Range FirstPiece(Range range, std::uint64_t address, bool in_order_blocks) {
  if (!in_order_blocks) return {range.offset, range.length / 2};
  const std::uint64_t middle = (address + range.length / 2) / kInOrderBlock * kInOrderBlock;
  return {range.offset, middle > address ? middle - address : 0};
}

}  // namespace

Range Nic::FirstOf(const Operation& operation, Range range, bool of_read) const {
  const std::uint64_t base = of_read ? operation.segments[0].address : operation.remote_address;
  return FirstPiece(range, base + range.offset, profile_.device.write_in_order_128);
}

// Whether this packet lands in two steps, and how much later the second one is.
bool Nic::DrawSplit(const Operation& operation, std::uint32_t flags, coro::Duration& later) const {
  if (profile_.split_placement_one_in == 0 || world_.live()) return false;
  if (world_.wire().calm().Has(operation.sequence)) return false;
  const RandomStream draws(world_.seed(), Subsystem::kPlacement, operation.sequence, 0);
  if (Below(draws.At(std::uint64_t{2} * flags), profile_.split_placement_one_in) != 0) return false;
  const auto most = static_cast<std::uint64_t>(profile_.split_placement_delay.count());
  later = coro::Duration(Below(draws.At(std::uint64_t{2} * flags + 1), most + 1));
  return true;
}

void Nic::LogPlaced(const Operation& operation, std::uint32_t packet, Range range,
                    bool rest_comes) {
  world_.Log({.kind = EventKind::kPlace,
              .branch = rest_comes,
              .actor = index_,
              .packet = packet,
              .operation = operation.id.Pack(),
              .bytes = range.length});
  TellPlaced(operation, range);
}

// ---- Writes, and the data of reads ----

bool Nic::Split(Operation& operation, Range& range, std::uint32_t flags) {
  coro::Duration later{};
  const Range first = FirstOf(operation, range, (flags & kOfRead) != 0);
  if (first.length == 0 || !DrawSplit(operation, flags, later)) return false;
  range = {range.offset + first.length, range.length - first.length};
  world_.Schedule(world_.Now() + later, this, EventKind::kPlaceRest, flags, operation.id.Pack());
  return true;
}

// Rights may have ended since the first step.
void Nic::PlaceRest(Operation& operation, std::uint32_t flags) {
  const bool of_read = (flags & kOfRead) != 0;
  const Range range = FirstOf(operation, RangeOf(operation, flags & kPacketMask), of_read);
  if (!PlacePiece(operation, flags, range)) return;
  LogPlaced(operation, flags & kPacketMask, range, false);
  Placed(operation, flags);
}

bool Nic::PlacePiece(Operation& operation, std::uint32_t flags, Range range) {
  const bool of_read = (flags & kOfRead) != 0;
  const auto end = [&](EfaStatus status) {
    of_read ? FinishLocally(operation, status) : Finish(operation, status);
    return false;
  };
  Nic& target_nic = of_read ? *operation.peer : *this;
  const EfaStatus there = target_nic.CheckPlacement(operation, range);
  if (there != EfaStatus::kOk) return end(there);
  if (!operation.initiator->LocalIsValid(operation, range))
    return end(EfaStatus::kLocalInvalidLkey);
  TellPlacing(operation, target_nic, range, (flags & kSecondCopy) != 0);
  std::byte* remote = PointerTo(operation.remote_address + range.offset);
  const bool copied = of_read ? operation.CopyIn(world_.bus(), range, remote)
                              : operation.CopyOut(world_.bus(), range, remote);
  if (!copied) operation.initiator->StartTimeout(operation);
  return copied;
}

// All of a packet's bytes are where they belong.
void Nic::Placed(Operation& operation, std::uint32_t flags) {
  ++operation.placed;
  if (!operation.all_placed()) return;
  if ((flags & kOfRead) != 0) return FinishLocally(operation, EfaStatus::kOk);
  QueuePair* target = FindQueuePair(operation.destination_queue_pair, operation.destination_qkey);
  if (target == nullptr) return Finish(operation, EfaStatus::kRemoteBadQueuePair);
  Written(operation, *target);
}

// ---- Messages ----

// A message takes a receive, `prefix` bytes from its beginning.
void Nic::Deliver(Operation& operation, QueuePair& target, const ReceiveWork& receive,
                  std::uint64_t prefix) {
  Landing landing;
  landing.queue_pair = target.number;
  landing.qkey = target.qkey;
  landing.receive = receive;
  landing.prefix = prefix;
  landing.operation = operation.id;
  landing.completion = FromPeer(operation, target);
  landing.completion.request_id = receive.request_id;
  landing.completion.kind = OperationKind::kReceive;
  landing.completion.length_bytes = static_cast<std::uint32_t>(operation.length + prefix);
  if (!ReceiveIsValid(target, receive)) {
    RefuseReceive(target, receive, EfaStatus::kLocalInvalidLkey);
    if (operation.datagram) return FinishLocally(operation, EfaStatus::kOk);
    return Finish(operation, EfaStatus::kRemoteBadAddress);
  }
  FaultModel* const faults = world_.faults();
  if (faults != nullptr && faults->RefusesReceive(*this, target, operation, landing)) return;
  TellPlacing(operation, *this, {0, operation.length}, false);
  TellPlacingMessage(target, receive, {prefix, operation.length});
  TellLands(operation, target, receive, prefix);
  if (faults != nullptr) {
    if (operation.faulted && faults->PlaceMessage(*this, operation, landing)) return;
  }
  const Range first = FirstPiece({0, operation.length}, 0, profile_.device.send_in_order_128);
  coro::Duration later{};
  if (first.length == 0 || !DrawSplit(operation, kOfMessage, later)) {
    PlaceMessage(operation, landing, {0, operation.length});
    LogPlaced(operation, 0, {0, operation.length}, false);
    return Landed(landing, operation);
  }
  PlaceMessage(operation, landing, {first.length, operation.length - first.length});
  LogPlaced(operation, 0, {first.length, operation.length - first.length}, true);
  landing.rest.resize(first.length);
  operation.CopyOut(world_.bus(), first, landing.rest.data());
  const std::uint64_t number = next_landing_++;
  landings_.emplace(number, std::move(landing));
  world_.Schedule(world_.Now() + later, this, EventKind::kLand, 0, number);
}

void Nic::PlaceMessage(const Operation& operation, const Landing& landing, Range range) {
  std::uint64_t offset = range.offset;
  landing.receive.Walk({landing.prefix + range.offset, range.length}, [&](const Segment& piece) {
    operation.CopyOut(world_.bus(), {offset, piece.length}, PointerTo(piece.address));
    offset += piece.length;
    if (world_.device_listener() != nullptr) [[unlikely]] {
      world_.device_listener()->OnPlaced(*this, operation.id, piece);
    }
  });
}

// The second step. The message is here whatever its sender does meanwhile; the receive's memory may
// be gone.
void Nic::Land(std::uint64_t number) {
  const auto found = landings_.find(number);
  Landing landing = std::move(found->second);
  landings_.erase(found);
  QueuePair* target = FindQueuePair(landing.queue_pair, landing.qkey);
  Operation* operation = world_.operations().Find(landing.operation);
  if (target == nullptr || !alive_) {
    if (operation == nullptr || operation->ended) return;
    if (operation->datagram) return FinishLocally(*operation, EfaStatus::kOk);
    if (!alive_) return operation->initiator->StartTimeout(*operation);
    return Finish(*operation, EfaStatus::kRemoteBadQueuePair);
  }
  if (!ReceiveIsValid(*target, landing.receive)) {
    landing.completion.status = static_cast<std::uint8_t>(EfaStatus::kLocalInvalidLkey);
    landing.completion.length_bytes = 0;
  } else {
    TellPlacingMessage(*target, landing.receive, {landing.prefix, landing.rest.size()});
    const std::byte* source = landing.rest.data();
    landing.receive.Walk({landing.prefix, landing.rest.size()}, [&](const Segment& piece) {
      world_.bus().Copy(PointerTo(piece.address), source, piece.length);
      source += piece.length;
      if (world_.device_listener() != nullptr) [[unlikely]] {
        world_.device_listener()->OnPlaced(*this, landing.operation, piece);
      }
    });
    world_.Log({.kind = EventKind::kPlace,
                .actor = index_,
                .operation = landing.operation.Pack(),
                .bytes = landing.rest.size()});
  }
  Received(*target, landing);
  if (operation == nullptr || operation->ended) return;
  if (operation->datagram) return FinishLocally(*operation, EfaStatus::kOk);
  Finish(*operation,
         landing.completion.status == 0 ? EfaStatus::kOk : EfaStatus::kRemoteBadAddress);
}

void Nic::Landed(const Landing& landing, Operation& operation) {
  Received(*FindQueuePair(landing.queue_pair), landing);
  if (operation.datagram) return FinishLocally(operation, EfaStatus::kOk);
  Finish(operation, EfaStatus::kOk);
}

void Nic::Received(QueuePair& target, const Landing& landing) {
  const bool failed = landing.completion.status != 0;
  ++counters_.recv_wrs;
  if (!failed) counters_.recv_bytes += landing.completion.length_bytes - landing.prefix;
  Count(target, CounterKind::kReceives, failed);
  const bool withheld = landing.fate.any() && world_.faults()->WithholdsReceive(
                                                  *this, target, landing.fate, landing.completion);
  if (withheld) return TellReported(landing.completion, false);
  Report(*target.receive_ring, landing.completion);
}

}  // namespace sim
