// The program, started as a user starts it, and as its README shows it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/gpu/topology/xml.h"
#include "drydock/testing/harness/readme.h"
#include "drydock/testing/harness/run_program.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace {

using ::drydock::testing_matchers::IsOk;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr drydock::harness::Program kWhatif("WHATIF", "whatif");

TEST(WhatifTest, SaysForAScriptWhatItSaysForAPerson) {
  const std::vector<std::string> question = {"--nics=1", "--size=4KiB", "--window=8"};
  std::vector<std::string> for_script = question;
  for_script.emplace_back("--json");
  const Json json = Json::parse(kWhatif.Output(for_script));
  EXPECT_EQ(json["kind"], "predicted");
  EXPECT_EQ(json["profile"], "p5");
  ASSERT_EQ(json["rows"].size(), 1u);
  const Json& row = json["rows"][0];
  EXPECT_EQ(row["page_bytes"], 4096);
  EXPECT_EQ(row["limiter"], "window");
  EXPECT_EQ(row["bounds_gbps"]["window"], row["predicted_gbps"]);
  EXPECT_NEAR(row["predicted_gbps"].get<double>(),
              row["predicted_mops"].get<double>() * 4096 * 8 / 1e3, 1e-6);
  EXPECT_THAT(kWhatif.Output(question), AllOf(HasSubstr("predicted from the profile, not measured"),
                                              HasSubstr("  window  ")));
}

TEST(WhatifTest, SweepsEachThing) {
  const auto row_count = [](const char* sweep, const char* key, double last,
                            const char* nics = "--nics=4") {
    const Json json =
        Json::parse(kWhatif.Output({absl::StrCat("--sweep=", sweep), nics, "--json"}));
    EXPECT_EQ(json["sweep"], sweep);
    EXPECT_EQ(json["rows"].back()[key], last);
    return json["rows"].size();
  };
  EXPECT_EQ(row_count("size", "page_bytes", 16 << 20), 19u);
  EXPECT_EQ(row_count("nics", "nics", 32, "--window=8"), 6u);
  EXPECT_EQ(row_count("threads", "threads", 4), 3u);
  EXPECT_EQ(row_count("window", "window", 512), 10u);
}

TEST(WhatifTest, EveryFlagMakesADifference) {
  const auto gbps = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--json", "--size=8KiB", "--nics=8"});
    return Json::parse(kWhatif.Output(flags))["rows"][0]["predicted_overall_gbps"].get<double>();
  };
  const double usual = gbps({});
  for (const char* slower : {"--window=1", "--threads=1", "--policy=pinned", "--policy=by-peer",
                             "--pattern=single", "--pattern=drained", "--receivers=1", "--burst=1",
                             "--nopin", "--noshard", "--nolazy", "--pages=1000"}) {
    EXPECT_LT(gbps({"--window=16", slower}), usual) << slower;
  }
  EXPECT_LT(gbps({"--threads=2", "--noshard"}), gbps({"--threads=2"}));
  EXPECT_LT(gbps({"--threads=1", "--bare", "--far", "--burst=1"}),
            gbps({"--threads=1", "--bare", "--burst=1"}));
  EXPECT_LT(gbps({"--threads=2", "--nolazy"}), gbps({"--threads=2"}));
  EXPECT_LT(gbps({"--threads=1", "--burst=1"}), gbps({"--threads=1"}));
  EXPECT_LT(gbps({"--pages=1000", "--nowarm"}), gbps({"--pages=1000"}));
  EXPECT_LT(gbps({"--memory=host"}), gbps({"--bare"}));
  EXPECT_LT(gbps({"--route=crossing", "--size=1MiB"}), gbps({"--size=1MiB"}));
  EXPECT_LT(gbps({"--route=loopback"}), gbps({"--route=crossing"}));
  EXPECT_NE(gbps({"--pollers=8"}), usual);
  EXPECT_NE(gbps({"--op=read", "--pattern=single"}), gbps({"--pattern=single"}));
  EXPECT_GT(gbps({"--threads=1", "--bare"}), gbps({"--threads=1"}));
  EXPECT_LT(gbps({"--policy=by-peer", "--size=1MiB"}),
            gbps({"--policy=by-peer", "--size=1MiB", "--peers=4"}));
}

