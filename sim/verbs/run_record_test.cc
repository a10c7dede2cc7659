// The record of a run after a program that has written anywhere: its reader finds nothing that does
// not make sense.

#include "drydock/sim/verbs/run_record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/sim/world/run_trace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim::verbs {
namespace {

using fabric::faults::FiringId;
using ::testing::ElementsAre;

constexpr std::size_t kRules = 2;

std::unique_ptr<RunRecordFile> MakeRecord(
    const std::optional<std::vector<FiringId>>& firings = std::nullopt) {
  auto made = RunRecordFile::Create(firings, std::nullopt);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// As the program's process does.
class Mapped {
 public:
  explicit Mapped(const RunRecordFile& file)
      : file_(open(file.KeptThroughExec().value_or("none is free").c_str(), O_RDWR)) {
    memory_ = mmap(nullptr, sizeof(RunRecord), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    EXPECT_NE(memory_, MAP_FAILED);
  }
  ~Mapped() {
    munmap(memory_, sizeof(RunRecord));
    close(file_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  RunRecord& record() const { return *static_cast<RunRecord*>(memory_); }
  int file() const { return file_; }

 private:
  const int file_;
  void* memory_ = nullptr;
};

// A run of one firing, two operations and two marks.
void WriteRun(RunRecord& record) {
  RunTrace& trace = record.trace;
  trace.firing_count = 1;
  trace.firings[0].id = {1, 5};
  trace.operation_count = 2;
  trace.event_count = 40;
  trace.mark_count = 2;
  trace.marks[0].events = 16;
  trace.marks[1].events = 32;
}

TEST(RunRecordTest, AListIsSortedWhateverItsOrder) {
  const auto file = MakeRecord({{{1, 3}, {0, 9}, {1, 2}}});
  const RunRecord& record = file->Read(kRules);
  EXPECT_TRUE(record.restricts_firings);
  ASSERT_EQ(record.firing_count, 3u);
  EXPECT_THAT(std::vector(record.firings.begin(), record.firings.begin() + 3),
              ElementsAre(FiringId{0, 9}, FiringId{1, 2}, FiringId{1, 3}));
}

TEST(RunRecordTest, WhatMakesSenseStays) {
  const auto file = MakeRecord();
  const Mapped program(*file);
  WriteRun(program.record());
  program.record().check.Set("buffer-race");
  const RunRecord& record = file->Read(kRules);
  EXPECT_EQ(record.trace.firing_count, 1u);
  EXPECT_EQ(record.trace.operation_count, 2u);
  EXPECT_EQ(record.trace.mark_count, 2u);
  EXPECT_EQ(record.check.Get(), "buffer-race");
}

TEST(RunRecordTest, ATraceThatMakesNoSenseIsEmpty) {
  const auto set_byte = [](bool& place) { std::memset(&place, 2, 1); };
  const std::vector<std::function<void(RunTrace&)>> mistakes = {
      [](RunTrace& trace) { trace.firings[0].id.rule = kRules; },
      [](RunTrace& trace) { trace.firings[0].time = std::chrono::nanoseconds(INT64_MIN); },
      [&](RunTrace& trace) { set_byte(trace.firings[0].has_operation); },
      [&](RunTrace& trace) { set_byte(trace.firings[0].has_peer); },
      [&](RunTrace& trace) { set_byte(trace.operations[1].landed); },
      [&](RunTrace& trace) { set_byte(trace.operations[0].has_immediate); },
      [](RunTrace& trace) { trace.operations[1].landing = std::chrono::nanoseconds(-1); },
      [](RunTrace& trace) { trace.last_events[9].time = std::chrono::nanoseconds(-1); },
      [](RunTrace& trace) { trace.mark_count = RunTrace::kMostMarks + 1; },
      [](RunTrace& trace) { trace.marks[1].events = trace.marks[0].events; },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    const auto file = MakeRecord();
    const Mapped program(*file);
    WriteRun(program.record());
    mistakes[i](program.record().trace);
    const RunTrace& trace = file->Read(kRules).trace;
    EXPECT_EQ(trace.firing_count + trace.operation_count + trace.mark_count + trace.event_count, 0u)
        << "mistake " << i;
  }
}

TEST(RunRecordTest, TextsEndAndNameNoFile) {
  const auto file = MakeRecord();
  const Mapped program(*file);
  WriteRun(program.record());
  program.record().trace.firings[0].nic.fill('x');
  program.record().trace.nics[7].fill('x');
  program.record().check.Set("../../home");
  program.record().library_count = UINT64_MAX;
  const RunRecord& record = file->Read(kRules);
  EXPECT_EQ(std::strlen(record.trace.firings[0].nic.data()), 39u);
  EXPECT_EQ(std::strlen(record.trace.nics[7].data()), 39u);
  EXPECT_EQ(record.check.Get(), "");
  EXPECT_EQ(record.library_count, RunRecord::kMostLibraries);
}

TEST(RunRecordTest, NoBytesAreWorseThanARunOfNothing) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 3; ++run) {
    const auto file = MakeRecord();
    const Mapped program(*file);
    auto* const words = reinterpret_cast<std::uint64_t*>(&program.record());
    for (std::size_t i = 0; i < sizeof(RunRecord) / sizeof *words; ++i) words[i] = random();
    const RunRecord& record = file->Read(kRules);
    EXPECT_EQ(record.trace.FiringIds().size(), 0u);
    EXPECT_EQ(record.trace.LastEvents().size(), 0u);
    EXPECT_LT(record.check.Get().size(), 64u);
  }
}

// By a process that the program has left behind.
TEST(RunRecordTest, WhatIsWrittenAfterItWasReadIsNotSeen) {
  const auto file = MakeRecord();
  const Mapped program(*file);
  WriteRun(program.record());
  program.record().trace.operations[1].bytes = 77;
  program.record().check.Set("buffer-race");
  const RunRecord& record = file->Read(kRules);
  program.record().trace.firings[0].id.rule = kRules;
  program.record().trace.operations[1].bytes = 78;
  program.record().trace.mark_count = UINT64_MAX;
  program.record().check.Set("../../home");
  for (int read = 0; read < 2; ++read) {
    EXPECT_EQ(record.trace.firings[0].id.rule, 1u);
    EXPECT_EQ(record.trace.operations[1].bytes, 77u);
    EXPECT_EQ(record.trace.mark_count, 2u);
    EXPECT_EQ(record.check.Get(), "buffer-race");
    EXPECT_EQ(&file->Read(kRules), &record);
  }
}

// So may a program in a user namespace of its own, which may not look into our /proc.
TEST(RunRecordTest, AProgramOpensItByItsOwnDescriptors) {
  const auto file = MakeRecord();
  std::string first;
  for (int run = 0; run < 12; ++run) {
    const absl::StatusOr<std::string> path = file->KeptThroughExec();
    ASSERT_TRUE(path.ok()) << path.status();
    if (run == 0) first = *path;
    EXPECT_EQ(path->size(), first.size());
    const std::string command = "printf '\\001' 1<>" + *path;
    EXPECT_EQ(std::system(command.c_str()), 0) << *path;
  }
  EXPECT_TRUE(file->Read(kRules).restricts_firings);  // its first byte
}

TEST(RunRecordTest, NobodyMakesItShorter) {
  const auto file = MakeRecord();
  const Mapped program(*file);
  EXPECT_NE(ftruncate(program.file(), 0), 0);
  EXPECT_EQ(file->Read(kRules).trace.event_count, 0u);
}

}  // namespace
}  // namespace drydock::sim::verbs
