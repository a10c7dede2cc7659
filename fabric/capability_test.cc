#include "drydock/fabric/capability.h"

#include <set>

#include "gtest/gtest.h"

namespace drydock::fabric {
namespace {

TEST(CapabilityTest, SetHoldsWhatWasAdded) {
  CapabilitySet set{Capability::kMessages, Capability::kRemoteCounts};
  EXPECT_TRUE(set.Has(Capability::kMessages));
  EXPECT_TRUE(set.Has(Capability::kRemoteCounts));
  EXPECT_FALSE(set.Has(Capability::kRemoteRead));
  set.Remove(Capability::kMessages);
  EXPECT_EQ(set, CapabilitySet{Capability::kRemoteCounts});
}

TEST(CapabilityTest, EveryCapabilityHasItsOwnNameAndBit) {
  std::set<std::string_view> names;
  CapabilitySet all;
  for (const CapabilityInfo& info : CapabilityTable()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.meaning.empty());
    EXPECT_FALSE(all.Has(info.capability));
    all.Add(info.capability);
  }
}

class Jump {
 public:
  static constexpr PowerId kPower{"Jump"};
  int height = 3;
};
class Swim {
 public:
  static constexpr PowerId kPower{"Jump"};  // the same name: powers are told apart by identity
};

class Jumper : public Capable {
 public:
  void* QueryPower(const PowerId& power) override {
    return &power == &Jump::kPower ? &jump_ : nullptr;
  }

 private:
  Jump jump_;
};

TEST(CapabilityTest, PowersAreAskedForByTypeAndMayBeRefused) {
  Jumper jumper;
  ASSERT_NE(jumper.power<Jump>(), nullptr);
  EXPECT_EQ(jumper.power<Jump>()->height, 3);
  EXPECT_EQ(jumper.power<Swim>(), nullptr);
  Capable plain;
  EXPECT_EQ(plain.power<Jump>(), nullptr);
}

}  // namespace
}  // namespace drydock::fabric
