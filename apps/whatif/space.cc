#include "drydock/apps/whatif/space.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/whatif/choices.h"
#include "drydock/apps/whatif/question.h"
#include "drydock/fabric/async/transfer/policy.h"

namespace drydock::apps::whatif {
namespace {

using sim::model::Policy;
using sim::model::Workload;

std::string Count(std::uint64_t value) { return absl::StrCat(value); }

// first, first * factor, ..., and `most`.
std::vector<std::uint64_t> Powers(std::uint64_t first, std::uint64_t factor, std::uint64_t most) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = first; value < most; value *= factor) values.push_back(value);
  values.push_back(most);
  return values;
}

// Numbers from small to large; 0 stands for the largest of all, as flags have it.
template <typename T>
Dimension Numbers(const std::string& name, std::vector<std::uint64_t> values, const Workload& plain,
                  T Workload::*member, const std::function<std::string(std::uint64_t)>& label) {
  const std::uint64_t own = plain.*member;
  if (std::find(values.begin(), values.end(), own) == values.end()) values.push_back(own);
  std::sort(values.begin(), values.end(),
            [](std::uint64_t a, std::uint64_t b) { return a - 1 < b - 1; });
  Dimension dimension{.name = name, .values = {}};
  for (const std::uint64_t value : values) {
    if (value == own) dimension.plain = dimension.values.size();
    dimension.values.push_back(
        {label(value), [member, value](Workload& load) { load.*member = static_cast<T>(value); }});
  }
  return dimension;
}

template <typename T>
struct Named {
  std::string label;
  T value;
};

// Values without an order.
template <typename T>
Dimension Words(const std::string& name, const std::vector<Named<T>>& values, const Workload& plain,
                T Workload::*member) {
  Dimension dimension{.name = name, .ordered = false, .values = {}};
  for (const Named<T>& each : values) {
    if (plain.*member == each.value) dimension.plain = dimension.values.size();
    dimension.values.push_back(
        {each.label, [member, value = each.value](Workload& load) { load.*member = value; }});
  }
  return dimension;
}

template <typename T, std::size_t kCount>
std::vector<Named<T>> AllOf(const Choice<T> (&choices)[kCount]) {
  std::vector<Named<T>> values;
  for (const Choice<T>& choice : choices)
    values.push_back({std::string(choice.name), choice.value});
  return values;
}

std::vector<Named<Policy>> AllPolicies() {
  std::vector<Named<Policy>> values;
  for (int i = 0; i < fabric::async::transfer::kPolicyCount; ++i) {
    const auto policy = static_cast<Policy>(i);
    values.push_back({std::string(Name(policy)), policy});
  }
  return values;
}

// A machine's NICs, with the GPUs that they are for.
Dimension Nics(const sim::Profile& profile, const Workload& plain) {
  Dimension dimension =
      Numbers("NICs", Powers(1, 2, profile.nics.size()), plain, &Workload::nics, Count);
  for (std::size_t i = 0; i < dimension.values.size(); ++i) {
    if (i == dimension.plain) continue;
    auto& apply = dimension.values[i].apply;
    apply = [&profile, set = apply](Workload& load) {
      set(load);
      load.gpus = GpusOf(profile, load.nics);
    };
  }
  return dimension;
}

// Where threads run.
Dimension Placement(const Workload& plain) {
  const auto place = [](bool pinned, bool far) {
    return [pinned, far](Workload& load) {
      load.pinned = pinned;
      load.far = far;
    };
  };
  Dimension dimension{.name = "placement", .ordered = false, .values = {}};
  dimension.values = {
      {"near", place(true, false)}, {"far", place(true, true)}, {"nowhere", place(false, false)}};
  dimension.plain = !plain.pinned ? 2 : plain.far ? 1 : 0;
  return dimension;
}

std::function<std::string(std::uint64_t)> OrZero(const std::string& zero) {
  return [zero](std::uint64_t value) { return value == 0 ? zero : Count(value); };
}

}  // namespace

