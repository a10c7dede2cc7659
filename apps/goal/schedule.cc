#include "drydock/apps/goal/schedule.h"

#include <algorithm>

namespace drydock::apps::goal {

std::uint32_t Schedule::RankOf(OpIndex op) const {
  const auto next = std::upper_bound(ranks_.begin(), ranks_.end(), std::pair(op, UINT32_MAX));
  return std::prev(next)->second;
}

bool operator==(const Schedule& a, const Schedule& b) {
  if (a.ranks() != b.ranks()) return false;
  for (std::uint32_t rank = 0; rank < a.ranks(); ++rank) {
    // A lambda cannot capture a structured binding by its name everywhere.
    const OpIndex a_begin = a.OpsOf(rank).first;
    const OpIndex a_end = a.OpsOf(rank).second;
    const OpIndex b_begin = b.OpsOf(rank).first;
    const OpIndex b_end = b.OpsOf(rank).second;
    if (!std::ranges::equal(a.ops().subspan(a_begin, a_end - a_begin),
                            b.ops().subspan(b_begin, b_end - b_begin))) {
      return false;
    }
    for (OpIndex i = 0; i < a_end - a_begin; ++i) {
      const auto same = [a_begin, b_begin](const Edge& of_a, const Edge& of_b) {
        return of_a.after - a_begin == of_b.after - b_begin && of_a.begins == of_b.begins;
      };
      if (!std::ranges::equal(a.Followers(a_begin + i), b.Followers(b_begin + i), same)) {
        return false;
      }
    }
  }
  return true;
}

void ScheduleBuilder::BeginRank(std::uint32_t rank) {
  open_ = rank;
  const auto begin = static_cast<OpIndex>(size());
  schedule_.spans_[rank] = {begin, begin};
  schedule_.ranks_.emplace_back(begin, rank);
}

OpIndex ScheduleBuilder::Add(const Op& op) {
  schedule_.ops_.push_back(op);
  schedule_.cpus_ = std::max(schedule_.cpus_, op.cpu + 1u);
  schedule_.nics_ = std::max(schedule_.nics_, op.nic + 1u);
  if (op.kind == Kind::kSend) schedule_.longest_ = std::max(schedule_.longest_, op.amount);
  return static_cast<OpIndex>(size() - 1);
}

std::optional<OpIndex> ScheduleBuilder::EndRank() {
  const OpIndex begin = schedule_.spans_[open_].first;
  const auto end = static_cast<OpIndex>(size());
  schedule_.spans_[open_].second = end;
  // Each wait goes behind those for the same operation, in the order in which they were said.
  std::vector<std::uint32_t>& begins = schedule_.edge_begin_;
  const std::uint32_t base = begins.back();
  std::vector<std::uint32_t> next(end - begin + 1, 0);
  for (const auto& [other, edge] : waits_) ++next[other - begin + 1];
  next[0] = base;
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  begins.insert(begins.end(), next.begin() + 1, next.end());
  schedule_.edges_.resize(base + waits_.size());
  for (const auto& [other, edge] : waits_) schedule_.edges_[next[other - begin]++] = edge;
  waits_.clear();
  return FindCycle();
}

// Takes away operations that wait for no other, until none is left, or only those that wait in a
// circle and those behind them.
std::optional<OpIndex> ScheduleBuilder::FindCycle() const {
  const auto [begin, end] = schedule_.spans_[open_];
  std::vector<std::uint32_t> waits(end - begin, 0);
  for (OpIndex op = begin; op < end; ++op) {
    for (const Edge& edge : schedule_.Followers(op)) ++waits[edge.after - begin];
  }
  std::vector<OpIndex> free;
  for (OpIndex op = begin; op < end; ++op) {
    if (waits[op - begin] == 0) free.push_back(op);
  }
  std::size_t taken = 0;
  while (!free.empty()) {
    const OpIndex op = free.back();
    free.pop_back();
    ++taken;
    for (const Edge& edge : schedule_.Followers(op)) {
      if (--waits[edge.after - begin] == 0) free.push_back(edge.after);
    }
  }
  if (taken == end - begin) return std::nullopt;
  // From one of them back along what it waits for, as many steps as there are operations: then it
  // is in a circle.
  std::vector<OpIndex> before(end - begin, 0);
  for (OpIndex op = begin; op < end; ++op) {
    if (waits[op - begin] == 0) continue;
    for (const Edge& edge : schedule_.Followers(op)) before[edge.after - begin] = op;
  }
  OpIndex op = begin;
  while (waits[op - begin] == 0) ++op;
  for (OpIndex i = begin; i < end; ++i) op = before[op - begin];
  return op;
}

}  // namespace drydock::apps::goal
