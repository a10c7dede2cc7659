// Programs that break a rule and programs that do not, each a few lines: three machines, the
// program of one of them, and the checks' findings.

#ifndef DRYDOCK_SIM_CHECKS_PROGRAMS_STAGE_H_
#define DRYDOCK_SIM_CHECKS_PROGRAMS_STAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/testing/lab.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

// The machines that a program runs on. Objects in `kept` are still open when it is over.
struct Stage {
  explicit Stage(std::uint64_t seed, sim::Profile profile)
      : lab(seed, std::move(profile)), a(lab.Add("a")), b(lab.Add("b")), c(lab.Add("c")) {
    lab.Introduce();
    Fill(a.Bytes(0, Side::kBytes / 2), 1);
    Fill(b.Bytes(0, Side::kBytes / 2), 2);
    Fill(c.Bytes(0, Side::kBytes / 2), 3);
  }

  Lab lab;
  Side& a;
  Side& b;
  Side& c;
  std::vector<std::shared_ptr<void>> kept;

  void Finish(Side& side, std::uint64_t context) { lab.Take(side, context); }
};

// Such a post is accepted.
inline void Accepted(fabric::ErrorCode error) { EXPECT_EQ(error, fabric::ErrorCode::kOk); }

struct Program {
  const char* name;
  std::optional<sim::Check> breaks;  // the one rule that it breaks, or none
  void (*run)(Stage& stage);
};
inline void PrintTo(const Program& program, std::ostream* os) { *os << program.name; }

// The findings, as text for a person.
inline std::vector<std::string> FindingsOf(const Program& program, std::uint64_t seed,
                                           const sim::Profile& profile,
                                           std::vector<sim::Check>* checks) {
  Stage stage(seed, profile);
  program.run(stage);
  stage.lab.Watch();
  std::vector<std::string> texts;
  for (const sim::Finding& finding : stage.lab.End()) {
    texts.push_back(sim::ToText(finding));
    checks->push_back(finding.check);
  }
  return texts;
}

// Nothing but the rule that it breaks is found, on a quiet network and on a rough one, and the same
// each time.
inline void ExpectVerdict(const Program& program, std::uint64_t seed, const sim::Profile& profile) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::vector<sim::Check> checks;
  const std::vector<std::string> first = FindingsOf(program, seed, profile, &checks);
  if (program.breaks.has_value()) {
    EXPECT_FALSE(checks.empty()) << "nothing was found";
    EXPECT_THAT(checks, ::testing::Each(*program.breaks)) << ::testing::PrintToString(first);
  } else {
    EXPECT_THAT(first, ::testing::IsEmpty());
  }
  EXPECT_EQ(FindingsOf(program, seed, profile, &checks), first) << "the second time";
}

class ProgramTest : public ::testing::TestWithParam<Program> {};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_CHECKS_PROGRAMS_STAGE_H_
