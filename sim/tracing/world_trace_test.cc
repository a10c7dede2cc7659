// A program on simulated devices, as it is drawn: every operation has one number and one flow from
// its post to its poll, and nothing is another for being observed.

#include "drydock/sim/tracing/world_trace.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "drydock/fabric/opened_nic.h"
#include "drydock/fabric/trace/perfetto.h"
#include "drydock/fabric/trace/recorder.h"
#include "drydock/fabric/trace/testing/trace_checker.h"
#include "drydock/fabric/trace/traced_fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/testing/fault_scene.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::sim_testing {
namespace {

using fabric::trace::CheckedSlice;
using fabric::trace::CheckedTrace;
using fabric::trace::Recorder;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kThreePackets = 20000;

fabric::trace::RecorderOptions Options(bool flight) {
  fabric::trace::RecorderOptions options;
  options.info.program = "test";
  options.capacity = 100000;
  options.flight = flight;
  return options;
}

// Two machines, observed unless it is said otherwise.
struct TracedScene {
  explicit TracedScene(sim::Profile profile = Calm(), std::vector<FaultRule> rules = {},
                       bool observed = true)
      : recorder(Options(/*flight=*/observed)),
        engine(rules.empty() ? nullptr : EngineOf(std::move(rules), 1)),
        lab(1, std::move(profile), sim::ClockKind::kVirtual, engine) {
    if (observed) {
      devices.emplace(lab.world(), recorder, engine.get());
      lab.set_decorate([this](std::unique_ptr<fabric::Fabric> fabric, const std::string& machine) {
        return fabric::trace::OpenTracedFabric(
            std::move(fabric), {.recorder = &recorder, .node = machine, .device_completes = true});
      });
    }
    a = &lab.Add("a");
    b = &lab.Add("b");
    lab.Introduce();
  }

  CheckedTrace Trace() {
    std::ostringstream out;
    fabric::trace::WriteTrace(recorder.Take(), out);
    CheckedTrace trace = fabric::trace::CheckTrace(out.str());
    EXPECT_THAT(trace.problems, IsEmpty());
    return trace;
  }

  Recorder recorder;
  std::shared_ptr<FaultEngine> engine;
  Lab lab;
  std::optional<sim::WorldTrace> devices;
  Side* a;
  Side* b;
};

// Whether the placements of this operation cover [begin, end) of its target, and only that.
bool Cover(const CheckedTrace& trace, const std::string& op, std::uint64_t begin,
           std::uint64_t end) {
  std::vector<bool> covered(end);
  for (const CheckedSlice& place : trace.Of("place")) {
    if (place.arguments.at("op") != op || place.arguments.count("region") == 0) continue;
    const std::uint64_t at = std::stoull(place.arguments.at("offset"));
    const std::uint64_t bytes = std::stoull(place.arguments.at("bytes"));
    if (at < begin || at + bytes > end) return false;
    std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
  }
  return std::count(covered.begin(), covered.end(), true) ==
         static_cast<std::ptrdiff_t>(end - begin);
}

TEST(WorldTraceTest, AWriteIsOneFlowFromPostToPoll) {
  TracedScene scene(Small());
  ASSERT_EQ(scene.a->endpoint->Write(scene.a->WriteTo(*scene.b, 4096, kThreePackets, 7)),
            fabric::ErrorCode::kOk);
  EXPECT_TRUE(scene.lab.Take(*scene.a, 7).ok());
  const CheckedTrace trace = scene.Trace();
  EXPECT_THAT(trace.PathOf("0.1"), HasSubstr("post packet"));
  EXPECT_THAT(trace.PathOf("0.1"), HasSubstr("place completion poll"));
  EXPECT_TRUE(Cover(trace, "1", 4096, 4096 + kThreePackets));
  std::vector<int> places;
  for (const CheckedSlice& place : trace.Of("place")) places.push_back(place.pid);
  EXPECT_THAT(places, Each(2));  // b's memory
}

TEST(WorldTraceTest, AReadIsPlacedAtItsInitiator) {
  TracedScene scene;
  ASSERT_EQ(scene.a->endpoint->Read(scene.a->ReadFrom(*scene.b, 512, kThreePackets, 7)),
            fabric::ErrorCode::kOk);
  EXPECT_TRUE(scene.lab.Take(*scene.a, 7).ok());
  const CheckedTrace trace = scene.Trace();
  EXPECT_TRUE(Cover(trace, "1", 512, 512 + kThreePackets));
  EXPECT_EQ(trace.Of("place")[0].pid, 1);
  const std::vector<CheckedSlice> packets = trace.Of("packet");
  ASSERT_THAT(packets, SizeIs(4));
  EXPECT_EQ(packets[0].pid, 1);  // the question
  EXPECT_EQ(packets[1].pid, 2);
  EXPECT_EQ(packets[1].arguments.at("node_to"), "0");
}

TEST(WorldTraceTest, AMessageIsTwoOperations) {
  TracedScene scene(Small());
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(scene.b->endpoint->Recv(scene.b->RecvAt(i * 100, 100, i)), fabric::ErrorCode::kOk);
    ASSERT_EQ(scene.a->endpoint->Send(scene.a->SendTo(*scene.b, 0, 50 + i, i)),
              fabric::ErrorCode::kOk);
  }
  for (std::uint64_t i = 1; i <= 20; ++i) {
    EXPECT_TRUE(scene.lab.Take(*scene.a, i).ok());
    EXPECT_TRUE(scene.lab.Take(*scene.b, i).ok());
  }
  const CheckedTrace trace = scene.Trace();
  for (int i = 1; i <= 20; ++i) {
    EXPECT_EQ(trace.PathOf("0." + std::to_string(i)), "post packet place completion poll");
    EXPECT_EQ(trace.PathOf("1." + std::to_string(i)), "post completion poll");
  }
  // Which operation it was is told by the device and by the driver: they agree.
  std::map<int, std::set<std::string>> completed, polled;  // by machine
  for (const CheckedSlice& completion : trace.Of("completion")) {
    completed[completion.pid].insert(completion.arguments.at("op"));
  }
  for (const CheckedSlice& poll : trace.Of("poll")) {
    const std::string& operations = poll.arguments.at("ops");  // such as [3,10]
    std::istringstream numbers(operations.substr(1, operations.size() - 2));
    for (std::string number; std::getline(numbers, number, ',');) polled[poll.pid].insert(number);
  }
  EXPECT_EQ(polled, completed);
  EXPECT_THAT(completed[1], SizeIs(20));
  EXPECT_THAT(completed[2], SizeIs(20));
}

