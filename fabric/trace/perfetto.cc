#include "drydock/fabric/trace/perfetto.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/fabric/trace/event_arguments.h"
#include "drydock/fabric/trace/json_text.h"
#include "drydock/fabric/trace/layout.h"

namespace drydock::fabric::trace {
namespace {

// "12.250": microseconds of whole nanoseconds, exactly.
std::string Microseconds(std::int64_t ns) {
  return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000);
}

class Writer {
 public:
  Writer(const Recording& recording, std::ostream& out) : recording_(recording), out_(out) {}

  void Run() {
    WriteHead();
    WriteTracks();
    const Layout layout = LayOut(recording_);
    std::size_t step = 0;
    for (std::size_t i = 0; i < layout.slices.size(); ++i) {
      WriteSlice(layout.slices[i]);
      for (; step < layout.steps.size() && layout.steps[step].slice == i; ++step) {
        WriteStep(layout.slices[i], layout.steps[step]);
      }
    }
    out_ << "\n]}\n";
  }

 private:
  void Line(const JsonMembers& members) {
    out_ << (first_ ? "\n{" : ",\n{") << members.str() << "}";
    first_ = false;
  }

  void WriteHead() {
    const TraceInfo& info = recording_.info;
    JsonMembers other;
    other.Text("format", "drydock-trace").Unsigned("version", 1).Text("program", info.program);
    other.Text("backend", info.backend).Text("clock", info.virtual_time ? "virtual" : "steady");
    other.Bool("simulated", info.simulated);
    if (info.simulated) other.Unsigned("seed", info.seed);
    other.Unsigned("events", recording_.count()).Unsigned("dropped", recording_.dropped);
    other.Members(info.more);
    out_ << "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{" << other.str()
         << "},\n\"traceEvents\":[";
  }

  void WriteName(std::string_view what, std::uint64_t pid, std::uint64_t tid,
                 const JsonMembers& arguments) {
    JsonMembers line;
    line.Text("name", what).Text("ph", "M").Unsigned("pid", pid);
    if (tid != 0) line.Unsigned("tid", tid);
    Line(line.Raw("args", absl::StrCat("{", arguments.str(), "}")));
  }

  void WriteTracks() {
    for (std::size_t node = 0; node < recording_.nodes.size(); ++node) {
      const std::string name = absl::StrCat("node ", node, ": ", recording_.nodes[node]);
      WriteName("process_name", node + 1, 0, JsonMembers().Text("name", name));
      WriteName("process_sort_index", node + 1, 0, JsonMembers().Unsigned("sort_index", node));
    }
    // A track's id is its number in the recording; its place is by machine, NIC and kind.
    std::vector<std::size_t> order(recording_.tracks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto place = [&](std::size_t i) {
      const Track& track = recording_.tracks[i];
      return std::make_tuple(track.node, track.kind >= TrackKind::kNic, track.nic, track.kind,
                             track.number);
    };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Track& track = recording_.tracks[order[i]];
      const std::size_t tid = order[i] + 1;
      WriteName("thread_name", track.node + 1u, tid, JsonMembers().Text("name", Name(track)));
      WriteName("thread_sort_index", track.node + 1u, tid, JsonMembers().Unsigned("sort_index", i));
    }
  }

  void WriteSlice(const Slice& slice) {
    const Event& event = recording_.events[slice.event];
    const std::string name = SliceName(recording_, event);
    JsonMembers arguments = Arguments(recording_, slice.event);
    if (slice.ts_ns != event.time_ns) arguments.Number("at", event.time_ns);
    const auto begin = [&](std::string_view phase) {
      JsonMembers line;
      line.Raw("name", name).Text("cat", Name(event.kind)).Text("ph", phase);
      line.Raw("ts", Microseconds(slice.ts_ns));
      return line;
    };
    const auto end = [&](JsonMembers line) {
      line.Unsigned("pid", recording_.tracks[event.track - 1].node + 1u);
      line.Unsigned("tid", event.track);
      Line(line.Raw("args", absl::StrCat("{", arguments.str(), "}")));
    };
    end(begin("X").Raw("dur", Microseconds(slice.duration_ns)));
    const bool mark = event.kind == Kind::kFault || event.kind == Kind::kCheck;
    if (mark) end(begin("i").Text("s", "p"));
  }

  void WriteStep(const Slice& slice, const FlowStep& step) {
    const Event& event = recording_.events[slice.event];
    JsonMembers line;
    line.Text("name", "operation").Text("cat", "flow");
    line.Text("ph", std::string_view(&step.phase, 1));
    if (step.phase == 'f') line.Text("bp", "e");
    line.Text("id", absl::StrCat(step.node, ".", step.op));
    line.Raw("ts", Microseconds(slice.ts_ns));
    line.Unsigned("pid", recording_.tracks[event.track - 1].node + 1u);
    Line(line.Unsigned("tid", event.track));
  }

  const Recording& recording_;
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace

void WriteTrace(const Recording& recording, std::ostream& out) { Writer(recording, out).Run(); }

}  // namespace drydock::fabric::trace
