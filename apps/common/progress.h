// A progress line: redrawn in place on a terminal, silent elsewhere and for work that takes under a
// second.

#ifndef APPS_COMMON_PROGRESS_H_
#define APPS_COMMON_PROGRESS_H_

#include <cstdint>
#include <string>

#include "coro/steady_clock.h"
#include "coro/time.h"

namespace apps {

// Writes to standard error, so that output that is read by a script stays clean. Time is real time,
// also for a simulated run: it is a person who waits.
class Progress {
 public:
  // `what` is done `total` times: "pages received".
  Progress(std::string what, std::uint64_t total, std::uint64_t bytes_each);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // clears the line

  void Update(std::uint64_t done);

 private:
  const std::string what_;
  const std::uint64_t total_;
  const std::uint64_t bytes_each_;
  const bool terminal_;
  coro::SteadyClock clock_;
  const coro::Time start_;
  coro::Time last_drawn_;
  bool drawn_ = false;
};

}  // namespace apps

#endif  // APPS_COMMON_PROGRESS_H_