TEST(WorldTraceTest, AnImmediateBelongsToItsWrite) {
  TracedScene scene;
  fabric::WriteRequest write = scene.a->WriteTo(*scene.b, 0, 64, 7);
  write.immediate = 9;
  ASSERT_EQ(scene.a->endpoint->Write(write), fabric::ErrorCode::kOk);
  EXPECT_TRUE(scene.lab.Take(*scene.a, 7).ok());
  EXPECT_EQ(scene.lab.TakeNameless(*scene.b).immediate, 9u);
  const CheckedTrace trace = scene.Trace();
  const std::vector<CheckedSlice> completions = trace.Of("completion");
  ASSERT_THAT(completions, SizeIs(2));
  EXPECT_EQ(completions[0].pid, 2);
  EXPECT_EQ(completions[0].arguments.at("imm"), "9");
  EXPECT_EQ(completions[0].arguments.at("op"), "1");
  EXPECT_EQ(completions[0].arguments.at("op_node"), "0");
}

// Also where another write's is seen before it, of another number or of the same.
TEST(WorldTraceTest, ALateImmediateBelongsToItsWrite) {
  for (const std::uint32_t second : {8u, 7u}) {
    FaultRule late = Nth(Fault::kDelayedCompletion, 1);
    late.when.operations = {fabric::OperationKind::kRemoteWrite};
    late.parameters.delay = std::chrono::milliseconds(1);
    TracedScene scene(Calm(), {late});
    for (const std::uint32_t immediate : {7u, second}) {
      fabric::WriteRequest write = scene.a->WriteTo(*scene.b, 0, 64, 1);
      write.immediate = immediate;
      ASSERT_EQ(scene.a->endpoint->Write(write), fabric::ErrorCode::kOk);
      EXPECT_TRUE(scene.lab.Take(*scene.a, 1).ok());
    }
    EXPECT_EQ(scene.lab.TakeNameless(*scene.b).immediate, second);
    EXPECT_EQ(scene.lab.TakeNameless(*scene.b).immediate, 7u);
    std::vector<std::string> of;
    for (const CheckedSlice& completion : scene.Trace().Of("completion")) {
      if (completion.pid == 2) of.push_back(completion.arguments.at("op"));
    }
    EXPECT_THAT(of, ElementsAre("2", "1")) << second;
  }
}

