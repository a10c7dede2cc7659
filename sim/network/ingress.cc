#include "drydock/sim/network/ingress.h"

#include <algorithm>

#include "drydock/sim/network/link.h"

namespace drydock::sim {
namespace {

constexpr std::uint32_t kMostRetransmissions = 8;  // of one packet: then it gets through
// Those that are held back go a little slower than the link could take them: the queue shrinks.
constexpr std::uint64_t kShrinksBy = 16;

std::uint64_t Picoseconds(coro::Duration duration) {
  return static_cast<std::uint64_t>(duration.count()) * 1000;
}

std::uint64_t Picoseconds(coro::Time time) { return Picoseconds(time.time_since_epoch()); }

coro::Duration FromPicoseconds(std::uint64_t ps) {
  return coro::Duration(static_cast<std::int64_t>(ps / 1000));
}

}  // namespace

Ingress::Ingress(const Profile& profile)
    : rate_(
          FemtosecondsPerByte(profile.receive_gbps > 0 ? profile.receive_gbps : profile.link_gbps)),
      target_(Picoseconds(profile.congestion_target)),
      longest_(Picoseconds(profile.incast_queue)),
      retransmit_delay_(Picoseconds(profile.retransmit_delay)),
      answer_(Picoseconds(profile.ack_delay + profile.one_way.fixed)) {}

Passage Ingress::Take(std::uint32_t sender, std::uint64_t bytes_on_link, coro::Time at) {
  const std::uint64_t takes = TimeOnLink(bytes_on_link, rate_);
  const std::uint64_t at_ps = Picoseconds(at);
  // The sender's own link has spaced the packets already: an idle receiver adds nothing.
  free_ps_ = std::max(free_ps_, at_ps - std::min(at_ps, takes)) + takes;
  std::uint64_t wait = free_ps_ > at_ps ? free_ps_ - at_ps : 0;
  Passage passage;
  const bool too_long = longest_ > 0 && wait > longest_;
  const bool slows = target_ > 0 && wait > target_;
  if (slows || too_long) [[unlikely]] {
    Sender& known =
        slow_.try_emplace(sender, Sender{at_ps + target_ + answer_, false}).first->second;
    if (too_long && retransmit_delay_ > 0) {
      const std::uint64_t times = (wait - longest_ + retransmit_delay_ - 1) / retransmit_delay_;
      passage.retransmissions =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(times, kMostRetransmissions));
      passage.impairs = !known.impaired;
      known.impaired = true;
      wait = std::max(wait, passage.retransmissions * retransmit_delay_);
    }
  }
  passage.wait = FromPicoseconds(wait);
  return passage;
}

coro::Duration Ingress::Hold(std::uint32_t sender, std::uint64_t bytes_on_link, coro::Time at,
                             std::uint64_t behind) {
  if (slow_.empty()) return {};  // nearly always
  const std::uint64_t at_ps = Picoseconds(at);
  if (free_ps_ <= at_ps && next_held_ps_ <= at_ps) {
    slow_.clear();
    return {};
  }
  const auto found = slow_.find(sender);
  const bool knows = found != slow_.end() && found->second.slow_from_ps <= at_ps;
  if (!knows || target_ == 0 || free_ps_ <= at_ps + target_) return {};
  const auto takes = [this](std::uint64_t bytes) {
    return TimeOnLink(bytes, rate_) + TimeOnLink(bytes, rate_) / kShrinksBy;
  };
  const std::uint64_t goes = std::max(next_held_ps_, free_ps_ - target_) + takes(bytes_on_link);
  next_held_ps_ = goes + takes(behind);
  return FromPicoseconds(goes - at_ps);
}

}  // namespace drydock::sim
