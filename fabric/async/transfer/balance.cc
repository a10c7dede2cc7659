#include "drydock/fabric/async/transfer/balance.h"

#include <algorithm>

#include "drydock/coro/check.h"

namespace drydock::fabric::async::transfer {
namespace {

// A NIC of which nothing is known yet gets so much of its window at first.
constexpr std::uint32_t kFirstAllowance = 16;
// How much later than the others a NIC may finish.
constexpr double kSlack = 1.25;
// How many times as much as the others a receiving NIC may have under way.
constexpr std::uint64_t kMostShares = 2;

}  // namespace

Finish::Finish(const std::vector<const Share*>& shares, std::uint64_t left, std::uint64_t bytes)
    : bytes_(std::max<std::uint64_t>(bytes, 1)) {
  for (const Share* share : shares) best_rate_ = std::max(best_rate_, share->rate());
  if (best_rate_ == 0) best_rate_ = 1;
  double rates = 0;
  double work = static_cast<double>(left);
  double first = 0;
  for (const Share* share : shares) {
    rates += share->rate() > 0 ? share->rate() : best_rate_;
    work += static_cast<double>(share->under_way());
    const double expected = Expected(*share);
    first = first == 0 ? expected : std::min(first, expected);
  }
  limit_ = kSlack * std::max(first, rates == 0 ? 0 : work / rates);
}

Balance::Balance(const BalanceOptions& options) : near_first_(options.near_first) {
  for (const std::uint32_t window : options.windows) {
    nics_.push_back({.window = window, .allowed = std::min(window, kFirstAllowance)});
  }
  for (std::uint32_t i = 0; i < nics_.size(); ++i) {
    if (std::find(near_first_.begin(), near_first_.end(), i) == near_first_.end()) {
      near_first_.push_back(i);
    }
  }
}

std::uint32_t Balance::AddPeer(const std::vector<std::vector<bool>>& reachable,
                               std::uint64_t first) {
  DD_CHECK(reachable.size() == nics_.size(), "a peer is known by every NIC");
  Peer peer;
  peer.nics.resize(reachable.front().size());
  peer.first = first;
  for (const std::vector<bool>& remotes : reachable) {
    for (const bool reached : remotes) peer.ways.push_back(reached ? Way::kUp : Way::kNone);
  }
  peers_.push_back(std::move(peer));
  return static_cast<std::uint32_t>(peers_.size() - 1);
}

bool Balance::HasRoom() const {
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    if (room(i) > 0) return true;
  }
  return false;
}

bool Balance::AnyAlive() const {
  return std::any_of(nics_.begin(), nics_.end(), [](const Nic& nic) { return nic.alive; });
}

bool Balance::Reaches(const Peer& peer, std::size_t nic, Way at_least) const {
  for (std::size_t remote = 0; remote < peer.nics.size(); ++remote) {
    if (WayOf(peer, nic, remote) <= at_least) return true;
  }
  return false;
}

// ---- Our NIC ----

void Balance::Order(const Wish& wish) {
  const std::size_t count = nics_.size();
  order_.clear();
  if (wish.policy == Policy::kNearFirst) {
    order_.assign(near_first_.begin(), near_first_.end());
    return;
  }
  std::size_t first = turn_;
  if (wish.policy == Policy::kByPeer) first = wish.peer;
  if (wish.policy == Policy::kPinned) first = wish.nic;
  for (std::size_t i = 0; i < count; ++i) order_.push_back((first + i) % count);
}

Balance::Answer Balance::Choose(const Wish& wish, Route& route) {
  Order(wish);
  const Answer answer = Pick(wish, Way::kUp, order_, route);
  if (answer != Answer::kNone) return answer;
  // Every way has failed once: those that may work again are tried again.
  return Pick(wish, Way::kFailed, order_, route);
}

Balance::Answer Balance::Pick(const Wish& wish, Way at_least, const std::vector<std::size_t>& order,
                              Route& route) {
  const Peer& peer = peers_[wish.peer];
  const bool one_nic = wish.policy == Policy::kByPeer || wish.policy == Policy::kPinned;
  // Where it has failed it goes only if it must.
  std::size_t reaching = 0;
  for (const std::size_t nic : order) {
    reaching += nics_[nic].alive && Reaches(peer, nic, at_least);
  }
  if (reaching == 0) return Answer::kNone;
  shares_.clear();
  for (const std::size_t nic : order) {
    if (nics_[nic].alive && Reaches(peer, nic, at_least)) shares_.push_back(&nics_[nic].share);
  }
  const Finish finish(shares_, wish.left, wish.bytes);
  std::optional<std::size_t> best;
  for (const std::size_t nic : order) {
    if (!nics_[nic].alive || !Reaches(peer, nic, at_least)) continue;
    const bool failed_here = wish.avoid.has_value() && wish.avoid->nic == nic && reaching > 1;
    if (failed_here) continue;
    const Share& share = nics_[nic].share;
    // A page that failed goes at once, whichever NIC has to take it.
    const bool may = one_nic || wish.avoid.has_value() || finish.Allows(share);
    const bool fits = room(nic) > 0 && may;
    if (fits &&
        (!best.has_value() || finish.Expected(share) < finish.Expected(nics_[*best].share))) {
      best = nic;
    }
    // The first that can is it; and where one NIC is wanted, another one only if that cannot at
    // all.
    if (one_nic || (best.has_value() && wish.policy != Policy::kByBytes)) break;
  }
  if (!best.has_value()) return Answer::kBusy;
  const std::optional<std::size_t> remote = PickRemote(peer, *best, at_least, wish);
  DD_CHECK(remote.has_value(), "a NIC that reaches the peer reaches one of its NICs");
  route.nic = static_cast<std::uint16_t>(*best);
  route.remote = static_cast<std::uint16_t>(*remote);
  route.failed_before = WayOf(peer, *best, *remote) == Way::kFailed;
  if (wish.policy == Policy::kRoundRobin || wish.policy == Policy::kSplit) turn_ = *best + 1;
  return Answer::kFound;
}