TEST(WorldTraceTest, ABatchRingsOnce) {
  TracedScene scene;
  std::vector<fabric::WriteRequest> writes;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    writes.push_back(scene.a->WriteTo(*scene.b, i * 64, 64, i));
  }
  EXPECT_EQ(scene.a->endpoint->Write(writes).accepted, 3u);
  for (std::uint64_t i = 1; i <= 3; ++i) EXPECT_TRUE(scene.lab.Take(*scene.a, i).ok());
  const CheckedTrace trace = scene.Trace();
  EXPECT_THAT(trace.Of("post"), SizeIs(3));
  ASSERT_THAT(trace.Of("doorbell"), SizeIs(1));
  EXPECT_EQ(trace.Of("doorbell")[0].arguments.at("count"), "3");
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(trace.PathOf("0." + std::to_string(i)), "post packet place completion poll");
    EXPECT_TRUE(Cover(trace, std::to_string(i), static_cast<std::uint64_t>(i) * 64,
                      static_cast<std::uint64_t>(i) * 64 + 64));
  }
}

// A refused post has no number, and later posts are not mistaken for it.
TEST(WorldTraceTest, RefusedPostsAreNoOperations) {
  TracedScene scene;
  fabric::WriteRequest stranger = scene.a->WriteTo(*scene.b, 0, 64, 1);
  stranger.peer = fabric::Peer{12345};
  EXPECT_EQ(scene.a->endpoint->Write(stranger), fabric::ErrorCode::kUnknownPeer);
  ASSERT_EQ(scene.a->endpoint->Write(scene.a->WriteTo(*scene.b, 0, 64, 2)), fabric::ErrorCode::kOk);
  EXPECT_TRUE(scene.lab.Take(*scene.a, 2).ok());
  const CheckedTrace trace = scene.Trace();
  const std::vector<CheckedSlice> posts = trace.Of("post");
  ASSERT_THAT(posts, SizeIs(2));
  EXPECT_EQ(posts[0].arguments.at("result"), "\"UnknownPeer\"");
  EXPECT_EQ(posts[0].arguments.count("op"), 0u);
  EXPECT_EQ(trace.PathOf("0." + posts[1].arguments.at("op")), "post packet place completion poll");
}

TEST(WorldTraceTest, ALostCompletionIsSeen) {
  TracedScene scene(Calm(), {Rule(Fault::kLostCompletion)});
  ASSERT_EQ(scene.a->endpoint->Write(scene.a->WriteTo(*scene.b, 0, 64, 7)), fabric::ErrorCode::kOk);
  scene.lab.Watch();
  const CheckedTrace trace = scene.Trace();
  EXPECT_EQ(trace.PathOf("0.1"), "post packet place");
  ASSERT_THAT(trace.marks, SizeIs(1));
  EXPECT_EQ(trace.marks[0].category, "fault");
  EXPECT_THAT(trace.marks[0].arguments.at("what"), HasSubstr("lost_completion"));
  EXPECT_EQ(trace.marks[0].pid, 1);
}

TEST(WorldTraceTest, ABrokenRuleIsSeen) {
  TracedScene scene;
  auto region = scene.a->Register(0, 4096, fabric::Access::kAll);
  scene.lab.AllowFindings(sim::Check::kLeaks);
  scene.lab.world().CheckEnd();
  scene.devices.reset();
  const CheckedTrace trace = scene.Trace();
  ASSERT_FALSE(trace.marks.empty());
  EXPECT_EQ(trace.marks[0].category, "check");
  EXPECT_EQ(trace.marks[0].arguments.at("check"),
            "\"" + std::string(sim::Name(sim::Check::kLeaks)) + "\"");
}

TEST(WorldTraceTest, ObjectsTellWhatAReplayNeeds) {
  TracedScene scene;
  const std::string address = "\"" + scene.a->endpoint->address().ToHex() + "\"";
  EXPECT_TRUE(scene.a->endpoint->Close().ok());
  const CheckedTrace trace = scene.Trace();
  int opened = 0, closed = 0, peers = 0;
  for (const CheckedSlice& object : trace.Of("object")) {
    const bool endpoint = object.arguments.at("object") == "\"endpoint\"" && object.pid == 1;
    const bool open = object.arguments.at("event") == "\"open\"";
    opened += endpoint && open && object.arguments.at("address") == address;
    closed += endpoint && !open;
    peers +=
        object.arguments.at("object") == "\"peer\"" && object.arguments.at("address") == address;
    if (object.arguments.at("object") == "\"region\"") {
      EXPECT_EQ(object.arguments.at("length"), std::to_string(Side::kBytes));
    }
  }
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(peers, 2);  // both have inserted it
}

