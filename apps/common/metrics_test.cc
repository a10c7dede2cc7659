// Counters of a run: where they come from, and how they are written.

#include <sys/stat.h>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/apps/common/command_line.h"
#include "drydock/apps/common/metrics_flags.h"
#include "drydock/apps/common/metrics_run.h"
#include "drydock/fabric/metrics/counters.h"
#include "drydock/fabric/metrics/formats.h"
#include "drydock/fabric/metrics/hw_counters.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

namespace fs = std::filesystem;

using ::drydock::testing_matchers::IsOk;
using ::drydock::testing_matchers::StatusIs;
using fabric::metrics::CounterValue;
using fabric::metrics::NicMetrics;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// A folder of its own for each test.
class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() { fs::create_directories(folder_); }
  ~MetricsTest() override { fs::remove_all(folder_); }

  void Write(const std::string& path, const std::string& text) {
    const fs::path file = folder_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  // A NIC as the kernel shows one.
  void WriteNic(const std::string& nic, std::uint64_t written) {
    const std::string counters = nic + "/ports/1/hw_counters/";
    Write(counters + "rdma_write_bytes", absl::StrCat(written, "\n"));
    Write(counters + "tx_pkts", "5\n");
    Write(counters + "lifespan", "12\n");
    Write(nic + "/hw_counters/create_ah_err", "2\n");
  }
  std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(folder_ / path, std::ios::binary).rdbuf();
    return text.str();
  }
  std::string PathOf(const std::string& name) { return (folder_ / name).string(); }

  const fs::path folder_ = fs::path(::testing::TempDir()) /
                           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  absl::FlagSaver saver_;
};

// ---- Prometheus' text format, read as its specification has it, and not a bit more ----

struct Sample {
  std::map<std::string, std::string> labels;
  std::uint64_t value = 0;
};

class Exposition {
 public:
  // The first mistake in the text; empty: none.
  std::string Parse(const std::string& text) {
    if (!text.empty() && text.back() != '\n') return "no line end at the end";
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      const std::string wrong = line[0] == '#' ? Comment(line) : TakeSample(line);
      if (!wrong.empty()) return wrong + ": " + line;
    }
    return "";
  }
  const std::vector<Sample>& of(const std::string& name) { return samples_[name]; }
  std::size_t families() const { return types_.size(); }

 private:
  static bool IsName(const std::string& name) {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
    for (const char letter : name) {
      if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '_') return false;
    }
    return true;
  }

  std::string Comment(const std::string& line) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (words.size() != 4 || !IsName(words[2])) return "no comment that means anything";
    if (words[1] == "HELP") {
      if (!helped_.insert(words[2]).second) return "a second HELP";
      return "";
    }
    if (words[1] != "TYPE" || (words[3] != "counter" && words[3] != "gauge"))
      return "neither HELP nor a counter's TYPE";
    if (!types_.insert(words[2]).second) return "a second TYPE";
    if (samples_.count(words[2]) > 0) return "a TYPE after its samples";
    current_ = words[2];
    return "";
  }

  std::string TakeSample(const std::string& line) {
    std::size_t at = line.find('{');
    if (at == std::string::npos) return "no labels";
    const std::string name = line.substr(0, at);
    if (name != current_) return "a sample away from its TYPE";
    Sample sample;
    for (++at; line[at] != '}';) {
      const std::size_t equals = line.find('=', at);
      if (equals == std::string::npos) return "no value of a label";
      const std::string label = line.substr(at, equals - at);
      if (!IsName(label) || line[equals + 1] != '"') return "no label";
      std::string value;
      for (at = equals + 2; line[at] != '"'; ++at) {
        if (at + 1 >= line.size()) return "an endless label";
        if (line[at] == '\\') {
          ++at;
          if (line[at] != '\\' && line[at] != '"' && line[at] != 'n') return "no escape";
          value += line[at] == 'n' ? '\n' : line[at];
        } else {
          value += line[at];
        }
      }
      sample.labels[label] = value;
      if (line[++at] == ',') ++at;
    }
    if (line[at + 1] != ' ') return "no blank before the value";
    if (!absl::SimpleAtoi(line.substr(at + 2), &sample.value)) return "no value";
    if (!seen_.insert(name + line.substr(name.size(), at - name.size())).second) {
      return "the same sample twice";
    }
    samples_[name].push_back(sample);
    return "";
  }

  std::string current_;
  std::set<std::string> helped_;
  std::set<std::string> types_;
  std::set<std::string> seen_;
  std::map<std::string, std::vector<Sample>> samples_;
};

