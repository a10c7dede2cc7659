// What a test says when its body never returns.

#ifndef DRYDOCK_TESTING_HARNESS_ENDLESS_BODY_H_
#define DRYDOCK_TESTING_HARNESS_ENDLESS_BODY_H_

#include <functional>
#include <string>

#include "drydock/sim/explore/run_seed.h"
#include "drydock/sim/explore/verdict.h"

namespace drydock::harness {

// A body that polls for ever cannot be made to return: its process ends, with status 1 and, while
// this lives, with `words` on standard output. Not thread-safe.
class EndlessBody {
 public:
  using Words = std::function<std::string(const sim::explore::SeedResult& result)>;
  explicit EndlessBody(Words words);
  EndlessBody(const EndlessBody&) = delete;
  EndlessBody& operator=(const EndlessBody&) = delete;
  ~EndlessBody();

 private:
  sim::explore::EndProcess before_;
};

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_ENDLESS_BODY_H_