TEST(WhatifTest, CsvHasALineForEachRow) {
  const std::string csv = kWhatif.Output({"--sweep=window", "--nics=1", "--csv"});
  const std::vector<std::string> lines = absl::StrSplit(csv, '\n');
  ASSERT_EQ(lines.size(), 12u);  // a heading, ten rows, and nothing after the last
  EXPECT_THAT(lines[0], HasSubstr("window,predicted_gbps"));
  const std::vector<std::string> names = absl::StrSplit(lines[0], ',');
  const std::vector<std::string> cells = absl::StrSplit(lines[1], ',');
  ASSERT_EQ(cells.size(), names.size());
  EXPECT_EQ(cells[0], "p5");
  const auto limiter = std::find(names.begin(), names.end(), "limiter");
  ASSERT_NE(limiter, names.end());
  EXPECT_EQ(cells[limiter - names.begin()], "window");
}

// How long all pages take is in each form, of one workload and of a sweep.
TEST(WhatifTest, ARunThatEndsHasItsTimeInEveryForm) {
  const auto output = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--nics=1", "--pages=8", "--nowarm"});
    return kWhatif.Output(flags);
  };
  EXPECT_THAT(output({}), HasSubstr("total      8 pages take 19."));
  EXPECT_THAT(output({"--sweep=threads"}), AllOf(HasSubstr("all pages"), HasSubstr("  19.")));
  EXPECT_THAT(output({"--csv"}), HasSubstr("limiter,predicted_total_s,predicted_overall_gbps\n"));
  EXPECT_NEAR(Json::parse(output({"--json"}))["rows"][0]["predicted_total_s"].get<double>(), 0.0196,
              0.0002);
}

