#include "drydock/sim/network/ingress.h"

#include <algorithm>

namespace drydock::sim {
namespace {

constexpr std::uint32_t kMostRetransmissions = 8;  // of one packet: then it gets through
// Those that are held back go a little slower than the link could take them: the queue shrinks.
constexpr std::uint64_t kShrinksBy = 16;

std::uint64_t InPicoseconds(coro::Duration duration) {
  return static_cast<std::uint64_t>(duration.count()) * 1000;
}

}  // namespace

Ingress::Ingress(const Profile& profile)
    : rate_(
          FemtosecondsPerByte(profile.receive_gbps > 0 ? profile.receive_gbps : profile.link_gbps)),
      target_(InPicoseconds(profile.congestion_target)),
      longest_(InPicoseconds(profile.incast_queue)),
      short_(std::min(target_ > 0 ? target_ : UINT64_MAX, longest_ > 0 ? longest_ : UINT64_MAX)),
      retransmit_delay_(InPicoseconds(profile.retransmit_delay)),
      answer_(InPicoseconds(profile.ack_delay + profile.one_way.fixed)) {}

Passage Ingress::Queue(std::uint32_t sender, std::uint64_t at_ps, std::uint64_t wait) {
  Passage passage;
  const bool too_long = longest_ > 0 && wait > longest_;
  Sender& known = slow_.try_emplace(sender, Sender{at_ps + target_ + answer_, false}).first->second;
  if (too_long && retransmit_delay_ > 0) {
    const std::uint64_t times = (wait - longest_ + retransmit_delay_ - 1) / retransmit_delay_;
    passage.retransmissions =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(times, kMostRetransmissions));
    passage.impairs = !known.impaired;
    known.impaired = true;
    wait = std::max(wait, passage.retransmissions * retransmit_delay_);
  }
  passage.wait = FromPicoseconds(wait);
  return passage;
}

coro::Duration Ingress::Hold(std::uint32_t sender, std::uint64_t bytes_on_link, coro::Time at,
                             std::uint64_t behind) {
  if (slow_.empty()) return {};  // nearly always
  const std::uint64_t at_ps = InPicoseconds(at.time_since_epoch());
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