// Two NICs of one machine have registered one buffer, and have given it one key by chance.
TEST(WorldTraceTest, ARequestNamesTheRegionOfItsOwnNic) {
  Recorder recorder(Options(/*flight=*/false));
  const sim::Profile profile = Calm();
  sim::World world(1, profile);
  std::optional<sim::WorldTrace> devices(std::in_place, world, recorder);
  {
    const std::unique_ptr<fabric::Fabric> fabric = fabric::trace::OpenTracedFabric(
        sim::OpenSimFabric(world, world.AddNode("a")),
        {.recorder = &recorder, .node = "a", .device_completes = true});
    std::vector<std::byte> buffer(4096);
    std::vector<fabric::OpenedNic> nics;
    std::vector<std::unique_ptr<fabric::MemoryRegion>> regions;
    const auto add_region = [&](fabric::Domain& domain) {
      regions.push_back(
          Must(domain.RegisterMemory({.data = buffer.data(), .length_bytes = buffer.size()})));
    };
    for (std::size_t nic = 0; nic < 2; ++nic) {
      nics.push_back(Must(fabric::OpenNic(*fabric, {.nic = nic})));
      add_region(*nics[nic].domain);
    }
    while (regions[1]->local_key() != regions[0]->local_key()) {
      regions.pop_back();
      add_region(*nics[1].domain);
    }
    for (std::size_t nic = 0; nic < 2; ++nic) {
      const fabric::OpenedNic& its = nics[nic];
      const fabric::Peer self = Must(its.peers->Insert(its.endpoint->address()));
      EXPECT_EQ(its.endpoint->Recv({.buffer = regions[nic]->Local(2048, 64)}),
                fabric::ErrorCode::kOk);
      EXPECT_EQ(its.endpoint->Send({.buffer = regions[nic]->Local(0, 64), .peer = self}),
                fabric::ErrorCode::kOk);
    }
    world.timeline().RunFor(std::chrono::milliseconds(1));
  }
  devices.reset();
  std::ostringstream out;
  fabric::trace::WriteTrace(recorder.Take(), out);
  const CheckedTrace trace = fabric::trace::CheckTrace(out.str());
  EXPECT_THAT(trace.problems, IsEmpty());
  const auto nic_of = [&](const CheckedSlice& slice) {
    const std::string& track = trace.tracks.at({slice.pid, slice.tid});
    return track.substr(0, track.find(' '));
  };
  std::map<std::string, std::string> nics;  // by the region's id
  for (const CheckedSlice& object : trace.Of("object")) {
    if (object.arguments.at("object") == "\"region\"") {
      nics[object.arguments.at("id")] = nic_of(object);
    }
  }
  const auto id_in = [](const std::string& segments) {
    const std::size_t at = segments.find("\"region\":") + 9;
    return segments.substr(at, segments.find('}', at) - at);
  };
  EXPECT_THAT(trace.Of("post"), SizeIs(4));
  for (const CheckedSlice& post : trace.Of("post")) {
    EXPECT_EQ(nics[id_in(post.arguments.at("segments"))], nic_of(post));
  }
  EXPECT_THAT(trace.Of("place"), SizeIs(2));
  for (const CheckedSlice& place : trace.Of("place")) {
    EXPECT_EQ(nics[place.arguments.at("region")], nic_of(place));
  }
}

// The run has the same digest and takes the same time.
TEST(WorldTraceTest, ObservingChangesNothing) {
  const auto run = [](bool observed) {
    FaultRule loss = Rule(Fault::kPacketLoss);
    loss.when.nth = 3;
    TracedScene scene(Small(), {loss}, observed);
    for (std::uint64_t i = 1; i <= 10; ++i) {
      EXPECT_EQ(scene.b->endpoint->Recv(scene.b->RecvAt(i * 100, 100, i)), fabric::ErrorCode::kOk);
      EXPECT_EQ(scene.a->endpoint->Send(scene.a->SendTo(*scene.b, 0, 50, 100 + i)),
                fabric::ErrorCode::kOk);
      EXPECT_EQ(scene.a->endpoint->Write(scene.a->WriteTo(*scene.b, 4096, kThreePackets, i)),
                fabric::ErrorCode::kOk);
      EXPECT_EQ(scene.b->endpoint->Read(scene.b->ReadFrom(*scene.a, 65536, 5000, 200 + i)),
                fabric::ErrorCode::kOk);
    }
    scene.lab.Watch(std::chrono::seconds(1));
    return scene.lab.world().digest().ToHex();
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace drydock::sim_testing