TEST(WhatifTest, DrawsWhatItSays) {
  const std::filesystem::path path =
      std::filesystem::path(std::getenv("TEST_TMPDIR")) / "whatif.svg";
  const std::vector<std::vector<std::string>> questions = {
      {"--sweep=size"}, {"--steps"}, {"--nics=1"}, {"--search", "--vary=route", "--noconfirm"}};
  for (std::vector<std::string> question : questions) {
    const std::string what = question.front();
    question.push_back(absl::StrCat("--svg=", path.string()));
    kWhatif.Output(question);
    std::ifstream file(path);
    const std::string svg(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(drydock::gpu::topology::ParseXml(svg), IsOk()) << what;
    EXPECT_THAT(svg, HasSubstr("predicted")) << what;
  }
}

TEST(WhatifTest, StepsAreBesideWhatWasPublished) {
  for (const auto& [profile, least] :
       {std::pair("p5", 40u), {"p5en", 20u}, {"p6-b200", 6u}, {"p6-b300", 8u}}) {
    const Json json =
        Json::parse(kWhatif.Output({"--steps", absl::StrCat("--profile=", profile), "--json"}));
    EXPECT_GE(json["steps"].size(), least) << profile;
    for (const Json& step : json["steps"]) {
      const double deviation = step["deviation"].get<double>();
      EXPECT_NEAR(step["predicted_gbps"].get<double>() / step["published_gbps"].get<double>() - 1,
                  deviation, 1e-9);
      EXPECT_FALSE(step["source"].get<std::string>().empty());
      const std::string use = step["use"].get<std::string>();
      EXPECT_THAT(use, AnyOf("fitted", "checked", "missed"));
      // Nothing is said to agree that does not.
      if (use == "checked") {
        EXPECT_LE(std::abs(deviation), 0.15) << step;
      } else if (use == "missed") {
        EXPECT_GT(std::abs(deviation), 0.15) << step;
      }
    }
  }
}

TEST(WhatifTest, SearchSaysForAScriptWhatItSaysForAPerson) {
  const std::vector<std::string> question = {"--search", "--vary=route,contact", "--nics=4"};
  const auto with = [&question](std::vector<std::string> flags) {
    flags.insert(flags.begin(), question.begin(), question.end());
    return kWhatif.Output(flags);
  };
  const Json json = Json::parse(with({"--json"}));
  EXPECT_EQ(json["profile"], "p5");
  EXPECT_EQ(json["ceiling"]["limiter"], "wire");
  EXPECT_EQ(json["kind"], "predicted and simulated");
  EXPECT_EQ(Json::parse(with({"--json", "--noconfirm"}))["kind"], "predicted");
  const auto crossing =
      std::find_if(json["cliffs"].begin(), json["cliffs"].end(),
                   [](const Json& cliff) { return cliff["workload"]["route"] == "crossing"; });
  ASSERT_NE(crossing, json["cliffs"].end()) << json;
  EXPECT_EQ((*crossing)["limiter"], "route");
  EXPECT_EQ((*crossing)["features"].size(), 1u);
  EXPECT_EQ((*crossing)["features"]["route"][0], "crossing");
  EXPECT_EQ((*crossing)["simulated"]["verdict"], "confirmed");
  EXPECT_LT((*crossing)["reached"]["gbps"], (*crossing)["neighbour"]["gbps"]);
  EXPECT_THAT(with({}), AllOf(HasSubstr("route crossing"), HasSubstr("confirmed: ")));
  EXPECT_THAT(with({"--noconfirm"}),
              AllOf(Not(HasSubstr("confirmed")), Not(HasSubstr("simulated"))));
  const std::vector<std::string> lines = absl::StrSplit(with({"--csv", "--noconfirm"}), '\n');
  EXPECT_EQ(lines.size(), json["cliffs"].size() + 2);  // a heading, and nothing after the last
  EXPECT_THAT(lines[0], StartsWith("profile,measure,limiter,features"));
}

TEST(WhatifTest, SearchLooksAroundTheWorkloadOfTheFlags) {
  const auto cliffs = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--search", "--json", "--noconfirm", "--vary=route,window"});
    return Json::parse(kWhatif.Output(flags))["cliffs"].size();
  };
  const std::size_t usual = cliffs({});
  EXPECT_GE(usual, 3u);                          // two routes and the window
  EXPECT_LT(cliffs({"--profile=p5en"}), usual);  // of which no slower route is known
  EXPECT_LT(cliffs({"--depth=0.8"}), usual);
  EXPECT_GT(cliffs({"--times=1.1"}), usual);
  EXPECT_LT(cliffs({"--budget=1"}), usual);
  EXPECT_EQ(cliffs({"--pages=100", "--nowarm"}), 0u);  // first contact hides all else
  EXPECT_GE(cliffs({"--profile=small", "--vary=window,memory,placement", "--confirm"}), 1u);
}

TEST(WhatifTest, OnePollerForAllNicsIsTheLimitOfShortPages) {
  const auto row = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "--json");
    return Json::parse(kWhatif.Output(flags))["rows"][0];
  };
  EXPECT_EQ(row({"--pollers=1"})["limiter"], "poll rate");
  EXPECT_LT(row({"--pollers=1"})["predicted_gbps"], 1000);
  EXPECT_EQ(row({"--pollers=1", "--size=1MiB"})["limiter"], "wire");
  EXPECT_NE(row({"--pollers=32"})["limiter"], "poll rate");
}

