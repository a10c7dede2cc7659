#include "drydock/coro/frame_pool.h"

namespace drydock::coro {

FramePool::AtThreadExit::~AtThreadExit() {
  for (Free*& list : lists_.free) {
    while (Free* const first = list) {
      list = first->next;
      ::operator delete(first);
    }
  }
}

void* FramePool::AllocateNew(std::size_t bytes) {
  const std::size_t index = ClassOf(bytes);
  if (index >= kClasses) {
    ++lists_.counters.large;
    return ::operator new(bytes);
  }
  static thread_local AtThreadExit at_exit;
  static_cast<void>(at_exit);
  ++lists_.counters.misses;
  return ::operator new(kKeeps ? (index + 1) * kClassBytes : bytes);
}

}  // namespace drydock::coro
