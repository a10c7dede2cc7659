#include "drydock/testing/contract/applicability.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "gtest/gtest.h"

namespace drydock::contract {
namespace {

using Registry = std::multimap<std::string, Need>;

Registry& AllNeeds() {
  static auto& registry = *new Registry;
  return registry;
}

std::string_view NameOf(Need need) {
  if (const Trait* const trait = std::get_if<Trait>(&need)) return contract::NameOf(*trait);
  const auto index = static_cast<std::size_t>(std::get<fabric::Capability>(need));
  return fabric::CapabilityTable()[index].name;
}

std::string SuiteOf(const std::string& behaviour) {
  return behaviour.substr(0, behaviour.find('.'));
}

}  // namespace

bool Abilities::Has(Need need) const {
  if (const Trait* const trait = std::get_if<Trait>(&need)) return traits.count(*trait) > 0;
  return capabilities.Has(std::get<fabric::Capability>(need));
}

Needs::Needs(const char* behaviour, std::initializer_list<Need> needs) {
  for (const Need need : needs) AllNeeds().emplace(behaviour, need);
}

std::string CurrentTest() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return std::string(test->test_suite_name()) + "." + test->name();
}

std::string LackingOf(const std::string& behaviour, const Abilities& abilities) {
  std::string lacking;
  for (const std::string& name : {SuiteOf(behaviour), behaviour}) {
    const auto [first, last] = AllNeeds().equal_range(name);
    for (auto need = first; need != last; ++need) {
      if (abilities.Has(need->second)) continue;
      if (!lacking.empty()) lacking += ", ";
      lacking += NameOf(need->second);
    }
  }
  return lacking;
}

std::vector<std::string> AllBehaviours() {
  std::vector<std::string> behaviours;
  const ::testing::UnitTest& program = *::testing::UnitTest::GetInstance();
  for (int suite = 0; suite < program.total_test_suite_count(); ++suite) {
    const ::testing::TestSuite& tests = *program.GetTestSuite(suite);
    for (int test = 0; test < tests.total_test_count(); ++test) {
      behaviours.push_back(std::string(tests.name()) + "." + tests.GetTestInfo(test)->name());
    }
  }
  return behaviours;
}

std::vector<std::string> NotApplicable(const Abilities& abilities) {
  std::map<std::string, std::vector<std::string>> of_suite;
  std::map<std::string, std::size_t> size;
  for (const std::string& behaviour : AllBehaviours()) {
    ++size[SuiteOf(behaviour)];
    if (!LackingOf(behaviour, abilities).empty()) {
      of_suite[SuiteOf(behaviour)].push_back(behaviour);
    }
  }
  std::vector<std::string> names;
  for (const auto& [suite, behaviours] : of_suite) {
    if (behaviours.size() == size[suite]) {
      names.push_back(suite + ".*");
    } else {
      names.insert(names.end(), behaviours.begin(), behaviours.end());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> RegisteredNeeds() {
  std::vector<std::string> names;
  for (const auto& [name, need] : AllNeeds()) names.push_back(name);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace drydock::contract
