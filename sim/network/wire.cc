#include "drydock/sim/network/wire.h"

#include <algorithm>

#include "drydock/sim/network/link.h"

namespace drydock::sim {
namespace {

// The words of one packet, and the fields of the first two: path, second copy and loss; jitter and
// tail.
enum Word : unsigned { kChoices, kDelays, kTail, kSecondCopy, kPathSpread, kLosses };
constexpr std::uint32_t kMostRetransmissions = 8;  // of one packet: then it gets through

// The top bits of a word decide, so that a field is moved there.
constexpr std::uint64_t Field(std::uint64_t word, unsigned shift) { return word << shift; }
constexpr unsigned kPathField = 0;
constexpr unsigned kCopyField = 16;
constexpr unsigned kLossField = 40;
constexpr unsigned kJitterField = 0;
constexpr unsigned kTailField = 32;

bool OneIn(std::uint64_t word, std::uint32_t many) { return many != 0 && Below(word, many) == 0; }

coro::Duration UpTo(std::uint64_t word, coro::Duration most) {
  return coro::Duration(
      static_cast<std::int64_t>(Below(word, static_cast<std::uint64_t>(most.count()) + 1)));
}

}  // namespace

Flight Wire::Send(const Port& from, const Port& to, const OperationDraws& draws,
                  DrawPurpose purpose, std::uint32_t packet, bool undisturbed) const {
  Flight flight;
  if (!Passes(from, to)) return flight;
  flight.arrives = true;
  flight.delay = profile_.one_way.fixed;
  const std::uint32_t duplicates = to.profile.duplicate_one_in;
  if ((quiet_ && duplicates == 0) || undisturbed) return flight;
  const std::uint64_t choices = draws.Word(purpose, packet, kChoices);
  const std::uint64_t delays = draws.Word(purpose, packet, kDelays);
  flight.delay += UpTo(Field(delays, kJitterField), profile_.one_way.jitter);
  if (OneIn(Field(delays, kTailField), profile_.one_way.tail_one_in)) [[unlikely]] {
    flight.delay += UpTo(draws.Word(purpose, packet, kTail), profile_.one_way.tail);
  }
  flight.delay += PathDelay(from, to, Below(Field(choices, kPathField), profile_.paths), purpose);
  std::uint64_t loss = Field(choices, kLossField);
  while (OneIn(loss, profile_.retransmit_one_in) && flight.retransmissions < kMostRetransmissions)
    [[unlikely]] {
      flight.delay += profile_.retransmit_delay;
      loss = draws.Word(purpose, packet, kLosses + flight.retransmissions++);
    }
  if (OneIn(Field(choices, kCopyField), duplicates)) [[unlikely]] {
    flight.twice = true;
    flight.second_delay =
        UpTo(draws.Word(purpose, packet, kSecondCopy), to.profile.duplicate_delay);
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
                               DrawPurpose purpose) const {
  const bool waits = path == 0 && purpose != DrawPurpose::kAnswer;
  const coro::Duration queued = waits ? from.link.behind() : coro::Duration::zero();
  if (profile_.path_spread == coro::Duration::zero()) return queued;
  const std::uint64_t pair = std::uint64_t{from.index} << 32 | to.index;
  return queued + UpTo(Combine(path_base_ + pair * 64, path), profile_.path_spread);
}

}  // namespace drydock::sim