TEST_F(MetricsTest, PrometheusReadsWhatIsWritten) {
  const std::vector<NicMetrics> nics = {
      {"one", "rdmap0s31", "simulated", {{"tx_bytes", 7}, {"rx_drops", 0}}},
      {"t\"w\\o\nlines", "rdmap1s31", "device", {{"tx_bytes", UINT64_MAX}, {"new-in 2027", 3}}},
      {"one", "rdmap0s31", "simulated", {{"tx_bytes", 5}}},
  };
  Exposition read;
  const std::string text = fabric::metrics::ToPrometheus(nics);
  ASSERT_EQ(read.Parse(text), "") << text;
  EXPECT_EQ(read.families(), 4u);  // and whether they are there
  const auto& sent = read.of("efa_tx_bytes_total");
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].value, 12u);  // the same NIC twice: one sample
  EXPECT_EQ(sent[0].labels.at("node"), "one");
  EXPECT_EQ(sent[0].labels.at("nic"), "rdmap0s31");
  EXPECT_EQ(sent[0].labels.at("source"), "simulated");
  EXPECT_EQ(sent[1].value, UINT64_MAX);
  EXPECT_EQ(sent[1].labels.at("node"), "t\"w\\o\nlines");
  EXPECT_EQ(read.of("efa_rx_drops_total").size(), 1u);
  EXPECT_EQ(read.of("efa_new_in_2027_total").size(), 1u);
  EXPECT_EQ(fabric::metrics::ToPrometheus({}), "");
}

TEST_F(MetricsTest, EveryCounterHasAHelpTextThatIsOneLine) {
  NicMetrics all;
  for (const auto& info : fabric::metrics::CounterTable()) {
    EXPECT_EQ(info.help.find_first_of("\n\\"), std::string_view::npos);
    all.counters.push_back({std::string(info.name), 1});
  }
  Exposition read;
  EXPECT_EQ(read.Parse(fabric::metrics::ToPrometheus({&all, 1})), "");
  EXPECT_EQ(read.families(), fabric::metrics::CounterTable().size() + 1);
}

TEST_F(MetricsTest, PageForPeopleNamesEveryCounterWithItsUnitAndMeaning) {
  std::ostringstream page;
  page << std::ifstream("docs/metrics.md").rdbuf();
  for (const auto& info : fabric::metrics::CounterTable()) {
    std::string_view help = info.help;
    help.remove_suffix(1);  // the full stop
    const std::string row = absl::StrCat("| `", std::string(info.name), "` | ",
                                         std::string(info.unit), " | ", std::string(help), " |");
    EXPECT_THAT(page.str(), HasSubstr(row));
  }
}

// ---- The kernel's counters ----

TEST_F(MetricsTest, CountersOfTheKernelAreReadFromBothOfTheirFolders) {
  WriteNic("rdmap0s31", 100);
  Write("rdmap0s31/ports/1/hw_counters/tx_bytes", "N/A (no permission)\n");
  Write("rdmap0s31/ports/1/hw_counters/from_the_future", "9");
  ASSERT_OK_AND_ASSIGN(const NicMetrics nic,
                       fabric::metrics::ReadHardwareCounters("rdmap0s31", folder_.string()));
  EXPECT_EQ(nic.source, "device");
  EXPECT_THAT(nic.counters,
              ElementsAre(CounterValue{"tx_pkts", 5}, CounterValue{"rdma_write_bytes", 100},
                          CounterValue{"create_ah_err", 2}, CounterValue{"from_the_future", 9}));
  const auto missing = absl::StatusCode::kNotFound;
  EXPECT_THAT(fabric::metrics::ReadHardwareCounters("lo", folder_.string()), StatusIs(missing));
  EXPECT_THAT(fabric::metrics::ReadHardwareCounters("../x", folder_.string()), StatusIs(missing));
  EXPECT_THAT(fabric::metrics::ReadHardwareCounters("", folder_.string()), StatusIs(missing));
}

// A fabric over NICs whose counters the kernel shows, as far as metrics can tell.
struct Hardware {
  sim::World world{1, **sim::FindProfile("small")};
  std::unique_ptr<fabric::Fabric> fabric = sim::OpenSimFabric(world, world.AddNode("here"));
  const std::string nic = fabric->nics()[0].name;
};

