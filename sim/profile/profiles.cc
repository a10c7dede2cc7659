#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/sim/profile/families.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::sim {
namespace {

std::vector<Profile> MakeProfiles() {
  std::vector<Profile> profiles = {
      SmallProfile(),  P4dProfile(),      P5Profile(),    P5enProfile(),      P6B200Profile(),
      P6B300Profile(), P4deProfile(),     P5eProfile(),   P54xlargeProfile(), C5nProfile(),
      P3dnProfile(),   G5Profile(),       G6Profile(),    G7eProfile(),       Trn1Profile(),
      Trn2Profile(),   P6eGb200Profile(), Hpc7aProfile(), C7gnProfile(),      C8gnProfile()};
  for (Profile& profile : profiles) profile.limits = EfaDirectLimits(profile);
  return profiles;
}

const std::vector<Profile>& AllProfiles() {
  static const auto& profiles = *new std::vector<Profile>(MakeProfiles());
  return profiles;
}

}  // namespace

std::span<const Profile> Profiles() { return AllProfiles(); }

absl::StatusOr<const Profile*> FindProfile(absl::string_view name) {
  for (const Profile& profile : AllProfiles()) {
    if (profile.name == name || absl::c_linear_search(profile.aliases, name)) return &profile;
  }
  return absl::NotFoundError(absl::StrCat(
      "no profile '", name, "': there are ",
      absl::StrJoin(AllProfiles(), ", ",
                    [](std::string* out, const Profile& profile) { out->append(profile.name); })));
}

}  // namespace drydock::sim
