#include "sim/wire.h"

#include "sim/nic.h"

namespace sim {
namespace {

// Numbers of the draws of one packet; each packet has a range of its own.
enum Draw : std::uint64_t { kPath, kDuplicate, kDuplicateDelay, kFirstLoss };
constexpr std::uint64_t kMostRetransmissions = 8;  // of one packet: then it gets through
constexpr std::uint64_t kDrawsPerPacket = 16;
static_assert(kFirstLoss + kMostRetransmissions <= kDrawsPerPacket);

bool OneIn(std::uint64_t word, std::uint32_t many) { return many != 0 && Below(word, many) == 0; }

coro::Duration UpTo(std::uint64_t word, coro::Duration most) {
  return coro::Duration(Below(word, static_cast<std::uint64_t>(most.count()) + 1));
}

}  // namespace

Flight Wire::Send(const Nic& from, const Nic& to, std::uint64_t operation, PacketKind kind,
                  std::uint32_t packet) const {
  Flight flight;
  if (!Passes(from, to)) return flight;
  flight.arrives = true;
  if (calm_.Has(operation)) {
    flight.delay = profile_.one_way.fixed;
    return flight;
  }
  const auto purpose = 2 * static_cast<std::uint64_t>(kind);
  const RandomStream delays(seed_, Subsystem::kWire, operation, purpose);
  const RandomStream choices(seed_, Subsystem::kWire, operation, purpose + 1);
  const std::uint64_t first = kDrawsPerPacket * packet;
  flight.delay = profile_.one_way.Draw(delays, packet) +
                 PathDelay(from, to, Below(choices.At(first + kPath), profile_.paths), kind);
  while (
      flight.retransmissions < kMostRetransmissions &&
      OneIn(choices.At(first + kFirstLoss + flight.retransmissions), profile_.retransmit_one_in)) {
    ++flight.retransmissions;
    flight.delay += profile_.retransmit_delay;
  }
  if (OneIn(choices.At(first + kDuplicate), to.profile().duplicate_one_in)) {
    flight.twice = true;
    flight.second_delay = UpTo(choices.At(first + kDuplicateDelay), to.profile().duplicate_delay);
  }
  return flight;
}

bool Wire::IsAlive(const Nic& nic) { return nic.alive(); }

bool Wire::IsBlocked(const Nic& from, const Nic& to) const {
  return blocked_.count({from.index(), to.index()}) > 0;
}

// Path 0 is the one that falls behind. An answer is short, and does not wait there.
coro::Duration Wire::PathDelay(const Nic& from, const Nic& to, std::uint64_t path,
                               PacketKind kind) const {
  const bool waits = path == 0 && kind != PacketKind::kAnswer;
  const coro::Duration queued = waits ? from.link().behind() : coro::Duration::zero();
  if (profile_.path_spread == coro::Duration::zero()) return queued;
  const std::uint64_t pair = std::uint64_t{from.index()} << 32 | to.index();
  const RandomStream stream(seed_, Subsystem::kPath, pair, 0);
  return queued + UpTo(stream.At(path), profile_.path_spread);
}

void Wire::Block(const Nic& from, const Nic& to) { blocked_.insert({from.index(), to.index()}); }
void Wire::Unblock(const Nic& from, const Nic& to) { blocked_.erase({from.index(), to.index()}); }

}  // namespace sim
