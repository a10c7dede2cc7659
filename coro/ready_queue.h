// The tasks that can run, in the order in which they became ready. A part of the event loop: an
// awaiter makes its task ready through EventLoop::Schedule, and a task gives its turn away with
// Yield (sleep.h).

#ifndef DRYDOCK_CORO_READY_QUEUE_H_
#define DRYDOCK_CORO_READY_QUEUE_H_

#include <cstddef>
#include <new>
#include <utility>

#include "drydock/coro/frame_pool.h"
#include "drydock/coro/live_tasks.h"

namespace drydock::coro::internal {

// An array in pieces: unlike with a list, the loop that runs the tasks one after the other need not
// load a task to know which is the next.
//
//   piece [ ran | ran | runs now | runs in this turn | ready | ready ] -> piece [ ready |     ]
//                                                    begin_                             end_
//
// A task knows its place, and one that dies or is cancelled leaves it empty. A piece has 255 places
// and is memory of the frame pool: nothing is taken from the heap in the steady state. Before there
// are more pieces than twice those that were needed when this was last done, and four, the tasks
// are moved together. Not thread-safe. REQUIRES: no task is in it when it dies, for a task refers
// to its place.
class ReadyQueue {
 public:
  ReadyQueue() = default;
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;
  ~ReadyQueue() {
    DeleteAfter(*first_);
    ReleasePiece(first_);
    if (spare_ != nullptr) ReleasePiece(spare_);
  }

  // No task has come since the last Run began. (Those that came may have died.)
  bool untouched() const { return end_ == begin_; }

  // No task is in it. Takes time in proportion to the places, those that tasks left included.
  bool empty() const {
    TaskRecord* const* at = begin_;
    for (Piece* piece = first_;; at = piece->places) {
      for (TaskRecord* const* const end = EndOf(*piece); at != end; ++at) {
        if (*at != nullptr) return false;
      }
      if (piece == last_) return true;
      piece = piece->next;
    }
  }

  // Makes `task` ready, in constant time but where tasks are moved together; it leaves the queue as
  // it runs, is cancelled, or dies. REQUIRES: `task` is suspended, and in no queue.
  void PushBack(TaskRecord& task) {
    TaskRecord** const place = end_;
    if (place == limit_) [[unlikely]]
      return PushBackInNewPiece(task);  // the last thing: the fast path need not save registers
    *place = &task;
    end_ = place + 1;
    task.set_ready(place);
  }

  // Takes the tasks that are in it now, one after the other, and calls `run` with each. `run` may
  // push tasks, which stay for the next Run, and may destroy any task, its own included. False: all
  // tasks had left it. REQUIRES: touched, and not called by `run`.
  template <typename RunTask>
  [[gnu::always_inline]] bool Run(const RunTask& run) {
    TaskRecord** at = begin_;
    TaskRecord** const end = end_;
    begin_ = end;
    if (first_ != last_ || *at == nullptr) [[unlikely]]
      return RunPieces(at, end, run);
    for (; at != end; ++at) RunAt(at, run);
    return true;
  }

 private:
  static constexpr std::size_t kPlaces = FramePool::kMostBytes / sizeof(void*) - 1;

  struct Piece {
    Piece* next;
    TaskRecord* places[kPlaces];
  };

  // A piece for the tasks that come when one is full: the spare one, if there is one.
  Piece* NewPiece() {
    if (spare_ != nullptr) return std::exchange(spare_, nullptr);
    return AllocatePiece();
  }
  void DeletePiece(Piece* piece) {
    if (spare_ == nullptr) {
      spare_ = piece;
    } else {
      ReleasePiece(piece);
    }
  }
  static Piece* AllocatePiece() { return new (FramePool::Allocate(sizeof(Piece))) Piece; }
  static void ReleasePiece(Piece* piece) { FramePool::Release(piece, sizeof(Piece)); }
  static TaskRecord** LimitOf(Piece& piece) { return piece.places + kPlaces; }

  TaskRecord** EndOf(Piece& piece) const { return &piece == last_ ? end_ : LimitOf(piece); }

  // False: the task that was there has died.
  template <typename RunTask>
  [[gnu::always_inline]] static bool RunAt(TaskRecord** at, const RunTask& run) {
    TaskRecord* const task = *at;
    if (task == nullptr) [[unlikely]]
      return false;
    task->set_running();
    run(*task);
    return true;
  }

  // Not inline: once in hundreds of tasks, or where the first has died. The pieces that are done
  // go, but for a spare one.
  template <typename RunTask>
  [[gnu::noinline]] bool RunPieces(TaskRecord** at, TaskRecord** end, const RunTask& run) {
    bool ran = false;
    Piece* piece = first_;
    Piece* const last = last_;
    first_ = last;
    pieces_ = 1;
    for (; piece != last; at = piece->places) {
      for (; at != LimitOf(*piece); ++at) ran = RunAt(at, run) || ran;
      DeletePiece(std::exchange(piece, piece->next));
    }
    for (; at != end; ++at) ran = RunAt(at, run) || ran;
    return ran;
  }

  [[gnu::noinline]] void PushBackInNewPiece(TaskRecord& task) noexcept {
    if (pieces_ == most_pieces_) Compact();
    if (end_ == limit_) {
      Piece* const piece = NewPiece();
      ++pieces_;
      last_->next = piece;
      last_ = piece;
      end_ = piece->places;
      limit_ = LimitOf(*piece);
    }
    PushBack(task);
  }

  // Moves the living tasks together, so that a program in which tasks become ready and die, and no
  // turn comes, takes no more memory for it. Not again before there are twice as many.
  void Compact() noexcept {
    Piece* to = first_;
    TaskRecord** place = begin_;
    TaskRecord* const* at = begin_;
    pieces_ = 1;
    for (Piece* from = first_;; at = from->places) {
      for (TaskRecord* const* const end = EndOf(*from); at != end; ++at) {
        TaskRecord* const task = *at;
        if (task == nullptr) continue;
        if (place == LimitOf(*to)) {
          to = to->next;
          place = to->places;
          ++pieces_;
        }
        *place = task;  // here or before here
        task->set_ready(place++);
      }
      if (from == last_) break;
      from = from->next;
    }
    DeleteAfter(*to);
    last_ = to;
    end_ = place;
    limit_ = LimitOf(*to);
    most_pieces_ = 2 * pieces_ + kFewPieces;
  }

  void DeleteAfter(Piece& kept) {
    for (Piece* piece = &kept; piece != last_;) {
      Piece* const next = piece->next;
      if (piece != &kept) DeletePiece(piece);
      piece = next;
    }
    if (last_ != &kept) DeletePiece(last_);
  }

  static constexpr std::size_t kFewPieces = 4;

  Piece* spare_ = AllocatePiece();
  Piece* first_ = AllocatePiece();  // where the next turn begins
  Piece* last_ = first_;
  TaskRecord** begin_ = first_->places;  // of what the next turn runs
  TaskRecord** end_ = begin_;            // where the next one goes
  TaskRecord** limit_ = LimitOf(*last_);
  std::size_t pieces_ = 1;                // from the first to the last
  std::size_t most_pieces_ = kFewPieces;  // before they are compacted
};

}  // namespace drydock::coro::internal

#endif  // DRYDOCK_CORO_READY_QUEUE_H_