TEST_F(MetricsTest, OfDevicesWhatHasGrownCounts) {
  Hardware hardware;
  const std::string& nic = hardware.nic;
  WriteNic(nic, 1000);
  MetricsRun run(MetricsForm::kTable, "", folder_.string());
  const fabric::Fabric* const before = hardware.fabric.get();
  hardware.fabric = run.Watch(std::move(hardware.fabric));
  EXPECT_EQ(hardware.fabric.get(), before);  // nothing stands between the program and the hardware
  Write(nic + "/ports/1/hw_counters/rdma_write_bytes", "1500\n");
  Write(nic + "/hw_counters/create_ah_err", "1\n");  // the driver was restarted
  const std::vector<NicMetrics> all = run.Metrics();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].nic, nic);
  EXPECT_THAT(all[0].counters,
              ElementsAre(CounterValue{"tx_pkts", 0}, CounterValue{"rdma_write_bytes", 500},
                          CounterValue{"create_ah_err", 1}));
}

TEST_F(MetricsTest, ADeviceThatIsTakenAwayIsMissed) {
  Hardware hardware;
  const std::string& nic = hardware.nic;
  WriteNic(nic, 1000);
  MetricsRun run(MetricsForm::kTable, "", folder_.string());
  hardware.fabric = run.Watch(std::move(hardware.fabric));
  fs::remove_all(folder_ / nic);
  const std::vector<NicMetrics> all = run.Metrics();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].nic, nic);
  EXPECT_TRUE(all[0].gone);
  EXPECT_TRUE(all[0].counters.empty());  // not 0: unknown
  EXPECT_THAT(FormatMetrics(all, false), HasSubstr(nic + ", and with it what it has counted\n"));
}

TEST_F(MetricsTest, ADeviceThatCannotBeReadHasNotGone) {
  Hardware hardware;
  const std::string& nic = hardware.nic;
  WriteNic(nic, 1000);
  MetricsRun run(MetricsForm::kTable, "", folder_.string());
  hardware.fabric = run.Watch(std::move(hardware.fabric));
  const fs::path device = folder_ / nic;
  fs::remove_all(device);
  fs::create_directory(device);
  fs::create_symlink("hw_counters", device / "hw_counters");  // of itself: may not be followed
  EXPECT_THAT(run.Metrics(), IsEmpty());
  std::ostringstream out;
  EXPECT_THAT(run.Deliver(out), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(out.str(), Not(HasSubstr("gone")));
}

TEST_F(MetricsTest, ASimulatedNicThatDiesKeepsItsCountersAndIsMarked) {
  sim::World world(1, **sim::FindProfile("small"));
  world.AddNode("here").nic(0).Kill();
  MetricsRun run(MetricsForm::kTable);
  run.Take(world);
  const std::vector<NicMetrics> all = run.Metrics();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all[0].gone);
  EXPECT_FALSE(all[0].counters.empty());
  EXPECT_THAT(FormatMetrics(all, false), HasSubstr("gone: here: " + all[0].nic + ": its values"));
  const std::string text = fabric::metrics::ToPrometheus(all);
  Exposition read;
  ASSERT_EQ(read.Parse(text), "") << text;
  ASSERT_EQ(read.of("efa_nic_up").size(), all.size());
  EXPECT_EQ(read.of("efa_nic_up")[0].value, 0u);
  EXPECT_EQ(read.of("efa_nic_up")[0].labels.at("nic"), all[0].nic);
  EXPECT_THAT(fabric::metrics::ToJson(all), HasSubstr("\"up\": false"));
}

TEST_F(MetricsTest, WhereTheKernelShowsNoCountersTheProgramCounts) {
  sim::World world(1, **sim::FindProfile("small"));
  MetricsRun run(MetricsForm::kTable, "", folder_.string());
  const auto fabric = run.Watch(sim::OpenSimFabric(world, world.AddNode("here")));
  ASSERT_THAT(fabric->OpenDomain(0), IsOk());
  const std::vector<NicMetrics> all = run.Metrics();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].source, "program");
}

// ---- What a person sees ----

TEST_F(MetricsTest, TableHasAColumnForEachNicThatHasCountedSomething) {
  const std::vector<NicMetrics> nics = {
      {"a", "nic0", "simulated", {{"tx_bytes", 4096}, {"rx_drops", 0}}},
      {"a", "nic1", "simulated", {{"tx_bytes", 0}, {"rx_drops", 0}}},
      {"b", "nic0", "simulated", {{"tx_bytes", 0}, {"rx_bytes", 5}}},
  };
  EXPECT_EQ(FormatMetrics(nics, false),
            "\nmetrics: counted by simulated NICs (--metrics=all shows zeros, too)\n\n"
            "counter   unit   a: nic0  b: nic0\n"
            "--------  -----  -------  -------\n"
            "tx_bytes  bytes     4096        0\n"
            "rx_bytes  bytes  -              5\n");
  EXPECT_THAT(FormatMetrics(nics, true), HasSubstr("rx_drops  packets        0  -"));
  EXPECT_EQ(FormatMetrics({}, true), "\nmetrics: nothing was counted\n");
}

