#include "drydock/sim/network/wire.h"

#include <algorithm>

#include "drydock/sim/network/link.h"

namespace drydock::sim {
namespace {

constexpr std::uint32_t kMostRetransmissions = 8;  // of one packet: then it gets through

coro::Duration UpTo(std::uint64_t word, coro::Duration most) {
  return coro::Duration(
      static_cast<std::int64_t>(Below(word, static_cast<std::uint64_t>(most.count()) + 1)));
}

}  // namespace

Flight Wire::Send(const Port& from, const Port& to, const OperationDraws& draws,
                  DrawPurpose purpose, std::uint32_t packet, bool undisturbed) const {
  if (!Passes(from, to)) return {};
  return Travel(from, to, draws, purpose, packet, undisturbed, from.link.behind());
}

Flight Wire::Travel(const Port& from, const Port& to, const OperationDraws& draws,
                    DrawPurpose purpose, std::uint32_t packet, bool undisturbed,
                    coro::Duration behind) const {
  Flight flight;
  flight.arrives = true;
  flight.delay = profile_.one_way.fixed;
  if (IsCalm(to, undisturbed)) return flight;
  const PacketDraws drawn(draws, purpose, packet);
  flight.delay += UpTo(drawn.jitter(), profile_.one_way.jitter);
  if (tail_(drawn.tail())) [[unlikely]] {
    flight.delay += UpTo(draws.Word(purpose, packet, PacketWord::kTail), profile_.one_way.tail);
  }
  flight.delay += PathDelay(from, to, Below(drawn.path(), profile_.paths), purpose, behind);
  std::uint64_t loss = drawn.loss();
  while (lost_(loss) && flight.retransmissions < kMostRetransmissions) [[unlikely]] {
      flight.delay += profile_.retransmit_delay;
      loss = draws.Word(purpose, packet, PacketWord::kLosses + flight.retransmissions++);
    }
  if (to.twice(drawn.copy())) [[unlikely]] {
    flight.twice = true;
    flight.second_delay =
        UpTo(draws.Word(purpose, packet, PacketWord::kSecondCopy), to.profile.duplicate_delay);
  }
  return flight;
}

std::uint64_t Slowness(const Port& from, const Port& to, bool response) {
  const Profile& profile = from.profile;
  std::uint64_t slowness = 0;
  const auto limit = [&](bool applies, double gbps) {
    if (applies && gbps > 0) slowness = std::max(slowness, FemtosecondsPerByte(gbps));
  };
  limit(from.rail != to.rail, profile.crossing_gbps);
  limit(from.index == to.index, profile.loopback_gbps);
  limit(response, profile.read_gbps);
  return slowness;
}

// Path 0 is the one that falls behind. An answer is short, and does not wait there.
coro::Duration Wire::PathDelay(const Port& from, const Port& to, std::uint64_t path,
                               DrawPurpose purpose, coro::Duration behind) const {
  const bool waits = path == 0 && purpose != DrawPurpose::kAnswer;
  const coro::Duration queued = waits ? behind : coro::Duration::zero();
  if (profile_.path_spread == coro::Duration::zero()) return queued;
  const std::uint64_t pair = std::uint64_t{from.index} << 32 | to.index;
  return queued + UpTo(Combine(path_base_ + pair * 64, path), profile_.path_spread);
}

}  // namespace drydock::sim
