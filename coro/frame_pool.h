// Memory of coroutine frames. A frame that is freed is kept for the next one of its size, so that a
// loop in its steady state takes nothing from the heap.
//
//   64-byte classes    [64] -> frame -> frame      the one freed last is used first
//                      [128] -> frame
//                      ...
//                      [2048]
//   larger frames      the heap, each time
//
// One pool per thread, as there is one loop per thread: no locks, no atomics. Nothing that is kept
// goes back to the heap before the thread ends. A pool keeps, of each size, at most as many frames
// as lived at one time, and those that came from other threads. A thread that only frees frames of
// others, and never took one from the heap, does not give them back at its end. Under
// AddressSanitizer every frame comes from the heap, so that a use after free is seen.
//
// Task and NowTask take their frames here by themselves (promise.h), and the ready queue its
// pieces.

#ifndef DRYDOCK_CORO_FRAME_POOL_H_
#define DRYDOCK_CORO_FRAME_POOL_H_

#include <cstddef>
#include <cstdint>
#include <new>

namespace drydock::coro {

// Counts of the calling thread, since it began. In the steady state of a loop `misses` stands
// still, which tests check.
struct FramePoolCounters {
  std::uint64_t misses = 0;  // frames of a pooled size that had to come from the heap
  std::uint64_t large = 0;   // frames of more than FramePool::kMostBytes, which are never kept
};

class FramePool {
 public:
  // A frame of up to kMostBytes takes a multiple of kClassBytes; a larger one is never kept.
  static constexpr std::size_t kClassBytes = 64;
  static constexpr std::size_t kMostBytes = 2048;
  // False under AddressSanitizer: nothing is kept.
#if defined(__SANITIZE_ADDRESS__)
  static constexpr bool kKeeps = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  static constexpr bool kKeeps = false;
#else
  static constexpr bool kKeeps = true;
#endif
#else
  static constexpr bool kKeeps = true;
#endif

  // Memory for a frame of `bytes`, more than 0, aligned as operator new aligns. Throws
  // std::bad_alloc as operator new does.
  static void* Allocate(std::size_t bytes) {
    const std::size_t index = ClassOf(bytes);
    if (kKeeps && index < kClasses) [[likely]] {
      if (Free* const first = lists_.free[index]; first != nullptr) [[likely]] {
        lists_.free[index] = first->next;
        return first;
      }
    }
    return AllocateNew(bytes);
  }

  // `frame` came from Allocate(bytes), on any thread. Where it is kept, the pool of the calling
  // thread keeps it.
  static void Release(void* frame, std::size_t bytes) noexcept {
    const std::size_t index = ClassOf(bytes);
    if (kKeeps && index < kClasses) [[likely]] {
      Free* const first = static_cast<Free*>(frame);
      first->next = lists_.free[index];
      lists_.free[index] = first;
      return;
    }
    ::operator delete(frame);
  }

  static const FramePoolCounters& counters() { return lists_.counters; }

 private:
  static constexpr std::size_t kClasses = kMostBytes / kClassBytes;

  struct Free {
    Free* next;
  };
  struct Lists {
    Free* free[kClasses];
    FramePoolCounters counters;
  };

  // Frees what the thread keeps.
  struct AtThreadExit {
    ~AtThreadExit();
  };

  static std::size_t ClassOf(std::size_t bytes) { return (bytes - 1) / kClassBytes; }
  static void* AllocateNew(std::size_t bytes);

  // Plain data, so that reaching it costs no call.
  static thread_local constinit inline Lists lists_{};
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_FRAME_POOL_H_
