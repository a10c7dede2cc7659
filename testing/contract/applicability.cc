#include "testing/contract/applicability.h"

#include <algorithm>
#include <map>

#include "gtest/gtest.h"

namespace contract {
namespace {

using Registry = std::multimap<std::string, fabric::Capability>;

Registry& AllNeeds() {
  static auto& registry = *new Registry;
  return registry;
}

std::string SuiteOf(const std::string& behaviour) {
  return behaviour.substr(0, behaviour.find('.'));
}

}  // namespace

Needs::Needs(const char* behaviour, std::initializer_list<fabric::Capability> capabilities) {
  for (const fabric::Capability capability : capabilities) {
    AllNeeds().emplace(behaviour, capability);
  }
}

std::string CurrentTest() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return std::string(test->test_suite_name()) + "." + test->name();
}

std::string LackingOf(const std::string& behaviour, const fabric::CapabilitySet& capabilities) {
  std::string lacking;
  for (const std::string& name : {SuiteOf(behaviour), behaviour}) {
    const auto [first, last] = AllNeeds().equal_range(name);
    for (auto need = first; need != last; ++need) {
      if (capabilities.Has(need->second)) continue;
      const auto index = static_cast<std::size_t>(need->second);
      if (!lacking.empty()) lacking += ", ";
      lacking += fabric::CapabilityTable()[index].name;
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

std::vector<std::string> NotApplicable(const fabric::CapabilitySet& capabilities) {
  std::map<std::string, std::vector<std::string>> of_suite;
  std::map<std::string, std::size_t> size;
  for (const std::string& behaviour : AllBehaviours()) {
    ++size[SuiteOf(behaviour)];
    if (!LackingOf(behaviour, capabilities).empty()) {
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
  for (const auto& [name, capability] : AllNeeds()) names.push_back(name);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace contract
