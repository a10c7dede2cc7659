// Two machines whose devices apply a fault plan.
//
//   FaultScene scene({Rule(Fault::kPacketLoss)});
//   ... scene.Write(1, 4096) ...
//   EXPECT_EQ(scene.Fired(), 1u);
//   scene.ExpectHealed();

#ifndef DRYDOCK_SIM_TESTING_FAULT_SCENE_H_
#define DRYDOCK_SIM_TESTING_FAULT_SCENE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/plan.h"
#include "drydock/sim/faults/device_faults.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

using fabric::faults::Fault;
using fabric::faults::FaultEngine;
using fabric::faults::FaultRule;

// A rule with the catalogue's parameters, on every event.
inline FaultRule Rule(Fault fault) {
  FaultRule rule = FaultRule::Of(fault);
  rule.illegal = fabric::faults::Describe(fault).legality == fabric::faults::Legality::kIllegal;
  return rule;
}
// The same, on the nth event.
inline FaultRule Nth(Fault fault, std::uint64_t nth) {
  FaultRule rule = Rule(fault);
  rule.when.nth = nth;
  return rule;
}

inline std::shared_ptr<FaultEngine> EngineOf(std::vector<FaultRule> rules, std::uint64_t seed) {
  return Must(
      FaultEngine::Create({.mode = fabric::faults::Legality::kIllegal, .rules = std::move(rules)},
                          seed, {.device = sim::DeviceFaults()}));
}

struct FaultScene {
  explicit FaultScene(std::vector<FaultRule> rules, sim::Profile profile = Calm(),
                      std::uint64_t seed = 1, const SideOptions& options = {},
                      sim::ClockKind clock = sim::ClockKind::kVirtual)
      : engine(EngineOf(std::move(rules), seed)),
        lab(seed, std::move(profile), clock, engine),
        a(lab.Add("a", options)),
        b(lab.Add("b", options)) {
    lab.Introduce();
  }

  std::uint64_t Fired(std::size_t rule = 0) const { return engine->Report()[rule].fired; }

  // Fills the source with pattern `context`, and posts.
  void Write(std::uint64_t context, std::size_t length, std::size_t offset = 0) {
    Fill(a.Bytes(offset, length), context);
    ASSERT_EQ(a.endpoint->Write(a.WriteTo(b, offset, length, context)), fabric::ErrorCode::kOk);
  }
  void Read(std::uint64_t context, std::size_t length) {
    Fill(b.Bytes(0, length), context);
    ASSERT_EQ(a.endpoint->Read(a.ReadFrom(b, 0, length, context)), fabric::ErrorCode::kOk);
  }
  // A message for a receive with context + 1000.
  void Send(std::uint64_t context, std::size_t length) {
    Fill(a.Bytes(0, length), context);
    ASSERT_EQ(b.endpoint->Recv(b.RecvAt(0, length, context + 1000)), fabric::ErrorCode::kOk);
    ASSERT_EQ(a.endpoint->Send(a.SendTo(b, 0, length, context)), fabric::ErrorCode::kOk);
  }
  void WriteWithImmediate(std::uint64_t context, std::size_t length, std::uint32_t immediate) {
    Fill(a.Bytes(0, length), context);
    fabric::WriteRequest request = a.WriteTo(b, 0, length, context);
    request.immediate = immediate;
    ASSERT_EQ(a.endpoint->Write(request), fabric::ErrorCode::kOk);
  }

  // The EFA status with which it ended; 0: well.
  std::int32_t StatusOf(std::uint64_t context) { return lab.Take(a, context).provider_error; }
  // How long it takes from now until the completion is read.
  coro::Duration Wait(std::uint64_t context) {
    const coro::Time began = lab.world().Now();
    EXPECT_EQ(StatusOf(context), 0);
    return lab.world().Now() - began;
  }
  // Lets the world run until some byte is not zero.
  void RunUntilSomeLanded(std::span<const std::byte> bytes) {
    ASSERT_TRUE(
        lab.world().timeline().RunUntil([&] { return !IsZero(bytes); }, std::chrono::seconds(1)));
  }

  // Without the plan everything works again, and nothing is left over.
  void ExpectHealed() {
    engine->Heal();
    lab.ExpectWorks(a, b);
    lab.ExpectNoMore();
  }

  std::shared_ptr<FaultEngine> engine;
  Lab lab;
  Side& a;
  Side& b;
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_TESTING_FAULT_SCENE_H_
