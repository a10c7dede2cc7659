#include "drydock/fabric/trace/testing/trace_checker.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace drydock::fabric::trace {
namespace {

using nlohmann::json;
using Key = std::pair<int, int>;

const std::set<std::string> kCategories = {"post", "doorbell", "packet", "place", "completion",
                                           "poll", "resume",   "fault",  "check", "object"};

// The arguments that a slice of each category must have.
const std::map<std::string, std::vector<std::string>> kRequired = {
    {"post", {"kind", "bytes", "endpoint", "segments", "signalled", "result"}},
    {"doorbell", {"endpoint", "count"}},
    {"packet", {"op", "node_from", "node_to", "bytes", "packet", "fate"}},
    {"place", {"op", "op_node", "bytes"}},
    {"completion", {"queue", "kind", "status"}},
    {"poll", {"queue", "count", "ops", "statuses"}},
    {"resume", {"op"}},
    {"fault", {"rule", "what"}},
    {"check", {"check", "text"}},
    {"object", {"event", "object", "id"}}};

std::int64_t Nanoseconds(const json& number) { return std::llround(number.get<double>() * 1000); }

class Checker {
 public:
  CheckedTrace Run(const std::string& text) {
    try {
      const json file = json::parse(text);
      ReadHead(file);
      for (const json& event : file.at("traceEvents")) ReadEvent(event);
      CheckFlows();
    } catch (const json::exception& error) {
      Problem(error.what());
    }
    return std::move(trace_);
  }

 private:
  void Problem(const std::string& what) { trace_.problems.push_back(what); }

  void ReadHead(const json& file) {
    if (file.at("displayTimeUnit") != "ns") Problem("displayTimeUnit is not ns");
    for (const auto& [name, value] : file.at("otherData").items()) {
      trace_.other_data[name] = value.dump();
    }
    for (const char* name :
         {"format", "version", "program", "backend", "clock", "simulated", "events", "dropped"}) {
      if (trace_.other_data.count(name) == 0) Problem(absl::StrCat("otherData lacks ", name));
    }
  }

  void ReadEvent(const json& event) {
    const std::string phase = event.at("ph");
    if (phase == "M") return ReadName(event);
    const Key track(event.at("pid").get<int>(), event.at("tid").get<int>());
    const std::int64_t ts = Nanoseconds(event.at("ts"));
    if (ts < last_ts_) Problem(absl::StrCat("ts goes back at ", ts));
    last_ts_ = ts;
    if (trace_.tracks.count(track) == 0) Problem(absl::StrCat("no name for track ", track.second));
    if (phase == "X") return ReadSlice(event, track, ts);
    if (phase == "i") {
      if (event.at("s") != "p") Problem("a mark of another scope");
      trace_.marks.push_back(SliceOf(event, track, ts));
      return;
    }
    ReadFlow(event, phase, track, ts);
  }

  void ReadName(const json& event) {
    if (event.at("name") == "thread_name") {
      trace_.tracks[{event.at("pid").get<int>(), event.at("tid").get<int>()}] =
          event.at("args").at("name");
    }
  }

  CheckedSlice SliceOf(const json& event, const Key& track, std::int64_t ts) {
    CheckedSlice slice;
    slice.name = event.at("name");
    slice.category = event.at("cat");
    slice.ts_ns = ts;
    slice.pid = track.first;
    slice.tid = track.second;
    for (const auto& [name, value] : event.at("args").items()) {
      slice.arguments[name] = value.dump();
    }
    return slice;
  }

  void ReadSlice(const json& event, const Key& track, std::int64_t ts) {
    CheckedSlice slice = SliceOf(event, track, ts);
    slice.duration_ns = Nanoseconds(event.at("dur"));
    if (slice.duration_ns < 1) Problem(absl::StrCat(slice.name, " has no duration"));
    if (kCategories.count(slice.category) == 0) Problem("unknown category " + slice.category);
    for (const std::string& name : kRequired.at(slice.category)) {
      if (slice.arguments.count(name) == 0) Problem(slice.name + " lacks " + name);
    }
    const auto before = last_.find(track);
    if (before != last_.end()) {
      const CheckedSlice& other = trace_.slices[before->second];
      if (other.ts_ns + other.duration_ns > ts) {
        Problem(absl::StrCat(other.name, " and ", slice.name, " overlap at ", ts));
      }
    }
    last_[track] = trace_.slices.size();
    trace_.slices.push_back(std::move(slice));
  }

  void ReadFlow(const json& event, const std::string& phase, const Key& track, std::int64_t ts) {
    const std::string id = event.at("id");
    if (phase != "s" && phase != "t" && phase != "f") return Problem("unknown phase " + phase);
    const auto around = last_.find(track);
    if (around == last_.end() || trace_.slices[around->second].ts_ns != ts) {
      return Problem(absl::StrCat("flow ", id, " lies in no slice at ", ts));
    }
    if (phase == "f" && event.at("bp") != "e") Problem("flow " + id + " ends at the next slice");
    phases_[id] += phase;
    trace_.flows[id].push_back(around->second);
  }

  void CheckFlows() {
    for (const auto& [id, phases] : phases_) {
      const std::size_t count = phases.size();
      if (count < 2 || phases != "s" + std::string(count - 2, 't') + "f") {
        Problem(absl::StrCat("flow ", id, " is ", phases));
      }
    }
  }

  CheckedTrace trace_;
  std::int64_t last_ts_ = 0;
  std::map<Key, std::size_t> last_;  // slice of each track
  std::map<std::string, std::string> phases_;
};

}  // namespace

std::vector<CheckedSlice> CheckedTrace::Of(const std::string& category) const {
  std::vector<CheckedSlice> some;
  for (const CheckedSlice& slice : slices) {
    if (slice.category == category) some.push_back(slice);
  }
  return some;
}

std::string CheckedTrace::PathOf(const std::string& flow) const {
  std::string path, last;
  const auto found = flows.find(flow);
  if (found == flows.end()) return path;
  for (const std::size_t index : found->second) {
    if (slices[index].category == last) continue;
    last = slices[index].category;
    path += path.empty() ? last : " " + last;
  }
  return path;
}

CheckedTrace CheckTrace(const std::string& json) { return Checker().Run(json); }

}  // namespace drydock::fabric::trace
