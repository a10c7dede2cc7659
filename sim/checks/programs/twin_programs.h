// Programs that break a rule, and their twins that do not: each bad one is found out by exactly its
// check, the good ones by none; and the same seed finds the same.
//
//   const Program kPrograms[] = {BAD(kRetryIdempotence, PostsTwice), GOOD(PostsOnce)};
//   INSTANTIATE_TEST_SUITE_P(Retries, ProgramTest, ::testing::ValuesIn(kPrograms), NameOf);

#ifndef DRYDOCK_SIM_CHECKS_PROGRAMS_TWIN_PROGRAMS_H_
#define DRYDOCK_SIM_CHECKS_PROGRAMS_TWIN_PROGRAMS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

// Two machines that know each other.
struct Pair {
  Pair() : lab(1), a(lab.Add("a")), b(lab.Add("b")) {
    lab.Introduce();
    lab.world().checks().rules().contexts_are_names = true;        // which a lab takes back
    lab.world().checks().OnEndlessLoop([](auto, const auto&) {});  // the finding is enough
  }

  fabric::ErrorCode Write(std::uint64_t context, std::size_t offset = 0) {
    return a.endpoint->Write(a.WriteTo(b, offset, 64, context));
  }
  fabric::ErrorCode WriteWith(std::uint32_t immediate, std::uint64_t context, std::size_t offset) {
    fabric::WriteRequest request = a.WriteTo(b, offset, 64, context);
    request.immediate = immediate;
    return a.endpoint->Write(request);
  }
  fabric::ErrorCode Send(std::uint64_t context, std::size_t length = 64) {
    return a.endpoint->Send(a.SendTo(b, 0, length, context));
  }
  void Receive(std::uint64_t context, std::size_t offset, std::size_t length = 64) {
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(offset, length, context)), fabric::ErrorCode::kOk);
  }
  // Writes with contexts from 1 on, each to its own place, until one is refused: returns its
  // context.
  std::uint64_t FillTheQueue() {
    std::uint64_t context = 1;
    while (Write(context, 64 * context) == fabric::ErrorCode::kOk) ++context;
    return context;
  }
  // Reads everything, and forgets it.
  void Drain(coro::Duration duration = std::chrono::milliseconds(5)) {
    lab.Watch(duration);
    a.completions.clear();
    b.completions.clear();
  }
  // As a loop does that has nothing to do any more.
  void WaitForEver() {
    while (lab.world().WaitUntil(coro::kNever)) lab.Pump();
  }
  std::size_t Poll(fabric::CompletionQueue& queue) {
    fabric::Completion completion;
    return queue.Read({&completion, 1}).count;
  }

  Lab lab;
  sim::World& world = lab.world();
  Side& a;
  Side& b;
};

struct Program {
  // `program` runs on machines of its own: a Pair, or others that have a `world`.
  template <typename Machines>
  Program(const char* name_of_it, std::optional<sim::Check> what_it_breaks,
          void (*program)(Machines&))
      : name(name_of_it), breaks(what_it_breaks), run([program] {
          Machines machines;
          program(machines);
          return machines.world.checks().TakeFindings();
        }) {}

  const char* name;
  std::optional<sim::Check> breaks;
  std::function<std::vector<sim::Finding>()> run;
};

inline void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

#define BAD(check, program) \
  ::drydock::sim_testing::Program(#program, ::drydock::sim::Check::check, &program)
#define GOOD(program) ::drydock::sim_testing::Program(#program, std::nullopt, &program)

class ProgramTest : public ::testing::TestWithParam<Program> {};

TEST_P(ProgramTest, IsFoundOutByItsCheckAndNoOther) {
  const std::vector<sim::Finding> findings = GetParam().run();
  for (const sim::Finding& finding : findings) {
    EXPECT_EQ(GetParam().breaks, finding.check) << sim::ToText(finding);
  }
  EXPECT_EQ(findings.empty(), !GetParam().breaks.has_value());
}

TEST_P(ProgramTest, TheSameSeedFindsTheSame) {
  const auto texts = [] {
    std::string text;
    for (const sim::Finding& finding : GetParam().run()) text += sim::ToText(finding) + "\n";
    return text;
  };
  const std::string first = texts();
  EXPECT_EQ(first, texts());
}

inline std::string NameOf(const ::testing::TestParamInfo<Program>& info) { return info.param.name; }

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_CHECKS_PROGRAMS_TWIN_PROGRAMS_H_
