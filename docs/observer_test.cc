// Each event of the observers of simulated devices (sim/device/observer.h) is told in one place: a
// device's in one line of sim/device, a driver's in one line of each driver.
//
// Reads the source tree itself, so that a new event or file is looked at without being listed.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::StartsWith;

// Where the source tree is: Bazel's link to the page leads there.
fs::path Root() { return fs::canonical("docs/architecture.md").parent_path().parent_path(); }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The words of a source that the pattern's group takes, in their order. Comments are left out.
std::vector<std::string> Matches(const std::string& source, const std::regex& pattern) {
  static const std::regex kComment("//[^\n]*");
  const std::string code = std::regex_replace(source, kComment, "");
  std::vector<std::string> words;
  for (std::sregex_iterator match(code.begin(), code.end(), pattern), end; match != end; ++match) {
    words.push_back((*match)[1].str());
  }
  return words;
}

// The events that an interface declares.
std::vector<std::string> EventsOf(const std::string& header) {
  static const std::regex kEvent(R"(virtual void (On\w+)\()");
  const std::vector<std::string> events = Matches(ReadFile(Root() / header), kEvent);
  EXPECT_GT(events.size(), 10u) << header;
  return events;
}

// The events that a source tells, each as often as it has a line for that.
std::vector<std::string> ToldIn(const std::string& source) {
  static const std::regex kTell(R"(\bTell<\s*&(?:\w+::)*(On\w+)>)");
  return Matches(source, kTell);
}

// By event: the files that tell it, once for each place. Tests tell what they like.
std::map<std::string, std::vector<std::string>> PlacesOfEvents() {
  std::map<std::string, std::vector<std::string>> places;
  for (const char* const folder : {"apps", "gpu", "sim"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(Root() / folder)) {
      const std::string file = fs::relative(entry.path(), Root());
      const bool source = file.ends_with(".h") || file.ends_with(".cc");
      if (!source || file.ends_with("_test.cc")) continue;
      const std::string text = ReadFile(entry.path());
      if (text.find("Tell<") == std::string::npos) continue;  // most
      for (const std::string& event : ToldIn(text)) places[event].push_back(file);
    }
  }
  return places;
}

TEST(ObserverTest, EachLineThatTellsIsFound) {
  EXPECT_THAT(ToldIn("observers.Tell<&Observer::OnGone>(operation);\n"
                     "around.observers\n    .Tell<&sim::Observer::OnDied>(nic);  // for good\n"
                     "// Tells of an end: observers.Tell<&Observer::OnEnded>(operation).\n"
                     "Tell(around, {nic, key});\n"
                     "observers.Tell<&Observer::OnGone>(other);\n"),
              ElementsAre("OnGone", "OnDied", "OnGone"));
}

TEST(ObserverTest, ADeviceTellsEachEventInOnePlace) {
  const std::map<std::string, std::vector<std::string>> places = PlacesOfEvents();
  for (const std::string& event : EventsOf("sim/device/device_events.h")) {
    ASSERT_TRUE(places.contains(event)) << event << " is told nowhere";
    EXPECT_THAT(places.at(event), ElementsAre(StartsWith("sim/device/"))) << event;
  }
}

TEST(ObserverTest, ADriverTellsEachEventInOnePlace) {
  const std::map<std::string, std::vector<std::string>> places = PlacesOfEvents();
  for (const std::string& event : EventsOf("sim/device/driver_events.h")) {
    ASSERT_TRUE(places.contains(event)) << event << " is told nowhere";
    const std::vector<std::string>& files = places.at(event);
    EXPECT_THAT(files, Each(AnyOf(StartsWith("sim/driver/"), StartsWith("sim/verbs/")))) << event;
    for (const char* const driver : {"sim/driver/", "sim/verbs/"}) {
      EXPECT_LE(std::ranges::count_if(
                    files, [&](const std::string& file) { return file.starts_with(driver); }),
                1)
          << event << " in " << driver;
    }
  }
}

}  // namespace
