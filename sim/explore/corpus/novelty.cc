#include "drydock/sim/explore/corpus/novelty.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/fabric/coverage/report.h"

namespace drydock::sim::explore {
namespace {

// 1, 2, 3, 4 (to 7), 5 (and more): the places where a program changes are near to zero.
int Magnitude(std::uint64_t count) {
  return count <= 3 ? static_cast<int>(count) : count <= 7 ? 4 : 5;
}

constexpr int kDrawn = 16;  // features, of which the rarest is picked

std::string Text(std::string_view text) { return std::string(text); }

}  // namespace

std::vector<std::string> FeaturesOf(const SeedResult& result) {
  std::vector<std::string> features = {absl::StrCat("verdict ", Text(Name(result.verdict)))};
  for (const auto& [point, count] : result.coverage.points) {
    if (count.held == 0) continue;
    features.push_back(absl::StrCat("point ", Text(fabric::coverage::Name(point.kind)), " ",
                                    point.name, " x", Magnitude(count.held)));
  }
  for (const auto& [cell, count] : result.coverage.cells) {
    if (count == 0) continue;
    features.push_back(absl::StrCat("cell ", cell.operation, " ", cell.outcome, " ", cell.nic));
  }
  std::sort(features.begin(), features.end());
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

bool Novelty::Add(const SeedResult& result) {
  bool is_new = false;
  for (std::string& name : FeaturesOf(result)) {
    const auto [known, added] = by_name_.try_emplace(std::move(name), features_.size());
    if (added) features_.push_back({.first = kept_});
    ++features_[known->second].runs;
    is_new |= added;
  }
  kept_ += is_new ? 1 : 0;
  return is_new;
}

std::size_t Novelty::Pick(Dice& dice) {
  // What few runs have shown is where the next new thing is likely to be. A pick counts as a run:
  // some things do not come back when their plan is run with another seed.
  Feature* rarest = nullptr;
  for (int i = 0; i < kDrawn; ++i) {
    Feature& feature = features_[dice.IndexOf(features_.size())];
    if (rarest == nullptr || feature.runs + feature.picks < rarest->runs + rarest->picks) {
      rarest = &feature;
    }
  }

  ++rarest->picks;
  return rarest->first;
}

}  // namespace drydock::sim::explore
