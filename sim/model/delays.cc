#include "sim/model/delays.h"

#include <algorithm>
#include <utility>

namespace sim::model {
namespace {

using Shares = std::vector<double>;

// Anything from nothing to `most`.
Shares Uniform(coro::Duration most) {
  const auto steps = static_cast<std::size_t>((most + Delays::kStep / 2) / Delays::kStep);
  return Shares(steps + 1, 1.0 / static_cast<double>(steps + 1));
}

Shares Exactly(coro::Duration duration) {
  Shares shares(static_cast<std::size_t>((duration + Delays::kStep / 2) / Delays::kStep) + 1);
  shares.back() = 1;
  return shares;
}

Shares Sum(const Shares& a, const Shares& b) {
  Shares sum(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) sum[i + j] += a[i] * b[j];
  }
  return sum;
}

// `one_in` of them are as in `rare`, the others nothing.
Shares Sometimes(std::uint32_t one_in, Shares rare) {
  if (one_in == 0) return {1.0};
  const double share = 1.0 / one_in;
  for (double& part : rare) part *= share;
  rare[0] += 1 - share;
  return rare;
}

}  // namespace

Delays::Delays(coro::Duration fixed, std::vector<double> shares)
    : fixed_(fixed), shares_(std::move(shares)) {}

Delays Delays::OfFlight(const Profile& profile, coro::Duration behind) {
  const DelayModel& one_way = profile.one_way;
  const Shares usual = Sum(Uniform(one_way.jitter), Uniform(profile.path_spread));
  const Shares flight = Sum(usual, Sometimes(one_way.tail_one_in, Uniform(one_way.tail)));
  const Shares slowest = Sometimes(profile.paths, Exactly(behind));
  return Delays(one_way.fixed, Sum(flight, slowest));
}

coro::Duration Delays::mean() const {
  double steps = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) steps += static_cast<double>(i) * shares_[i];
  return fixed_ + Times(kStep, steps);
}

Delays Delays::operator+(const Delays& other) const {
  return Delays(fixed_ + other.fixed_, Sum(shares_, other.shares_));
}

Delays Delays::operator+(coro::Duration more) const { return Delays(fixed_ + more, shares_); }

Delays Delays::LastOf(std::size_t count, coro::Duration spacing) const {
  Shares all(shares_.size());  // how often one is not later than so many steps
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = sum += shares_[i];
  Shares last(all.size(), 1.0);
  for (std::size_t j = 0; j < count; ++j) {
    const auto ahead = static_cast<std::size_t>(spacing * static_cast<std::int64_t>(j) / kStep);
    if (ahead >= all.size()) break;  // over before the last one begins
    for (std::size_t i = 0; i + ahead < all.size(); ++i) last[i] *= all[i + ahead];
  }
  for (std::size_t i = last.size() - 1; i > 0; --i) last[i] -= last[i - 1];
  return Delays(fixed_, std::move(last));
}

}  // namespace sim::model
