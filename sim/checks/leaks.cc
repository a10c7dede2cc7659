#include "drydock/sim/checks/leaks.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace drydock::sim {
namespace {

constexpr std::array<std::string_view, kObjectKinds> kNames = {
    "domain",  "memory region", "completion queue", "address vector",
    "counter", "endpoint",      "address handle",   "completion channel"};

}  // namespace

void Leaks::OnOpened(std::uint32_t object, ObjectKind kind, const NicState& nic) {
  names_.try_emplace(nic.index(), nic.name);
  objects_[object] = {kind, nic.index(), false};
}

void Leaks::OnClosed(std::uint32_t object, bool busy) {
  const auto found = objects_.find(object);
  if (found == objects_.end()) return;
  if (busy) {
    found->second.was_busy = true;
  } else {
    objects_.erase(found);
  }
}

// One finding a NIC, that counts each kind.
void Leaks::AtEnd() {
  struct Open {
    std::array<std::uint32_t, kObjectKinds> of_kind{};
    bool busy = false;
  };
  std::map<std::uint32_t, Open> open;  // by NIC
  for (const auto& [number, object] : objects_) {
    ++open[object.nic].of_kind[static_cast<std::size_t>(object.kind)];
    open[object.nic].busy |= object.was_busy;
  }
  for (const auto& [nic, left] : open) {
    std::string what;
    for (std::size_t kind = 0; kind < kObjectKinds; ++kind) {
      const std::uint32_t count = left.of_kind[kind];
      if (count == 0) continue;
      absl::StrAppend(&what, what.empty() ? "" : ", ", count, " ", std::string(kNames[kind]),
                      count == 1 ? "" : "s");
    }
    log_.Add(Check::kLeaks, names_[nic], 0, [&, busy = left.busy] {
      return absl::StrCat(
          "still open at the end: ", what,
          busy ? " (a Close answered that it was busy, and was not tried again)" : "");
    });
  }
}

}  // namespace drydock::sim
