// --findings of efa-run: the rules that this process breaks (docs/checks.md), told to its user. Each
// is one line on standard error when it is found, and the last line has how often; a file has all.

#ifndef DRYDOCK_SIM_VERBS_FINDINGS_H_
#define DRYDOCK_SIM_VERBS_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "drydock/sim/checks/finding.h"
#include "drydock/sim/hosts/host.h"

namespace drydock::sim::verbs {

struct Context;

// Of one process. REQUIRES of all but the constructor: the mutex of its host is held, where it has
// one. A process may be a machine several times, one after the other.
class Findings {
 public:
  // `file`: for all of them, in JSON, the number of the process before its extension; empty: none.
  explicit Findings(std::string file);
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;

  // From now on the checks of this machine are heard. The host outlives that, or Leave comes first.
  // REQUIRES: none is watched.
  void Watch(Host& host);
  // The machine that is watched; null: none.
  Host* watched() const { return host_; }
  // Why nothing more is heard of a machine.
  enum class End : std::uint8_t {
    kLeaves,  // all its devices are closed
    kExits,   // its process ends, and the program has done what it wanted to
    kFails,   // its process ends, and the program had no time to close anything
  };
  // Looks for objects that the program has left open, completions unread and posts not rung for,
  // unless it fails.
  void Leave(End end);

  // Devices that the program opens and closes.
  void Opened(Context& context) { contexts_.insert(&context); }
  void Closed(Context& context) { contexts_.erase(&context); }

  // False in a forked child.
  bool mine() const;
  // Rules that were broken, each at one place.
  std::size_t count() const { return found_.size(); }
  // The name of the first one. REQUIRES: count() > 0.
  std::string first_check() const { return std::string(Name(found_.front().finding.check)); }
  // Says the last line, if there is something to say, and writes the file. REQUIRES: Leave was
  // called, or nothing more is to be known.
  void Report();

 private:
  struct Found {
    Finding finding;
    std::uint64_t earlier = 0;       // of its times: those of machines that have left
    std::vector<std::string> stack;  // innermost first; may be empty
  };

  void LookForWhatIsLeft();
  void Add(const Finding& finding);
  void CountAgain();
  void Write() const;

  const std::string file_;
  const int pid_;
  Host* host_ = nullptr;  // see watched
  bool ended_ = false;    // no call of the program is to blame any more
  bool reported_ = false;
  std::vector<Found> found_;
  std::vector<std::size_t> indices_;  // in found_, of what the checks of this machine have found
  std::set<Context*> contexts_;
};

// The calls of the program that led here, innermost first: "send_all+0x40", or
// "my_program+0x1234" where a function has no name. Without those of this library.
std::vector<std::string> CallStack();

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_FINDINGS_H_
