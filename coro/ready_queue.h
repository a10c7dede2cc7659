// The tasks that can run, in the order in which they became ready.

#ifndef CORO_READY_QUEUE_H_
#define CORO_READY_QUEUE_H_

#include <cstddef>
#include <new>

#include "coro/frame_pool.h"
#include "coro/live_tasks.h"

namespace coro::internal {

// An array in pieces: whoever runs the tasks one after the other need not wait for one of them to
// know which is the next, as along a list. A task knows its place, and one that dies leaves it
// empty. The pieces are memory of the frame pool: nothing is taken from the heap in the steady
// state. Not thread-safe. Dies without tasks: they refer to their places.
class ReadyQueue {
 public:
  ReadyQueue() = default;
  ReadyQueue(const ReadyQueue&) = delete;
  ReadyQueue& operator=(const ReadyQueue&) = delete;
  ~ReadyQueue() {
    DeleteAfter(*first_);
    DeletePiece(first_);
  }

  // No task has come since the last Run. (Those that came may have died.)
  bool untouched() const { return end_ == begin_; }

  // No task is in it.
  bool empty() const {
    for (Piece* piece = first_;; piece = piece->next) {
      TaskRecord* const* const end = EndOf(*piece);
      for (TaskRecord* const* at = piece->places; at != end; ++at) {
        if (*at != nullptr) return false;
      }
      if (piece == last_) return true;
    }
  }

  // REQUIRES: `task` is suspended, and in no queue.
  void PushBack(TaskRecord& task) {
    TaskRecord** const place = end_;
    if (place == limit_) [[unlikely]]
      return PushBackInNewPiece(task);  // the last thing: the fast path need not save registers
    *place = &task;
    end_ = place + 1;
    task.set_ready(place);
  }

  // Takes one task after the other, calls `run` with it, and is empty afterwards. False: there was
  // none. REQUIRES: nobody pushes meanwhile.
  template <typename RunTask>
  [[gnu::always_inline]] bool Run(const RunTask& run) {
    if (last_ != first_) [[unlikely]]
      return RunPieces(run);
    TaskRecord** const end = end_;
    std::ptrdiff_t died = 0;
    for (TaskRecord** at = begin_; at != end; ++at) {
      if (!RunAt(at, run)) [[unlikely]]
        ++died;
    }
    end_ = begin_;
    if (died != 0) [[unlikely]]
      return died != end - begin_;
    return true;
  }

 private:
  static constexpr std::size_t kPlaces = FramePool::kMostBytes / sizeof(void*) - 1;

  struct Piece {
    Piece* next;
    TaskRecord* places[kPlaces];
  };

  static Piece* NewPiece() { return new (FramePool::Allocate(sizeof(Piece))) Piece; }
  static void DeletePiece(Piece* piece) { FramePool::Release(piece, sizeof(Piece)); }

  TaskRecord** EndOf(Piece& piece) const { return &piece == last_ ? end_ : piece.places + kPlaces; }

  // False: whoever was there has died.
  template <typename RunTask>
  static bool RunAt(TaskRecord** at, const RunTask& run) {
    TaskRecord* const task = *at;
    if (task == nullptr) [[unlikely]]
      return false;
    task->set_running();
    run(*task);
    return true;
  }

  // Not inline: that many are rare. All pieces but the first one go.
  template <typename RunTask>
  [[gnu::noinline]] bool RunPieces(const RunTask& run) {
    bool ran = false;
    for (Piece* piece = first_; piece != nullptr;) {
      TaskRecord** const end = EndOf(*piece);
      for (TaskRecord** at = piece->places; at != end; ++at) ran = RunAt(at, run) || ran;
      Piece* const next = piece == last_ ? nullptr : piece->next;
      if (piece != first_) DeletePiece(piece);
      piece = next;
    }
    last_ = first_;
    end_ = begin_;
    limit_ = begin_ + kPlaces;
    pieces_ = 1;
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
      limit_ = piece->places + kPlaces;
    }
    PushBack(task);
  }

  // Those that live close ranks, so that a program in which tasks become ready and die, and no turn
  // comes, takes no more memory for it. Not again before there are twice as many.
  void Compact() noexcept {
    Piece* to = first_;
    std::size_t filled = 0;
    pieces_ = 1;
    for (Piece* from = first_;; from = from->next) {
      TaskRecord* const* const end = EndOf(*from);
      for (TaskRecord* const* at = from->places; at != end; ++at) {
        TaskRecord* const task = *at;
        if (task == nullptr) continue;
        if (filled == kPlaces) {
          to = to->next;
          filled = 0;
          ++pieces_;
        }
        to->places[filled] = task;  // here or before here
        task->set_ready(&to->places[filled++]);
      }
      if (from == last_) break;
    }
    DeleteAfter(*to);
    last_ = to;
    end_ = to->places + filled;
    limit_ = to->places + kPlaces;
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

  Piece* const first_ = NewPiece();
  Piece* last_ = first_;
  TaskRecord** const begin_ = first_->places;
  TaskRecord** end_ = begin_;              // where the next one goes
  TaskRecord** limit_ = begin_ + kPlaces;  // of the last piece
  std::size_t pieces_ = 1;
  std::size_t most_pieces_ = kFewPieces;  // before they are compacted
};

}  // namespace coro::internal

#endif  // CORO_READY_QUEUE_H_