TEST_F(MetricsTest, ManyNicsAreAddedUp) {
  std::vector<NicMetrics> nics;
  for (int i = 0; i < 5; ++i) {
    nics.push_back({"a", absl::StrCat("nic", i), "simulated", {{"tx_pkts", 10}}});
  }
  nics.push_back({"b", "nic0", "simulated", {{"tx_pkts", 1}}});
  const std::string text = FormatMetrics(nics, false);
  EXPECT_THAT(text, HasSubstr("a: 5 NICs  b: 1 NIC\n"));
  EXPECT_THAT(text, HasSubstr("       50         1\n"));
}

// ---- The flag ----

TEST_F(MetricsTest, FlagTakesATableOrAFile) {
  const auto ask = [](const std::string& argument) {
    absl::FlagSaver saver;
    EXPECT_THAT(ParseFlags({argument, "rest"}),
                ::drydock::testing_matchers::IsOkAndHolds(ElementsAre("rest")));
    return MetricsFromFlags();
  };
  EXPECT_EQ(*MetricsFromFlags(), nullptr);
  for (const std::string& good :
       {std::string("--metrics"), std::string("--metrics=all"), "--metrics=" + PathOf("x.prom"),
        "--metrics=" + PathOf("x.json"), std::string("--metrics=x.json")}) {
    const auto run = ask(good);
    ASSERT_THAT(run, IsOk()) << good;
    EXPECT_NE(*run, nullptr) << good;
  }
  EXPECT_THAT(ask("--metrics=some"), StatusIs(kInvalid, HasSubstr("all, FILE.prom or FILE.json")));
  EXPECT_THAT(ask("--metrics=/no/such/folder/x.prom"), StatusIs(kInvalid, HasSubstr("folder")));
}

TEST_F(MetricsTest, EverybodyMayReadANewFile) {
  const mode_t before = umask(077);
  std::ostringstream out;
  EXPECT_THAT(MetricsRun(MetricsForm::kJson, PathOf("x.json")).Deliver(out), IsOk());
  umask(before);
  EXPECT_EQ(out.str(), "");
  struct stat status = {};
  ASSERT_EQ(stat(PathOf("x.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST_F(MetricsTest, FileIsReplacedInOneStepAndKeepsItsPermissions) {
  Write("x.prom", "old");
  ASSERT_EQ(chmod(PathOf("x.prom").c_str(), 0640), 0);
  const MetricsRun run(MetricsForm::kPrometheus, PathOf("x.prom"));
  std::ostringstream out;
  ASSERT_THAT(run.Deliver(out), IsOk());
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(Read("x.prom"), "");
  struct stat status = {};
  ASSERT_EQ(stat(PathOf("x.prom").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    static_cast<void>(entry);
    ++files;
  }
  EXPECT_EQ(files, 1u);  // no draft is left
  fs::create_directories(folder_ / "y.json");
  EXPECT_THAT(MetricsRun(MetricsForm::kJson, PathOf("y.json")).Deliver(out),
              StatusIs(kInvalid, HasSubstr("cannot be written: Is a directory")));
}

TEST_F(MetricsTest, FileBehindALinkIsWrittenAndTheLinkStays) {
  Write("there/x.json", "old");
  fs::create_symlink("there/x.json", folder_ / "x.json");
  std::ostringstream out;
  ASSERT_THAT(MetricsRun(MetricsForm::kJson, PathOf("x.json")).Deliver(out), IsOk());
  EXPECT_TRUE(fs::is_symlink(folder_ / "x.json"));
  EXPECT_THAT(Read("there/x.json"), HasSubstr("nics"));
}

TEST_F(MetricsTest, JsonHasEachNic) {
  const std::vector<NicMetrics> nics = {{"a", "nic0", "device", {{"tx_bytes", 1ull << 60}}}};
  EXPECT_EQ(fabric::metrics::ToJson(nics),
            "{\n  \"nics\": [\n    {\n      \"node\": \"a\",\n      \"nic\": \"nic0\",\n"
            "      \"source\": \"device\",\n      \"up\": true,\n      \"counters\": {\n"
            "        \"tx_bytes\": 1152921504606846976\n      }\n    }\n  ]\n}\n");
}

}  // namespace
}  // namespace drydock::apps
