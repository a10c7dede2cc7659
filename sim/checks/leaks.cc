#include "sim/checks/leaks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace sim {
namespace {

constexpr std::array<std::string_view, kOpenKinds> kNames = {
    "domain", "memory region", "completion queue", "address vector", "counter", "endpoint"};

}  // namespace

std::uint32_t Leaks::Opened(OpenKind kind, const std::string& where) {
  auto name = std::find(names_.begin(), names_.end(), where);
  if (name == names_.end()) name = names_.insert(name, where);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(objects_.size()));
    objects_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  objects_[number] = {kind, true, false, static_cast<std::uint32_t>(name - names_.begin())};
  return number;
}

void Leaks::Closed(std::uint32_t object) {
  objects_[object].open = false;
  free_.push_back(object);
}

// One finding a NIC, that counts each kind.
void Leaks::AtEnd() {
  for (std::uint32_t where = 0; where < names_.size(); ++where) {
    std::array<std::uint32_t, kOpenKinds> open{};
    bool busy = false;
    for (const Object& object : objects_) {
      if (!object.open || object.where != where) continue;
      ++open[static_cast<std::size_t>(object.kind)];
      busy = busy || object.was_busy;
    }
    std::string what;
    for (std::size_t kind = 0; kind < kOpenKinds; ++kind) {
      if (open[kind] == 0) continue;
      absl::StrAppend(&what, what.empty() ? "" : ", ", open[kind], " ", std::string(kNames[kind]),
                      open[kind] == 1 ? "" : "s");
    }
    if (what.empty()) continue;
    log_.Add(Check::kLeaks, names_[where], 0, [&] {
      return absl::StrCat(
          "still open at the end: ", what,
          busy ? " (a Close answered that it was busy, and was not tried again)" : "");
    });
  }
}

}  // namespace sim
