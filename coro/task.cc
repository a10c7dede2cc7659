#include "drydock/coro/task.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace drydock::coro::internal {

void UnhandledExceptionInTask() noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "coro: exception left a task: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "coro: exception of unknown type left a task\n");
  }
  std::abort();
}

}  // namespace drydock::coro::internal
