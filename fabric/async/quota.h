// A number of equal things that coroutines take and give back: the buffers of a pool, the places of
// a window.
//
// First come, first served, and no turn is lost: a task that is woken and destroyed before it runs,
// or gives up at its deadline, leaves its turn to the next in line.

#ifndef DRYDOCK_FABRIC_ASYNC_QUOTA_H_
#define DRYDOCK_FABRIC_ASYNC_QUOTA_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "drydock/coro/intrusive_list.h"
#include "drydock/coro/now_task.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"

namespace drydock::fabric::async {

// Shared by its maker and by everything taken from it: a thing may come back when the maker is
// gone. Not thread-safe, not movable.
class Quota {
 public:
  explicit Quota(std::size_t most);
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;
  ~Quota();

  // One that was taken; given back when this goes, on the loop of those that wait for it. Movable.
  class Taken {
   public:
    Taken(Taken&&) = default;
    Taken& operator=(Taken&&) = delete;
    ~Taken() {
      if (quota_ != nullptr) quota_->GiveBack(1);
    }

    // False once it was moved from.
    explicit operator bool() const { return quota_ != nullptr; }
    // The caller keeps it, and gives it back by GiveBack.
    void Keep() && { quota_.reset(); }

   private:
    friend class Quota;
    explicit Taken(std::shared_ptr<Quota> quota) : quota_(std::move(quota)) {}

    std::shared_ptr<Quota> quota_;
  };

  std::size_t most() const { return most_; }
  std::size_t free() const { return free_; }

  // Takes one if that needs no waiting: one is free, and no task waits for it.
  static std::optional<Taken> TryTake(std::shared_ptr<Quota> quota);

  // Waits for its turn and takes one. Absent: the deadline came first, or the quota was closed.
  static coro::NowTask<std::optional<Taken>> Take(std::shared_ptr<Quota> quota,
                                                  coro::Time deadline);

  // REQUIRES: so many are taken, and kept.
  void GiveBack(std::size_t count);

  // Waits until everything that was taken is back; false when the deadline came first.
  static coro::Task<bool> AllBack(std::shared_ptr<Quota> quota, coro::Time deadline);

  // Nothing can be taken any more: those that wait are told so.
  void Close();

 private:
  // A waiting task's place in the line, in its frame.
  class Place;

  // The first in line looks whether it can go on.
  void WakeFirst();

  const std::size_t most_;
  std::size_t free_;
  bool closed_ = false;
  coro::IntrusiveList<Place> line_;
  coro::WaitList all_back_;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_QUOTA_H_
