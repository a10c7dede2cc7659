#include "drydock/sim/explore/profile_sweep.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/check.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/ddmin.h"
#include "drydock/sim/explore/traced_run.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim::explore {
namespace {

constexpr std::uint64_t kFigures = 0x66696775726573;
// Sets up to this size are all tried: 12 figures have 299 of them.
constexpr std::size_t kMostTried = 3;

// To three significant digits, for the reader.
std::int64_t Rounded(std::int64_t value) {
  std::int64_t unit = 1;
  while (value / unit >= 1000) unit *= 10;
  return value / unit * unit;
}

// Every power of two in [least, most] as likely as the others.
std::int64_t Spread(std::int64_t least, std::int64_t most, std::uint64_t key) {
  const auto low = static_cast<std::uint64_t>(std::max<std::int64_t>(least, 1));
  const auto high = static_cast<std::uint64_t>(most);
  const int first = std::bit_width(low), last = std::bit_width(high);
  const auto power = static_cast<int>(
      coro::Below(coro::Combine(key, 2), static_cast<std::uint64_t>(last - first) + 1));
  const std::uint64_t floor = std::uint64_t{1} << (first + power - 1);
  const std::uint64_t value = floor + coro::Below(coro::Combine(key, 3), floor);
  return std::max(Rounded(static_cast<std::int64_t>(std::min(value, high))), least);
}

const UnpublishedFigure& FigureOf(const std::string& name) {
  const auto known = UnpublishedFigures();
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
  DD_CHECK(found != known.end(), "a figure that was run");
  return *found;
}

// It has two values: nothing lies between.
bool IsSwitch(const std::string& name) { return FigureOf(name).most - FigureOf(name).least == 1; }

class Search {
 public:
  Search(const Scenario& scenario, const RunSpec& spec, Verdict verdict)
      : scenario_(scenario),
        spec_(spec),
        verdict_(verdict),
        all_(spec.figures.begin(), spec.figures.end()) {}

  absl::StatusOr<Dependence> Run() {
    std::optional<std::vector<std::size_t>> part;
    const std::size_t most = std::min(kMostTried, all_.size());
    for (std::size_t size = 0; size <= most && !part.has_value() && status_.ok(); ++size) {
      part = FirstOf(size);
    }
    if (!part.has_value() && status_.ok()) {
      part = Ddmin(all_.size(), [&](const auto& some) { return Fails(FiguresOf(some)); });
    }
    RETURN_IF_ERROR(status_);
    Dependence found;
    found.figures = FiguresOf(*part);
    if (part->size() == 1 && !IsSwitch(all_[part->front()].first)) {
      found.edge = EdgeOf(all_[part->front()]);
    }
    RETURN_IF_ERROR(status_);
    found.runs = runs_;
    return found;
  }

 private:
  Figures FiguresOf(const std::vector<std::size_t>& part) const {
    Figures figures;
    for (const std::size_t index : part) figures.insert(all_[index]);
    return figures;
  }

  bool Fails(Figures figures) {
    if (!status_.ok()) return false;
    RunSpec spec = spec_;
    spec.figures = std::move(figures);
    ++runs_;
    const auto run = RunIsolated(scenario_, spec);
    if (!run.ok()) status_ = run.status();
    return run.ok() && run->result.verdict == verdict_;
  }

  // The first of all sets of this size, in the order of their names, that fails.
  std::optional<std::vector<std::size_t>> FirstOf(std::size_t size) {
    std::vector<std::size_t> part(size);
    for (std::size_t i = 0; i < size; ++i) part[i] = i;
    for (;;) {
      if (Fails(FiguresOf(part))) return part;
      std::size_t i = size;
      while (i > 0 && part[i - 1] == all_.size() - size + i - 1) --i;
      if (i == 0) return std::nullopt;
      ++part[i - 1];
      for (; i < size; ++i) part[i] = part[i - 1] + 1;
    }
  }

  // By halves, until both sides are within one part in a hundred.
  std::optional<Edge> EdgeOf(const std::pair<std::string, std::int64_t>& figure) {
    const std::string_view name = scenario_.profile();
    const auto profile = FindProfile({name.data(), name.size()});
    DD_CHECK(profile.ok(), "a profile that was run");
    Edge edge{FigureOf(figure.first).get(**profile), figure.second};
    const auto distance = [&] {
      return edge.wrong > edge.right ? edge.wrong - edge.right : edge.right - edge.wrong;
    };
    while (distance() > std::max(edge.right, edge.wrong) / 100 && status_.ok()) {
      const std::int64_t low = std::min(edge.right, edge.wrong);
      const std::int64_t middle = Rounded(low + distance() / 2);
      if (middle <= low) break;
      (Fails({{figure.first, middle}}) ? edge.wrong : edge.right) = middle;
    }
    return edge;
  }

  const Scenario& scenario_;
  const RunSpec& spec_;
  const Verdict verdict_;
  const std::vector<std::pair<std::string, std::int64_t>> all_;
  absl::Status status_;
  std::uint64_t runs_ = 0;
};

}  // namespace

Figures DrawFigures(std::uint64_t seed) {
  Figures figures;
  std::uint64_t index = 0;
  for (const UnpublishedFigure& figure : UnpublishedFigures()) {
    const std::uint64_t key = coro::Combine(coro::Combine(kFigures, seed), index++);
    if (coro::Below(coro::Combine(key, 0), 2) == 0) continue;
    const std::uint64_t how = coro::Below(coro::Combine(key, 1), 4);
    figures[std::string(figure.name)] = how == 0   ? figure.least
                                        : how == 1 ? figure.most
                                                   : Spread(figure.least, figure.most, key);
  }
  return figures;
}

PlanSource WithDrawnFigures(PlanSource plans) {
  plans.figures = &DrawFigures;
  return plans;
}

absl::StatusOr<Dependence> FindDependence(const Scenario& scenario, const RunSpec& spec,
                                          Verdict verdict) {
  return Search(scenario, spec, verdict).Run();
}

}  // namespace drydock::sim::explore
