#include "drydock/fabric/async/orphan.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace drydock::fabric::async {
namespace {

struct Group {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  coro::Time oldest = coro::kNever;
};

std::string Ago(coro::Duration time) {
  const double ns = static_cast<double>(time.count());
  if (time < std::chrono::microseconds(1)) return absl::StrCat(time.count(), " ns");
  if (time < std::chrono::milliseconds(1)) return absl::StrCat(ns / 1e3, " us");
  if (time < std::chrono::seconds(1)) return absl::StrCat(ns / 1e6, " ms");
  return absl::StrCat(ns / 1e9, " s");
}

}  // namespace

std::string Describe(std::span<const Orphan> orphans, coro::Time now) {
  // Groups by the text of the place, not by the address of its names, which the compiler chooses.
  std::map<std::pair<OperationKind, std::string>, Group> groups;
  for (const Orphan& orphan : orphans) {
    Group& group = groups[{orphan.kind, coro::Describe(orphan.awaited)}];
    ++group.count;
    group.bytes += orphan.bytes;
    group.oldest = std::min(group.oldest, orphan.since);
  }
  std::string text;
  for (const auto& [what, group] : groups) {
    const std::string_view kind = Name(what.first);
    const bool one = group.count == 1;
    absl::StrAppend(&text, group.count, " ", std::string(kind), one ? "" : "s", " of ", group.bytes,
                    one ? " B" : " B in all", ", awaited in ", what.second,
                    one ? ", given up " : ", the first given up ", Ago(now - group.oldest),
                    " ago\n");
  }
  return text;
}

}  // namespace drydock::fabric::async
