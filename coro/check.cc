#include "drydock/coro/check.h"

#include <cstdio>
#include <cstdlib>

namespace drydock::coro::internal {

void CheckFailed(const char* file, int line, const char* condition, const char* message) noexcept {
  std::fprintf(stderr, "%s:%d: %s (failed: %s)\n", file, line, message, condition);
  std::abort();
}

}  // namespace drydock::coro::internal
