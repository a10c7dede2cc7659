// The behaviours that the suite skips for this backend are exactly the listed ones.

#include <algorithm>
#include <string>
#include <vector>

#include "drydock/testing/contract/applicability.h"
#include "drydock/testing/contract/backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::contract {
namespace {

using ::testing::ElementsAreArray;

TEST(ApplicabilityContract, BehavioursThatDoNotApplyAreTheListedOnes) {
  const auto backend = MakeBackend();
  std::vector<std::string> listed = backend->NotApplicable();
  std::sort(listed.begin(), listed.end());
  EXPECT_THAT(NotApplicable({backend->ExpectedCapabilities(), backend->ExpectedTraits()}),
              ElementsAreArray(listed));
}

// A need of a behaviour that was renamed would silently need nothing.
TEST(ApplicabilityContract, EveryNeedNamesABehaviour) {
  std::vector<std::string> names = AllBehaviours();
  for (const std::string& behaviour : AllBehaviours()) {
    names.push_back(behaviour.substr(0, behaviour.find('.')));
  }
  for (const std::string& need : RegisteredNeeds()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), need) > 0, true) << need;
  }
}

TEST(ApplicabilityContract, WhatIsBrokenNamesBehaviours) {
  const std::vector<std::string> names = AllBehaviours();
  for (const std::string& broken : MakeBackend()->Broken()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), broken), 1) << broken;
  }
}

}  // namespace
}  // namespace drydock::contract