TEST(WhatifTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(kWhatif.Refusal({"fast"}), HasSubstr("unexpected argument: fast"));
  EXPECT_THAT(kWhatif.Refusal({"--profile=p9"}), HasSubstr("there are small, p4d, p5"));
  EXPECT_THAT(kWhatif.Refusal({"--profile=p4d"}), HasSubstr("do not both read and write"));
  EXPECT_THAT(kWhatif.Refusal({"--nics=33"}), HasSubstr("33 NICs, profile p5 has 32"));
  EXPECT_THAT(kWhatif.Refusal({"--size=big"}), HasSubstr("--size=big is no size"));
  EXPECT_THAT(kWhatif.Refusal({"--window=0"}), HasSubstr("1 or more"));
  EXPECT_THAT(kWhatif.Refusal({"--nowarm"}), HasSubstr("with --pages"));
  EXPECT_THAT(kWhatif.Refusal({"--policy=fast"}),
              HasSubstr("policy \"fast\" does not exist: round-robin, split"));
  EXPECT_THAT(kWhatif.Refusal({"--sweep=time"}), HasSubstr("there are size, nics"));
  EXPECT_THAT(kWhatif.Refusal({"--steps", "--sweep=size"}), HasSubstr("choose one"));
  EXPECT_THAT(kWhatif.Refusal({"--steps", "--nics=1"}), HasSubstr("--steps takes no --nics"));
  EXPECT_THAT(kWhatif.Refusal({"--sweep=window", "--window=3"}),
              HasSubstr("--window is what --sweep varies"));
  EXPECT_THAT(kWhatif.Refusal({"--sweep=threads", "--nics=18446744073709551615"}),
              HasSubstr("NICs, profile p5 has 32"));
  EXPECT_THAT(kWhatif.Refusal({"--profile=c8gn", "--memory=far"}), HasSubstr("there is one"));
  EXPECT_THAT(kWhatif.Refusal({"--profile=p5-4xlarge", "--far"}), HasSubstr("there is one"));
  EXPECT_THAT(kWhatif.Refusal({"--steps", "--profile=small"}),
              HasSubstr("there is something of p5, p5en, p6-b200"));
  EXPECT_THAT(kWhatif.Refusal({"--json", "--csv"}), HasSubstr("choose one"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--sweep=size"}), HasSubstr("choose one"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--steps"}), HasSubstr("choose one"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--depth=1"}), HasSubstr("between 0 and 1"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--times=1"}), HasSubstr("above 1"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--budget=0"}), HasSubstr("1 or more"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--vary=colour"}),
              HasSubstr("--vary: nothing varies by the name of \"colour\": there are page"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--vary=route,page,route"}),
              HasSubstr("--vary: \"route\" is named twice"));
  for (const char* of_search :
       {"--vary=page", "--seed=2", "--budget=7", "--depth=0.5", "--times=2", "--noconfirm"}) {
    for (const char* question : {"--nics=1", "--steps", "--sweep=size"}) {
      EXPECT_THAT(kWhatif.Refusal({of_search, question}), HasSubstr("goes with --search only"));
    }
  }
  EXPECT_THAT(kWhatif.Refusal({"--pages=18446744073709551615"}), HasSubstr("pages: at most"));
  EXPECT_THAT(kWhatif.Refusal({"--policy=by-peer", "--peers=2305843009213693952"}),
              HasSubstr("peers, pollers and receivers are at most"));
  EXPECT_THAT(kWhatif.Refusal({"--search", "--profile=p4d"}), HasSubstr("do not both read"));
  EXPECT_THAT(kWhatif.Refusal({"--svg=/nowhere/at/all.svg"}), HasSubstr("cannot be written"));
}

TEST(WhatifTest, APictureThatFindsNoRoomLosesNoAnswer) {
  const drydock::harness::ProcessEnd end = kWhatif.Run({"--nics=1", "--svg=/dev/full"});
  EXPECT_EQ(end.exit_code, 1) << end;
  EXPECT_EQ(end.out, kWhatif.Output({"--nics=1"}));
  EXPECT_THAT(end.err, HasSubstr("--svg=/dev/full: cannot be written: No space left"));
}

TEST(WhatifTest, HelpTeaches) {
  EXPECT_THAT(kWhatif.Output({"--help"}),
              AllOf(StartsWith("whatif: predicts how fast"), HasSubstr("--sweep"),
                    HasSubstr("whatif --steps"), HasSubstr("near-first")));
}

TEST(WhatifTest, ReadmeShowsWhatIsPrinted) {
  const std::vector<drydock::harness::ReadmeSession> sessions =
      drydock::harness::ReadmeSessions("//apps/whatif");
  ASSERT_THAT(sessions, SizeIs(5));
  for (const drydock::harness::ReadmeSession& session : sessions) {
    EXPECT_EQ(kWhatif.Output(session.arguments), session.output);
  }
}

}  // namespace
