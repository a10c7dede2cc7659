// The machines of most tests of failures: an initiator, a target where something is wrong, and a
// bystander whose traffic must not suffer.

#ifndef DRYDOCK_SIM_TESTING_SCENE_H_
#define DRYDOCK_SIM_TESTING_SCENE_H_

#include <cstdint>
#include <vector>

#include "drydock/fabric/error.h"
#include "drydock/sim/testing/lab.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {

// The context of the operation that is to fail.
inline constexpr std::uint64_t kBad = 0xbad;

struct Scene {
  explicit Scene(sim::Profile profile = Small(), const SideOptions& initiator = {},
                 std::uint64_t seed = 1)
      : lab(seed, std::move(profile)),
        a(lab.Add("initiator", initiator)),
        b(lab.Add("target")),
        c(lab.Add("bystander")) {
    lab.Introduce();
  }

  Lab lab;
  Side& a;
  Side& b;
  Side& c;

  // Posts a write to the bystander that must succeed whatever happens around it.
  void PostGood() {
    const std::uint64_t number = ++good_;
    const std::size_t offset = kGoodAt + (number - 1) * kGoodBytes;
    Fill(a.Bytes(offset, kGoodBytes), number);
    ASSERT_EQ(a.endpoint->Write(a.WriteTo(c, offset, kGoodBytes, kGood + number)),
              fabric::ErrorCode::kOk);
  }

  // The good operations ended well, and nothing is left over.
  void ExpectTheOthersUnharmed() {
    for (std::uint64_t number = 1; number <= good_; ++number) {
      EXPECT_EQ(lab.Take(a, kGood + number).provider_error, 0);
      EXPECT_TRUE(Holds(c.Bytes(kGoodAt + (number - 1) * kGoodBytes, kGoodBytes), number));
    }
    lab.ExpectWorks(a, c);
    lab.ExpectNoMore();
  }

  // Waits for the completion with this context, which must have failed in this way.
  fabric::Completion TakeFailure(std::uint64_t context, std::int32_t status,
                                 fabric::ErrorCode error) {
    const fabric::Completion completion = lab.Take(a, context);
    EXPECT_EQ(completion.provider_error, status) << "context " << context;
    EXPECT_EQ(fabric::Name(completion.error), fabric::Name(error)) << "context " << context;
    EXPECT_NE(a.queue->ErrorText(completion).find(std::to_string(status)), std::string::npos);
    return completion;
  }

  // The operation kBad failed in this way, and nothing else did.
  fabric::Completion ExpectOnlyFailure(std::int32_t status, fabric::ErrorCode error) {
    PostGood();
    const fabric::Completion completion = TakeFailure(kBad, status, error);
    ExpectTheOthersUnharmed();
    return completion;
  }

 private:
  static constexpr std::uint64_t kGood = 0x900d0000;
  static constexpr std::size_t kGoodAt = 128 << 10;
  static constexpr std::size_t kGoodBytes = 12000;

  std::uint64_t good_ = 0;
};

}  // namespace drydock::sim_testing

#endif  // DRYDOCK_SIM_TESTING_SCENE_H_
