#include "drydock/sim/checks/wait_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace drydock::sim {
namespace {

// In the one line: more would not be read.
constexpr std::size_t kMostNodesInSummary = 4;

}  // namespace

std::size_t WaitGraph::AddNode(std::string name) {
  nodes_.push_back({std::move(name), {}, {}});
  return nodes_.size() - 1;
}

void WaitGraph::AddNote(std::size_t node, std::string line) {
  nodes_[node].notes.push_back(std::move(line));
}

void WaitGraph::AddEdge(std::size_t from, std::size_t to, std::string why) {
  for (const Edge& edge : nodes_[from].edges) {
    if (edge.to == to && edge.why == why) return;
  }
  nodes_[from].edges.push_back({to, std::move(why)});
}

bool WaitGraph::Search(std::size_t node, std::vector<std::size_t>& path,
                       std::vector<bool>& done) const {
  for (const Edge& edge : nodes_[node].edges) {
    const auto seen = std::find(path.begin(), path.end(), edge.to);
    if (seen != path.end()) {
      path.erase(path.begin(), seen);
      return true;
    }
    if (done[edge.to]) continue;
    path.push_back(edge.to);
    if (Search(edge.to, path, done)) return true;
    path.pop_back();
  }
  done[node] = true;
  return false;
}

std::vector<std::size_t> WaitGraph::Cycle() const {
  std::vector<bool> done(nodes_.size(), false);
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (done[node]) continue;
    std::vector<std::size_t> path = {node};
    if (Search(node, path, done)) return path;
  }
  return {};
}

std::string WaitGraph::CycleText() const {
  const std::vector<std::size_t> cycle = Cycle();
  std::string text;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Node& from = nodes_[cycle[i]];
    const std::size_t to = cycle[(i + 1) % cycle.size()];
    const auto edge = std::find_if(from.edges.begin(), from.edges.end(),
                                   [to](const Edge& each) { return each.to == to; });
    absl::StrAppend(&text, i == 0 ? "" : ", ", from.name, " waits for ", nodes_[to].name, " ",
                    edge->why);
  }
  return text;
}

std::string WaitGraph::Summary() const {
  std::string text;
  std::size_t told = 0;
  std::size_t untold = 0;
  for (const Node& node : nodes_) {
    if (node.notes.empty()) continue;
    if (told == kMostNodesInSummary) {
      ++untold;
      continue;
    }
    absl::StrAppend(&text, told++ == 0 ? "" : "; ", node.name, ": ", node.notes.front());
    if (node.notes.size() > 1) absl::StrAppend(&text, " (and ", node.notes.size() - 1, " more)");
  }
  if (told == 0) text = "nobody has posted anything that is still open";
  if (untold > 0) absl::StrAppend(&text, "; and ", untold, " endpoints more");
  const std::string cycle = CycleText();
  if (!cycle.empty()) absl::StrAppend(&text, "; cycle: ", cycle);
  return text;
}

std::string WaitGraph::ToText() const {
  std::string text = "who waits for whom:\n";
  bool any = false;
  for (const Node& node : nodes_) {
    if (node.notes.empty()) continue;
    any = true;
    absl::StrAppend(&text, "  ", node.name, "\n");
    for (const std::string& note : node.notes) absl::StrAppend(&text, "    ", note, "\n");
    for (const Edge& edge : node.edges) {
      absl::StrAppend(&text, "    ==> waits for ", nodes_[edge.to].name, " ", edge.why, "\n");
    }
  }
  if (!any) absl::StrAppend(&text, "  nobody has posted anything that is still open\n");
  const std::string cycle = CycleText();
  if (!cycle.empty()) absl::StrAppend(&text, "  cycle: ", cycle, "\n");
  return text;
}

}  // namespace drydock::sim
