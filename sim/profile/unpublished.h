// Which figures of a profile are unpublished, and what they plausibly are: a time-out of the
// device's firmware, a delay inside it, how often a packet is lost. The profile has our guess; a
// program has to be right wherever in the range the truth lies.

#ifndef DRYDOCK_SIM_PROFILE_UNPUBLISHED_H_
#define DRYDOCK_SIM_PROFILE_UNPUBLISHED_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {

// One field of Profile. Every profile's own value lies in the range.
struct UnpublishedFigure {
  std::string_view name;    // the field's
  bool is_time = false;     // nanoseconds; else a number
  std::int64_t least = 0;   // that is plausible
  std::int64_t most = 0;    // the same
  std::string_view reason;  // for the range: a line, with its source
  std::int64_t (*get)(const Profile& profile) = nullptr;
  void (*set)(Profile& profile, std::int64_t value) = nullptr;
};

// All of them. New ones come last. Static storage.
std::span<const UnpublishedFigure> UnpublishedFigures();

// Values by name, for those that differ from the profile's.
using Figures = std::map<std::string, std::int64_t>;

// kInvalidArgument, one line: a figure that does not exist, or a value out of its range.
absl::Status CheckFigures(const Figures& figures);

// The profile with these. REQUIRES: CheckFigures.
Profile WithFigures(Profile profile, const Figures& figures);

// "rnr_delay=50us,engine_window=4": times with their unit (ns, us, ms, s). kInvalidArgument: not of
// this form, or as CheckFigures.
absl::StatusOr<Figures> ParseFigures(absl::string_view text);
std::string FormatFigures(const Figures& figures);
// "50us", "4".
std::string FormatFigure(const UnpublishedFigure& figure, std::int64_t value);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_PROFILE_UNPUBLISHED_H_
