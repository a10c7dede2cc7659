#include "coro/task.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace coro::internal {

std::coroutine_handle<> PromiseBase::TellObserver() noexcept {
  return reinterpret_cast<TaskObserver*>(at_end_ & ~kObserver)->TaskFinished(*this);
}

void UnhandledExceptionInTask() {
  try {
    throw;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "coro: exception left a task: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "coro: exception of unknown type left a task\n");
  }
  std::abort();
}

}  // namespace coro::internal
