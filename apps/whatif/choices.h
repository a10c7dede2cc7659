// Words for the values of a workload, as flags take them and reports show them.

#ifndef DRYDOCK_APPS_WHATIF_CHOICES_H_
#define DRYDOCK_APPS_WHATIF_CHOICES_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/model/workload.h"

namespace drydock::apps::whatif {

using sim::model::Direction;
using sim::model::Memory;
using sim::model::Pattern;
using sim::model::Route;

template <typename T>
struct Choice {
  absl::string_view name;
  T value;
};

inline constexpr Choice<Pattern> kPatterns[] = {
    {"paged", Pattern::kPaged}, {"drained", Pattern::kDrained}, {"single", Pattern::kSingle}};
inline constexpr Choice<Direction> kDirections[] = {{"write", Direction::kWrite},
                                                    {"read", Direction::kRead}};
inline constexpr Choice<Route> kRoutes[] = {
    {"aligned", Route::kAligned}, {"crossing", Route::kCrossing}, {"loopback", Route::kLoopback}};
inline constexpr Choice<Memory> kMemories[] = {
    {"gpu", Memory::kGpu}, {"host", Memory::kHost}, {"far", Memory::kFar}};
// The value of this name. kInvalidArgument: the flag, and the names that exist.
template <typename T, std::size_t kCount>
absl::StatusOr<T> Choose(absl::string_view flag, const std::string& text,
                         const Choice<T> (&choices)[kCount]) {
  std::string names;
  for (const Choice<T>& choice : choices) {
    if (choice.name == text) return choice.value;
    if (!choice.name.empty()) absl::StrAppend(&names, names.empty() ? "" : ", ", choice.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, "=", text, " does not exist: there are ", names));
}

template <typename T, std::size_t kCount>
absl::string_view NameIn(const Choice<T> (&choices)[kCount], T value) {
  for (const Choice<T>& choice : choices) {
    if (choice.value == value) return choice.name;
  }
  return "unknown";
}

}  // namespace drydock::apps::whatif

#endif  // DRYDOCK_APPS_WHATIF_CHOICES_H_
