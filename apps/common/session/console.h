// Prints a program's progress: one line for each event, on a terminal a progress line, and nothing
// of that where standard output is for a script.

#ifndef DRYDOCK_APPS_COMMON_SESSION_CONSOLE_H_
#define DRYDOCK_APPS_COMMON_SESSION_CONSOLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/fabric.h"

namespace drydock::apps {

enum class Severity : std::uint8_t {
  kDetail,   // every region and every write, for --verbose
  kEvent,    // something happened
  kProblem,  // a person should look at it; `label` is empty
};

// Messages of a program's parts while they work. `label` is one word: CONNECT, wrote.
using Log = std::function<void(Severity severity, absl::string_view label, absl::string_view text)>;

// A log that is not read.
inline void NoLog(Severity, absl::string_view, absl::string_view) {}

struct ConsoleOptions {
  OutputForm form = OutputForm::kText;  // JSON, CSV: nothing but the result
  bool verbose = false;                 // details as well
  std::string program = "write";
};

// Not thread-safe. Refers to its streams and clock, which outlive it.
class Console {
 public:
  // `clock` is real time, for the progress line of a person who waits.
  Console(std::ostream& out, std::ostream& err, const coro::Clock& clock,
          const ConsoleOptions& options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  OutputForm form() const { return options_.form; }

  // "label     text", flushed: a script waits for the address.
  void Say(absl::string_view label, absl::string_view text);
  // For parts of the program, which must not outlive this.
  Log log();
  // Which world, NIC and why; `reason` may be empty.
  void SayFabric(absl::string_view fabric, const fabric::NicInfo& nic, absl::string_view reason);

  // Before and during work. The first call shows the progress line on a terminal; each quarter of
  // the work is a line of its own.
  void BeginProgress(const Work& work);
  void ShowProgress(std::uint64_t done, coro::Duration since_begin);
  void EndProgress() { progress_.reset(); }

  // The result, in any form: whole lines, the last thing that is printed.
  void PrintResult(absl::string_view text);

 private:
  void Print(std::ostream& stream, absl::string_view line);

  std::ostream& out_;
  std::ostream& err_;
  const coro::Clock& clock_;
  const ConsoleOptions options_;
  Work work_;
  std::optional<Progress> progress_;
  std::uint64_t quarters_ = 0;  // of the work that were said
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_SESSION_CONSOLE_H_
