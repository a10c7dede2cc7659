// Programs with a planted bug behind several failures, one after the other: what a search has to
// find, and a measure of how soon it does.

#ifndef DRYDOCK_SIM_EXPLORE_CORPUS_TESTING_CANARIES_H_
#define DRYDOCK_SIM_EXPLORE_CORPUS_TESTING_CANARIES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "drydock/sim/explore/scenario.h"

namespace drydock::sim::explore {

enum class Bug : std::uint8_t {
  kThirdTry,    // a block is taken for written when its third try has failed
  kOldBuffer,   // ... when no new buffer could be registered, and the try from the old one failed
  kOldRefused,  // ... when a try from the old buffer was refused, and the one after it failed
  kLeak,        // ... when its try fails, and no new buffer could be registered twice in the run
  kMoreLeaks,   // ... four times in the run
};
inline constexpr std::array kBugs = {Bug::kThirdTry, Bug::kOldBuffer, Bug::kOldRefused, Bug::kLeak,
                                     Bug::kMoreLeaks};

// "third-try". Static storage.
std::string_view Name(Bug bug);

// Uploads eight blocks, each with up to six tries and a newly registered buffer for each but the
// first; it names the states of its recovery as coverage points. Absent: without a bug.
class Uploader final : public Scenario {
 public:
  explicit Uploader(std::optional<Bug> bug) : bug_(bug) {}

  std::string_view name() const override { return bug_.has_value() ? Name(*bug_) : "no-bug"; }
  std::string_view description() const override { return "eight blocks are written"; }
  Outcome Run(Trial& trial) const override;

 private:
  const std::optional<Bug> bug_;
};

}  // namespace drydock::sim::explore

#endif  // DRYDOCK_SIM_EXPLORE_CORPUS_TESTING_CANARIES_H_
