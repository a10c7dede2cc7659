#include "sim/verbs/trace.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sim/event_log.h"
#include "sim/profile.h"
#include "sim/world.h"

namespace sim::verbs {
namespace {

using nlohmann::json;

TEST(TraceFileTest, TheProcessStandsBeforeTheExtension) {
  EXPECT_EQ(TraceFileOf("out.json", 17), "out.17.json");
  EXPECT_EQ(TraceFileOf("a.b.json", 17), "a.b.17.json");
  EXPECT_EQ(TraceFileOf("out", 17), "out.17");
  EXPECT_EQ(TraceFileOf("/tmp/run.1/out", 17), "/tmp/run.1/out.17");
  EXPECT_EQ(TraceFileOf("/tmp/run.1/out.json", 17), "/tmp/run.1/out.17.json");
  EXPECT_EQ(TraceFileOf(".hidden", 17), ".hidden.17");
  EXPECT_EQ(TraceFileOf("folder/.hidden", 17), "folder/.hidden.17");
}

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() {
    const absl::StatusOr<const Profile*> found = FindProfile("small");
    if (!found.ok()) throw std::runtime_error("no profile");
    world_ = std::make_unique<World>(/*seed=*/1, **found);
    world_->AddNode("host");
    file_ = ::testing::TempDir() + "trace.json";
  }

  std::string written() const { return TraceFileOf(file_, getpid()); }
  json Parsed() const {
    std::ifstream stream(written());
    json parsed = json::parse(stream, /*cb=*/nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(parsed.is_discarded()) << written();
    return parsed;
  }
  std::unique_ptr<Trace> Open() {
    absl::StatusOr<std::unique_ptr<Trace>> trace = Trace::Open(file_, *world_);
    EXPECT_TRUE(trace.ok()) << trace.status();
    return *std::move(trace);
  }

  std::unique_ptr<World> world_;
  std::string file_;
};

TEST_F(TraceTest, NothingHappened) {
  Open();
  EXPECT_EQ(Parsed(), json::array());
}

TEST_F(TraceTest, EveryEventInItsOrder) {
  {
    const std::unique_ptr<Trace> trace = Open();
    world_->log().Append({.time = std::chrono::nanoseconds(1500),
                          .kind = EventKind::kFetch,
                          .branch = 2,
                          .actor = 1,
                          .packet = 3,
                          .operation = UINT64_C(1) << 53,
                          .bytes = 4096});
    for (int i = 0; i < 100; ++i) {
      world_->log().Append({.time = std::chrono::nanoseconds(2000 + i),
                            .kind = EventKind::kPlace,
                            .actor = 0,
                            .operation = static_cast<std::uint64_t>(i)});
    }
    world_->log().Append({.time = std::chrono::seconds(5), .kind = EventKind::kFault});
  }
  const json events = Parsed();
  ASSERT_EQ(events.size(), 102u);
  const json& first = events[0];
  EXPECT_EQ(first["name"], "fetch");
  EXPECT_EQ(first["ph"], "i");
  EXPECT_EQ(first["ts"], 1.5);  // microseconds
  EXPECT_EQ(first["pid"], getpid());
  EXPECT_EQ(first["tid"], 1);
  EXPECT_EQ(first["args"]["nic"], world_->nic(1).name());
  EXPECT_EQ(first["args"]["operation"], UINT64_C(1) << 53);
  EXPECT_EQ(first["args"]["packet"], 3);
  EXPECT_EQ(first["args"]["bytes"], 4096);
  EXPECT_EQ(first["args"]["branch"], 2);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(events[i + 1]["name"], "place");
    EXPECT_EQ(events[i + 1]["args"]["operation"], i);
    EXPECT_EQ(events[i + 1]["args"]["nic"], world_->nic(0).name());
  }
  EXPECT_EQ(events[101]["ts"], 5e6);
  EXPECT_EQ(events[101]["args"]["nic"], "world");  // of no NIC
}

TEST_F(TraceTest, NobodyIsToldAfterwards) {
  Open();
  world_->log().Append({.kind = EventKind::kPlace});
  EXPECT_EQ(Parsed(), json::array());
}

TEST_F(TraceTest, ASecondOneReplacesTheFirst) {
  {
    const std::unique_ptr<Trace> trace = Open();
    world_->log().Append({.kind = EventKind::kPlace});
  }
  ASSERT_EQ(Parsed().size(), 1u);
  Open();
  EXPECT_EQ(Parsed().size(), 0u);
}

TEST_F(TraceTest, AFileThatCannotBeMade) {
  file_ = ::testing::TempDir() + "no-such-folder/trace.json";
  const absl::Status status = Trace::Open(file_, *world_).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find(written()), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace sim::verbs
