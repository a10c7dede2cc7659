#include "drydock/fabric/trace/layout.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace drydock::fabric::trace {
namespace {

constexpr std::size_t kNoSlice = std::numeric_limits<std::size_t>::max();

using FlowKey = std::pair<std::uint16_t, std::uint64_t>;

struct Flow {
  std::size_t steps = 0;  // in all
  std::size_t seen = 0;
  std::int64_t ts_ns = 0;  // of the last one
};

// Calls visit(key) for each operation that the event at `index` is about.
template <typename Visit>
void ForEachOperation(const Recording& recording, std::size_t index, Visit visit) {
  const std::size_t last = index + PartsOf(recording, index);
  for (std::size_t i = index; i <= last; ++i) {
    const Event& event = recording.events[i];
    if (event.op != 0) visit(FlowKey(event.op_node, event.op));
  }
}

class LayingOut {
 public:
  explicit LayingOut(const Recording& recording)
      : recording_(recording), last_of_track_(recording.tracks.size() + 1, kNoSlice) {}

  Layout Run() {
    const std::vector<Event>& events = recording_.events;
    std::vector<std::size_t> heads;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (IsPart(events[i].kind)) continue;
      heads.push_back(i);
      ForEachOperation(recording_, i, [&](const FlowKey& key) { ++flows_[key].steps; });
    }
    std::stable_sort(heads.begin(), heads.end(), [&](std::size_t a, std::size_t b) {
      return events[a].time_ns < events[b].time_ns;
    });
    for (const std::size_t head : heads) Place(head);
    Sort();
    AddSteps();
    return std::move(layout_);
  }

 private:
  void Place(std::size_t head) {
    const Event& event = recording_.events[head];
    std::int64_t ts = event.time_ns;
    std::size_t& before = last_of_track_[event.track];
    if (before != kNoSlice) ts = std::max(ts, layout_.slices[before].ts_ns + 1);
    ForEachOperation(recording_, head,
                     [&](const FlowKey& key) { ts = std::max(ts, flows_[key].ts_ns); });
    ForEachOperation(recording_, head, [&](const FlowKey& key) { flows_[key].ts_ns = ts; });
    if (before != kNoSlice) {
      Slice& slice = layout_.slices[before];
      slice.duration_ns = std::min(slice.duration_ns, ts - slice.ts_ns);
    }
    before = layout_.slices.size();
    layout_.slices.push_back({head, ts, event.duration_ns > 0 ? event.duration_ns : kNominalNs});
  }

  void Sort() {
    std::stable_sort(layout_.slices.begin(), layout_.slices.end(),
                     [](const Slice& a, const Slice& b) { return a.ts_ns < b.ts_ns; });
  }

  void AddSteps() {
    for (std::size_t i = 0; i < layout_.slices.size(); ++i) {
      ForEachOperation(recording_, layout_.slices[i].event, [&](const FlowKey& key) {
        Flow& flow = flows_[key];
        if (flow.steps < 2) return;  // nothing to lead to
        const std::size_t number = ++flow.seen;
        const char phase = number == 1 ? 's' : number == flow.steps ? 'f' : 't';
        layout_.steps.push_back({i, key.first, key.second, phase});
      });
    }
  }

  const Recording& recording_;
  absl::flat_hash_map<FlowKey, Flow> flows_;
  std::vector<std::size_t> last_of_track_;  // index = id of the track
  Layout layout_;
};

}  // namespace

std::size_t PartsOf(const Recording& recording, std::size_t index) {
  std::size_t count = 0;
  while (index + count + 1 < recording.events.size() &&
         IsPart(recording.events[index + count + 1].kind)) {
    ++count;
  }
  return count;
}

Layout LayOut(const Recording& recording) { return LayingOut(recording).Run(); }

}  // namespace drydock::fabric::trace