Space Space::Around(const sim::Profile& profile, const Workload& plain) {
  constexpr std::uint64_t kLongestPage = 4 << 20;
  constexpr std::uint64_t kWidestWindow = 256;
  const std::uint64_t all = profile.nics.size();
  Space space(profile, plain);
  std::vector<std::uint64_t> fewer = Powers(1, 2, all);
  fewer.push_back(0);
  const auto truth = [&plain](const char* name, bool Workload::*member, const char* yes,
                              const char* no) {
    return Words<bool>(name, {{yes, true}, {no, false}}, plain, member);
  };
  Dimension page =
      Numbers("page", Powers(64, 4, kLongestPage), plain, &Workload::page_bytes, FormatBytes);
  page.lengthens = true;
  space.dimensions_ = {
      std::move(page),
      Numbers("window", Powers(1, 2, kWidestWindow), plain, &Workload::window, Count),
      Nics(profile, plain),
      Numbers("threads", Powers(1, 2, all), plain, &Workload::threads, Count),
      Numbers("burst", Powers(1, 4, 64), plain, &Workload::burst, Count),
      Numbers("pollers", fewer, plain, &Workload::pollers, OrZero("none")),
      Numbers("receivers", fewer, plain, &Workload::receivers, OrZero("all")),
      Numbers("peers", {1, 2, 4, 8}, plain, &Workload::peers, Count),
      Numbers("pages", {10'000, 1'000'000, 100'000'000, 0}, plain, &Workload::operations,
              OrZero("without end")),
      Placement(plain),
      truth("state", &Workload::sharded, "own", "shared"),
      truth("posts", &Workload::lazy, "lazy", "look"),
      truth("loop", &Workload::bare, "bare", "a program's"),
      truth("contact", &Workload::warm, "warm", "cold"),
      Words("policy", AllPolicies(), plain, &Workload::policy),
      Words("pattern", AllOf(kPatterns), plain, &Workload::pattern),
      Words("op", AllOf(kDirections), plain, &Workload::direction),
      Words("route", AllOf(kRoutes), plain, &Workload::route),
      Words("memory", AllOf(kMemories), plain, &Workload::memory),
  };
  return space;
}

absl::StatusOr<Space> Space::Varying(const std::vector<std::string>& names) const {
  Space space = *this;
  space.dimensions_.clear();
  for (const std::string& name : names) {
    const auto is_same = [&](const Dimension& each) { return each.name == name; };
    const auto found = std::find_if(dimensions_.begin(), dimensions_.end(), is_same);
    if (found == dimensions_.end()) {
      std::string known;
      for (const Dimension& each : dimensions_) {
        absl::StrAppend(&known, known.empty() ? "" : ", ", each.name);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("nothing varies by the name of \"", name, "\": there are ", known));
    }
    if (std::any_of(space.dimensions_.begin(), space.dimensions_.end(), is_same)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is named twice"));
    }
    space.dimensions_.push_back(*found);
  }
  return space;
}

Space Space::Restricted(const std::string& name, const std::vector<std::string>& labels) const {
  Space space = *this;
  for (Dimension& dimension : space.dimensions_) {
    if (dimension.name != name) continue;
    std::vector<Dimension::Value> kept;
    std::size_t plain = 0;
    for (std::size_t i = 0; i < dimension.values.size(); ++i) {
      const bool asked =
          std::find(labels.begin(), labels.end(), dimension.values[i].label) != labels.end();
      if (i == dimension.plain) plain = kept.size();
      if (asked || i == dimension.plain) kept.push_back(dimension.values[i]);
    }
    dimension.values = std::move(kept);
    dimension.plain = plain;
  }
  return space;
}

Point Space::plain() const {
  Point point;
  for (const Dimension& dimension : dimensions_) point.push_back(dimension.plain);
  return point;
}

Workload Space::At(const Point& point) const {
  Workload load = base_;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    dimensions_[i].values[point[i]].apply(load);
  }
  return load;
}

}  // namespace drydock::apps::whatif
