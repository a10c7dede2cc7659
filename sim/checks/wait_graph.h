// A graph of which endpoint waits for which when nothing moves any more: it shows a person a
// deadlock.

#ifndef DRYDOCK_SIM_CHECKS_WAIT_GRAPH_H_
#define DRYDOCK_SIM_CHECKS_WAIT_GRAPH_H_

#include <cstddef>
#include <string>
#include <vector>

namespace drydock::sim {

// Nodes are endpoints, by name. An edge names the action that one waits for another to do.
class WaitGraph {
 public:
  // `known` nodes keep their order.
  std::size_t AddNode(std::string name);
  // Adds a remark on a node, for a person. One line.
  void AddNote(std::size_t node, std::string line);
  // `from` waits for `to`. `why`: "to post a receive".
  void AddEdge(std::size_t from, std::size_t to, std::string why);

  // Nodes that wait for each other, in order, the first one not repeated; empty when there are
  // none. The same cycle for the same graph.
  std::vector<std::size_t> Cycle() const;

  // "a/nic queue pair 0: send of 64 bytes with context 7 finds no receive; ...; cycle: ...". One
  // line, the first few nodes that have notes; "nobody has posted anything" when none has.
  std::string Summary() const;

  // All of it, indented, with a line for the cycle.
  std::string ToText() const;

 private:
  struct Edge {
    std::size_t to;
    std::string why;
  };
  struct Node {
    std::string name;
    std::vector<std::string> notes;
    std::vector<Edge> edges;
  };

  // Extends `path`, whose last node is `node`; true when it closes a cycle, which it then is.
  bool Search(std::size_t node, std::vector<std::size_t>& path, std::vector<bool>& done) const;
  std::string CycleText() const;

  std::vector<Node> nodes_;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_WAIT_GRAPH_H_
