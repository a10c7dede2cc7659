// What the program prints: one line per thing that happened, on a terminal a progress line, or
// instead of all that one JSON object for a script.

#ifndef APPS_WRITE_CONSOLE_H_
#define APPS_WRITE_CONSOLE_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "apps/common/progress.h"
#include "apps/common/report/output_flags.h"
#include "apps/write/client.h"
#include "apps/write/log.h"
#include "apps/write/verification.h"
#include "coro/clock.h"
#include "fabric/fabric.h"

namespace apps::write {

struct ConsoleOptions {
  OutputForm form = OutputForm::kText;  // JSON, CSV: nothing but the result
  bool verbose = false;                 // details as well
  std::string program = "write";
};

// Where a transfer ran, for its report.
struct Scene {
  std::string fabric;
  std::string nic;
  std::optional<std::uint64_t> seed;  // of a simulated run
};

// Not thread-safe. Refers to its streams and clock, which outlive it.
class Console {
 public:
  // `clock` is real time, for the progress line of a person who waits.
  Console(std::ostream& out, std::ostream& err, const coro::Clock& clock,
          const ConsoleOptions& options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // "label     text", flushed: a script waits for the address.
  void Say(absl::string_view label, absl::string_view text);

  // For servers and clients, which must not outlive this.
  Log log();

  // Which world, NIC and why; `reason` may be empty.
  void SayFabric(const fabric::Fabric& fabric, const fabric::NicInfo& nic,
                 absl::string_view reason);

  // The client's configuration: what it asks for and where it goes.
  void SayRequest(const RandomFillMessage& request, std::uint64_t region_bytes);

  // Before and during a transfer. The first call shows the progress line on a terminal; each
  // quarter of the announcements is a line of its own.
  void BeginProgress(const RandomFillMessage& request);
  void ShowProgress(const Arrival& arrival);
  void EndProgress() { progress_.reset(); }

  // The result; its last line, or the JSON object or the row, is the last thing that is printed.
  // Returns the exit status: 0 only for right data.
  int Report(const TransferReport& transfer, const Scene& scene);

 private:
  void Print(std::ostream& stream, absl::string_view line);

  std::ostream& out_;
  std::ostream& err_;
  const coro::Clock& clock_;
  const ConsoleOptions options_;
  std::string what_;  // announces itself
  std::optional<Progress> progress_;
  std::uint64_t quarters_ = 0;  // of the announcements that were said
};

}  // namespace apps::write

#endif  // APPS_WRITE_CONSOLE_H_
