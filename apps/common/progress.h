// A progress line: redrawn in place on a terminal, silent elsewhere and for work that takes under a
// second.

#ifndef DRYDOCK_APPS_COMMON_PROGRESS_H_
#define DRYDOCK_APPS_COMMON_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "drydock/coro/clock.h"
#include "drydock/coro/time.h"

namespace drydock::apps {

// The work under way: "writes", 16 of them, 1 MiB each. The rate that is shown is of bytes; where a
// piece has none, of pieces ("seeds/s") if that is asked for.
struct Work {
  std::string what;
  std::uint64_t total = 0;
  std::uint64_t bytes_each = 0;
  bool rate = false;
};

// Not thread-safe. Draws on standard error, so that output that is read by a script stays clean.
class Progress {
 public:
  // Draws only if standard error is a terminal. `clock` outlives this; a simulated run is given
  // real time as well: it is a person who waits.
  Progress(Work work, const coro::Clock& clock);

  // Draws on `out`, a terminal or not. `out` outlives this.
  Progress(Work work, const coro::Clock& clock, std::FILE* out, bool terminal);

  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Hide(); }

  // Draws at most ten times a second, from one second after construction on.
  void Update(std::uint64_t done);

  // Takes the line away, for other output; the next Update that is due draws it again.
  void Hide();

 private:
  const Work work_;
  const coro::Clock& clock_;
  std::FILE* const out_;
  const bool terminal_;
  const coro::Time start_;
  coro::Time last_drawn_;
  bool visible_ = false;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_PROGRESS_H_
