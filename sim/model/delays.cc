#include "drydock/sim/model/delays.h"

#include <algorithm>
#include <utility>

namespace drydock::sim::model {
namespace {

using Shares = std::vector<double>;

// The nearest number of steps.
std::size_t Steps(coro::Duration duration) {
  return static_cast<std::size_t>((duration + Delays::kStep / 2) / Delays::kStep);
}

// `a`, and after it anything from nothing to `most`.
Shares ThenUniform(const Shares& a, coro::Duration most) {
  const std::size_t width = Steps(most) + 1;
  Shares sum(a.size() + width - 1, 0.0);
  double within = 0;  // of `a`, what is so near that the rest can make up for it
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (i < a.size()) within += a[i];
    if (i >= width) within -= a[i - width];
    sum[i] = within / static_cast<double>(width);
  }
  return sum;
}

// `one_in` of `a` are as in `rare`, which is at least as long.
Shares Sometimes(std::uint32_t one_in, const Shares& a, Shares rare) {
  if (one_in == 0) return a;
  const double share = 1.0 / one_in;
  for (double& part : rare) part *= share;
  for (std::size_t i = 0; i < a.size(); ++i) rare[i] += (1 - share) * a[i];
  return rare;
}

// `a`, so much later.
Shares Later(const Shares& a, coro::Duration by) {
  Shares later(Steps(by), 0.0);
  later.insert(later.end(), a.begin(), a.end());
  return later;
}

Shares Sum(const Shares& a, const Shares& b) {
  Shares sum(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) sum[i + j] += a[i] * b[j];
  }
  return sum;
}

}  // namespace

Delays::Delays(coro::Duration fixed, std::vector<double> shares)
    : fixed_(fixed), shares_(std::move(shares)) {}

Delays Delays::OfFlight(const Profile& profile, coro::Duration behind) {
  const DelayModel& one_way = profile.one_way;
  const Shares usual = ThenUniform(ThenUniform({1.0}, one_way.jitter), profile.path_spread);
  const Shares flight = Sometimes(one_way.tail_one_in, usual, ThenUniform(usual, one_way.tail));
  return Delays(one_way.fixed, Sometimes(profile.paths, flight, Later(flight, behind)));
}

double Delays::MeanSteps() const {
  double steps = 0;
  for (std::size_t i = 0; i < shares_.size(); ++i) steps += static_cast<double>(i) * shares_[i];
  return steps;
}

coro::Duration Delays::mean() const { return fixed_ + Times(kStep, MeanSteps()); }

coro::Duration Delays::MeanOfSum(const Delays& other) const {
  return fixed_ + other.fixed_ + Times(kStep, MeanSteps() + other.MeanSteps());
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

}  // namespace drydock::sim::model
