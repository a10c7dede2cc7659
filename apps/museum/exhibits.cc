#include "drydock/apps/museum/exhibits.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace drydock::museum {

std::vector<const Exhibit*> Exhibits() {
  return {
      &AgainNeverReads(),  &OwnCredits(),        &OneBadPeer(),
      &QueueOverrun(),     &FailureNeverTold(),  &NullContext(),
      &ErrData(),          &ParkedWindow(),      &OffsetZero(),
      &SlotsOfNumbers(),   &TwoRegistrations(),  &SequenceWraps(),
      &ImmediateBits(),    &InjectNeverCounts(), &FlagOvertakes(),
      &LastImmediate(),    &HeuristicCount(),    &AckOvertakesCompletion(),
      &FreedTwice(),       &StaleConnection(),   &CloseBeforeAck(),
      &BothDrain(),        &PeerRemovedInUse(),  &NumberWithoutLock(),
      &TwoThreadsPost(),   &BatchLeftOpen(),     &BatchOfRails(),
      &SignalsCoalesced(), &MixedVersions(),     &PayloadNotFenced(),
      &NoContext(),
  };
}

absl::StatusOr<const Exhibit*> FindExhibit(const std::string& name) {
  std::vector<std::string> names;
  for (const Exhibit* exhibit : Exhibits()) {
    if (exhibit->name == name) return exhibit;
    names.emplace_back(exhibit->name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--exhibit=", name, " does not exist: ", absl::StrJoin(names, ", ")));
}

const TwinScenario& ScenarioOf(const Exhibit& exhibit, Twin twin) {
  static std::map<std::pair<const Exhibit*, Twin>, std::unique_ptr<TwinScenario>> scenarios;
  std::unique_ptr<TwinScenario>& scenario = scenarios[{&exhibit, twin}];
  if (scenario == nullptr) scenario = std::make_unique<TwinScenario>(exhibit, twin);
  return *scenario;
}

const TwinScenario* FindTwin(const std::string& scenario) {
  for (const Exhibit* exhibit : Exhibits()) {
    for (const Twin twin : {Twin::kWrong, Twin::kRepaired}) {
      if (scenario == ScenarioName(*exhibit, twin)) return &ScenarioOf(*exhibit, twin);
    }
  }
  return nullptr;
}

}  // namespace drydock::museum
