#include "drydock/sim/device/piece.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "drydock/fabric/operation.h"
#include "drydock/sim/device/split.h"

namespace drydock::sim {
namespace {

constexpr std::uint32_t kPieces = 40;  // of a message that is long enough, at least
constexpr std::uint32_t kMostTogether = 64;

// A packet that is on its way.
struct Departure {
  coro::Duration behind;  // of the slowest path, when it left (Link::behind)
  coro::Duration rest;    // from now until it is in memory, without its flight and its last step
};

// The packets of a piece: all of the same size but the last. Departures are not initialised.
struct Packets {
  Packets(const Profile& profile, std::uint64_t bytes)
      : count(PacketsInPiece(profile, bytes)),
        each(profile.device.mtu),
        last(bytes - (count - 1) * each) {}

  std::uint64_t Payload(std::size_t packet) const { return packet + 1 < count ? each : last; }

  const std::size_t count;
  const std::uint64_t each;  // bytes of payload
  const std::uint64_t last;
  std::array<Departure, kMostTogether> departures;
  coro::Time sent{};       // when the last bit of the last one had left
  std::uint32_t lost = 0;  // how many, and how often
};

// Packets [begin, end), which are of the same size, leave one after the other.
void Depart(const Surroundings& around, NicState& from, NicState& to, bool response,
            coro::Time ready, Packets& packets, std::size_t begin, std::size_t end) {
  const Profile& profile = from.profile;
  const std::uint64_t payload = packets.Payload(begin);
  const std::uint64_t on_link = payload + profile.header_bytes;
  const std::uint64_t slowness = Slowness(from.port, to.port, response);
  const coro::Duration one_way = profile.one_way.fixed;
  const coro::Duration before = profile.dma_latency - around.timeline.now().time_since_epoch();
  Link link = from.port.link;  // a copy stays in registers
  Ingress::Train train(to.port.ingress, from.index(), on_link);
  coro::Time sent{};
  for (std::size_t i = begin; i < end; ++i) {
    sent = link.Send(on_link, ready, slowness);
    const Passage passage = train.Take(sent + one_way);
    if (passage.retransmissions > 0) [[unlikely]] {
      from.counters.Retransmitted(passage.retransmissions, payload, profile.header_bytes);
      packets.lost += passage.retransmissions;
      if (passage.impairs) ++from.counters.impaired_remote_conn_events;
    }
    packets.departures[i] = {.behind = link.behind(),
                             .rest = sent.time_since_epoch() + before + passage.wait};
  }
  packets.sent = sent;
  from.port.link = link;
}

// From the packet's arrival until its last step.
coro::Duration LastStep(const Profile& profile, const Operation& operation, std::uint64_t bytes,
                        std::uint32_t flags) {
  return DrawSplit(profile, operation, flags, bytes).value_or(coro::Duration{});
}

coro::Duration LongestLastStep(const Profile& profile) {
  return profile.split_placement_one_in == 0 ? coro::Duration{} : profile.split_placement_delay;
}

}  // namespace

std::uint32_t PacketsTogether(const Profile& profile, std::uint64_t bytes) {
  const std::uint32_t least = std::min(profile.flow_packets, kMostTogether);
  if (least <= 1) return 1;
  const auto part = static_cast<std::uint32_t>(PacketsInPiece(profile, bytes) / kPieces);
  return std::clamp(part, least, std::min(least + least / 2, kMostTogether));
}

Journey SendTogether(Surroundings& around, NicState& from, NicState& to, const Operation& operation,
                     bool response, std::uint32_t packet, Range range, coro::Time ready) {
  const DrawPurpose purpose = response ? DrawPurpose::kResponse : DrawPurpose::kRequest;
  const bool may_repeat = response || operation.kind == fabric::OperationKind::kWrite;
  const coro::Duration longest = around.wire.longest_ordinary() + LongestLastStep(to.profile);
  Packets packets(from.profile, range.length);
  const std::size_t last = packets.count - 1;
  if (last > 0) Depart(around, from, to, response, ready, packets, 0, last);
  Depart(around, from, to, response, ready, packets, last, packets.count);
  Journey journey{.slowest = {}, .way = coro::Duration(-1), .sent = packets.sent};
  // From the last one on: an earlier one is seldom in later, and need not be followed on its way.
  for (std::size_t i = packets.count; i-- > 0;) {
    const Departure& departure = packets.departures[i];
    const auto number = static_cast<std::uint32_t>(packet + i);
    if (departure.rest + departure.behind + longest <= journey.way &&
        around.wire.IsOrdinary(to.port, operation.draws, purpose, number, operation.undisturbed)) {
      continue;
    }
    const Flight flight = around.wire.Travel(from.port, to.port, operation.draws, purpose, number,
                                             operation.undisturbed, departure.behind);
    if (flight.retransmissions > 0) {
      from.counters.Retransmitted(flight.retransmissions, packets.Payload(i),
                                  from.profile.header_bytes);
      packets.lost += flight.retransmissions;
    }
    const std::uint32_t flags = number | (response ? PacketFlags::kOfRead : 0);
    coro::Duration placed = LastStep(to.profile, operation, packets.Payload(i), flags);
    // A packet that is placed twice is in when both copies are, and all their steps.
    if (flight.twice && may_repeat) {
      ++to.counters.placed_twice;
      placed =
          std::max(placed, flight.second_delay + LastStep(to.profile, operation, packets.Payload(i),
                                                          flags | PacketFlags::kSecondCopy));
    }
    const coro::Duration way = departure.rest + flight.delay + placed;
    if (way <= journey.way) continue;
    journey.way = way;
    journey.slowest = flight;
  }
  journey.slowest.retransmissions = packets.lost;
  journey.slowest.twice = false;
  return journey;
}

}  // namespace drydock::sim