// ---- The peer's NIC ----

std::optional<std::size_t> Balance::PickRemote(const Peer& peer, std::size_t nic, Way at_least,
                                               const Wish& wish) {
  const std::size_t count = peer.nics.size();
  std::vector<const Share*>& shares = shares_;
  shares.clear();
  std::uint64_t under_way = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (WayOf(peer, nic, i) > at_least) continue;
    shares.push_back(&peer.nics[i]);
    under_way += peer.nics[i].under_way();
  }
  if (shares.empty()) return std::nullopt;
  const std::size_t all = shares.size();
  const Finish finish(shares, wish.left, wish.bytes);
  std::optional<std::size_t> best;
  // One that is crowded is better than the one where this page has failed: if that is silent, the
  // device has to find it out once more, by another of our NICs.
  enum Rank { kFits, kCrowded, kFailedHere } best_rank = kFailedHere;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t remote = (peer.first + i) % count;
    if (WayOf(peer, nic, remote) > at_least) continue;
    const Share& share = peer.nics[remote];
    const bool failed_here = wish.avoid.has_value() && wish.avoid->remote == remote;
    // One that is silent must not end up with the whole window.
    const std::uint64_t others =
        (under_way - share.under_way()) / std::max<std::size_t>(1, all - 1);
    const bool crowded = all > 1 && share.under_way() >= kMostShares * std::max(others, wish.bytes);
    const Rank rank = failed_here                        ? kFailedHere
                      : crowded || !finish.Allows(share) ? kCrowded
                                                         : kFits;
    // Among those that fit: the one that received least. Among those that do not: the one that has
    // least under way.
    const bool better =
        !best.has_value() || rank < best_rank ||
        (rank == best_rank && (rank == kFits ? share.total() < peer.nics[*best].total()
                                             : share.under_way() < peer.nics[*best].under_way()));
    if (!better) continue;
    best = remote;
    best_rank = rank;
  }
  return best;
}

std::optional<std::uint16_t> Balance::ChooseRemote(std::uint32_t peer, std::size_t nic,
                                                   std::uint64_t bytes, std::uint64_t left) {
  Wish wish;
  wish.peer = peer;
  wish.bytes = bytes;
  wish.left = left;
  const std::optional<std::size_t> remote = PickRemote(peers_[peer], nic, Way::kUp, wish);
  if (!remote.has_value()) return std::nullopt;
  return static_cast<std::uint16_t>(*remote);
}

// ---- The outcome of chunks ----

void Balance::Given(std::uint32_t peer, const Route& route, std::uint32_t pages,
                    std::uint64_t bytes, coro::Time now) {
  under_way_ += pages;
  peers_[peer].under_way += pages;
  nics_[route.nic].pages += pages;
  nics_[route.nic].share.Given(bytes, now);
  peers_[peer].nics[route.remote].Given(bytes, now);
}

void Balance::Ended(std::uint32_t peer, const Route& route, std::uint32_t pages,
                    std::uint64_t bytes, std::uint64_t failed_bytes, coro::Time now) {
  Nic& nic = nics_[route.nic];
  nic.pages -= pages;
  nic.allowed = std::min(nic.window, nic.allowed + pages);
  nic.share.Ended(bytes, failed_bytes, now);
  peers_[peer].nics[route.remote].Ended(bytes, failed_bytes, now);
  under_way_ -= pages;
  peers_[peer].under_way -= pages;
  if (peers_[peer].under_way > 0) return;
  for (Share& resting : peers_[peer].nics) resting.Rest();
  if (under_way_ > 0) return;
  for (Nic& resting : nics_) resting.share.Rest();
}

void Balance::Failed(std::uint32_t peer, const Route& route, bool for_good) {
  Way& way = peers_[peer].ways[route.nic * peers_[peer].nics.size() + route.remote];
  if (way != Way::kNone) way = for_good ? Way::kNone : Way::kFailed;
}

void Balance::Worked(std::uint32_t peer, const Route& route) {
  Way& way = peers_[peer].ways[route.nic * peers_[peer].nics.size() + route.remote];
  if (way == Way::kFailed) way = Way::kUp;
}

}  // namespace drydock::fabric::async::transfer
