// The flight file of a process that died.

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "drydock/fabric/trace/flight_file.h"
#include "drydock/fabric/trace/flight_layout.h"
#include "drydock/fabric/trace/flight_reader.h"
#include "drydock/fabric/trace/recorder.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::fabric::trace {
namespace {

namespace fs = std::filesystem;

using ::drydock::testing_matchers::StatusIs;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::KilledBySignal;
using ::testing::SizeIs;

constexpr int kRecorded = 5000;  // more than a flight file keeps

class FlightTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The work of the process that dies.
  static Recorder& Fly() {
    RecorderOptions options;
    options.info = {.program = "pilot", .backend = "air", .simulated = true, .seed = 3};
    auto& recorder = *new Recorder(options);  // never destroyed
    recorder.Node("plane");
    Event event;
    event.track = recorder.TrackOf({0, TrackKind::kProgram, 0, ""});
    event.kind = Kind::kResume;
    for (int i = 1; i <= kRecorded; ++i) {
      event.op = static_cast<std::uint64_t>(i);
      event.time_ns = i;
      recorder.Record(event);
    }
    event.kind = Kind::kCheck;
    event.text = recorder.Text("\"check\":\"altitude\",\"text\":\"too low\"");
    recorder.Record(event);
    return recorder;
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
    return files;
  }

  void ExpectLastEvents() const {
    ASSERT_THAT(Files(), SizeIs(1));
    ASSERT_OK_AND_ASSIGN(const Recording recording, ReadFlightFile(Files()[0]));
    EXPECT_EQ(recording.info.program, "pilot");
    EXPECT_EQ(recording.info.backend, "air");
    EXPECT_EQ(recording.info.seed, 3u);
    EXPECT_THAT(recording.nodes, ::testing::ElementsAre("plane"));
    ASSERT_THAT(recording.events, SizeIs(kFlightEvents));
    EXPECT_EQ(recording.dropped, kRecorded + 1 - kFlightEvents);
    EXPECT_EQ(recording.events.front().op, kRecorded + 2 - kFlightEvents);
    EXPECT_EQ(recording.events.back().kind, Kind::kCheck);
    ASSERT_EQ(recording.events.back().text, 1u);
    EXPECT_THAT(recording.texts[0], HasSubstr("altitude"));
  }

  fs::path folder_;
};

using FlightDeathTest = FlightTest;

TEST_F(FlightDeathTest, AbortLeavesTheLastEventsAndSaysWhere) {
  EXPECT_DEATH(
      {
        Fly();
        std::abort();
      },
      "flight recorder: the last events are in .*/drydock-flight-");
  ExpectLastEvents();
}

TEST_F(FlightDeathTest, AFaultOfMemoryDoesToo) {
  EXPECT_DEATH(
      {
        Fly();
        raise(SIGSEGV);
      },
      "flight recorder: the last events are in .*/drydock-flight-");
  ExpectLastEvents();
}

TEST_F(FlightDeathTest, KillLeavesThem) {
  EXPECT_EXIT(
      {
        Fly();
        raise(SIGKILL);
      },
      KilledBySignal(SIGKILL), "");
  ExpectLastEvents();
}

TEST_F(FlightDeathTest, ANormalEndLeavesNothing) {
  EXPECT_EXIT(
      {
        delete &Fly();
        std::_Exit(0);
      },
      ExitedWithCode(0), "");
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(FlightDeathTest, NorDoesAnEndByHand) {
  EXPECT_EXIT(
      {
        Fly();
        raise(SIGTERM);
      },
      KilledBySignal(SIGTERM), "");
  EXPECT_THAT(Files(), IsEmpty());
}

// Its files are not its own.
TEST_F(FlightTest, AForkedChildThatIsEndedTakesNothingWithIt) {
  Recorder& recorder = Fly();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    raise(SIGTERM);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  ExpectLastEvents();
  delete &recorder;
  EXPECT_THAT(Files(), IsEmpty());
}

// Any change of any byte of the names, and of some events, is refused or read without harm.
TEST_F(FlightTest, DamagedFilesAreReadWithoutHarm) {
  Recorder& recorder = Fly();
  std::ifstream original(recorder.flight_path(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(original), {});
  const std::string copy = folder_ / "copy";
  const auto read = [&](const std::string& text) {
    std::ofstream(copy, std::ios::binary) << text;
    return ReadFlightFile(copy);
  };
  EXPECT_THAT(ReadFlightFile(folder_ / "none"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(read(""), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(read(bytes.substr(0, bytes.size() - 1)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const std::size_t ring = offsetof(FlightLayout, ring);
  for (std::size_t at = 0; at < 120; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x81);
    const std::size_t in_event = ring + 3000 * sizeof(Event) + at % sizeof(Event);
    damaged[in_event] = static_cast<char>(0xff);
    const absl::StatusOr<Recording> recording = read(damaged);
    if (!recording.ok()) continue;
    for (const Event& event : recording->events) {
      EXPECT_LE(event.track, recording->tracks.size());
      EXPECT_LE(event.text, recording->texts.size());
    }
  }
  delete &recorder;
}

}  // namespace
}  // namespace drydock::fabric::trace
