// Operations on a ring in memory as an asynchronous library on asio makes them: any completion
// token may wait for them, they can be cancelled, and what lies between the two is asio's.

#ifndef DRYDOCK_TESTING_BENCHMARKS_ASIO_RING_H_
#define DRYDOCK_TESTING_BENCHMARKS_ASIO_RING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "asio/associated_allocator.hpp"
#include "asio/associated_cancellation_slot.hpp"
#include "asio/async_result.hpp"
#include "asio/cancellation_type.hpp"
#include "asio/io_context.hpp"
#include "asio/post.hpp"
#include "asio/recycling_allocator.hpp"
#include "drydock/testing/benchmarks/completion_ring.h"

namespace drydock::bench {

// An operation in flight: the ring names it by its address, so it stays until its completion was
// read, also when no coroutine waits for it.
class AsioOperation {
 public:
  // Ends this object, then calls the handler.
  virtual void Complete(std::uint32_t status) = 0;

 protected:
  ~AsioOperation() = default;
};

// A ring that is polled from within a context, whenever something is in flight: the poll is a
// handler that posts itself again. Not thread-safe.
class AsioRing {
 public:
  static constexpr std::uint32_t kCancelled = 1;

  explicit AsioRing(asio::io_context& context) : context_(context) {}
  AsioRing(const AsioRing&) = delete;
  AsioRing& operator=(const AsioRing&) = delete;

  // Posts an operation that completes, with success, in a later turn. `token` is told its status:
  // 0, or kCancelled.
  template <typename Token>
  auto AsyncPost(Token&& token) {
    return asio::async_initiate<Token, void(std::uint32_t)>(
        [this](auto handler) { this->Start(std::move(handler)); }, token);
  }

  // While held, nothing completes.
  void Hold(bool held) { held_ = held; }
  // Turns that the poll is to go on for although nothing is in flight.
  void TurnIdly(std::uint64_t turns) {
    idle_turns_ = turns;
    TurnLater();
  }

  std::uint64_t completed() const { return completed_; }

 private:
  template <typename Handler>
  class Waiting;

  template <typename Handler>
  void Start(Handler handler) {
    ring_.Post(reinterpret_cast<std::uint64_t>(Waiting<Handler>::Make(*this, std::move(handler))));
    ++in_flight_;
    if (!turning_) TurnLater();
  }

  void TurnLater() {
    turning_ = true;
    asio::post(context_, [this] { Turn(); });
  }

  void Turn() {
    if (!held_) Poll();
    if (idle_turns_ > 0) --idle_turns_;
    turning_ = in_flight_ > 0 || idle_turns_ > 0;
    if (turning_) TurnLater();
  }

  // Handlers are called from here, within a handler of the context that they belong to, as asio
  // allows: what goes through the context again is only what has to.
  void Poll() {
    std::array<CompletionRing::Entry, CompletionRing::kBatch> entries;
    for (std::size_t left = CompletionRing::kEntries / 2; left > 0;) {
      const std::size_t count = ring_.Poll(entries);
      in_flight_ -= count;
      completed_ += count;
      for (std::size_t i = 0; i < count; ++i) {
        reinterpret_cast<AsioOperation*>(entries[i].name)->Complete(entries[i].status);
      }
      if (count < entries.size()) return;
      left -= count;
    }
  }

  asio::io_context& context_;
  CompletionRing ring_;
  std::size_t in_flight_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t idle_turns_ = 0;
  bool turning_ = false;  // a turn has been posted
  bool held_ = false;
};

// The handler lies in memory from its own allocator, or else from asio's caches, and gives it back
// before it is called: as in asio's own operations.
template <typename Handler>
class AsioRing::Waiting final : public AsioOperation {
 public:
  static AsioOperation* Make(AsioRing& ring, Handler handler) {
    Allocator allocator = AllocatorOf(handler);
    Waiting* const self = Traits::allocate(allocator, 1);
    new (self) Waiting(ring, std::move(handler));
    auto slot = asio::get_associated_cancellation_slot(*self->handler_);
    if (slot.is_connected()) slot.assign([self](asio::cancellation_type) { self->Cancel(); });
    return self;
  }

  void Complete(std::uint32_t status) override {
    Allocator allocator = allocator_;
    std::optional<Handler> handler = std::move(handler_);
    this->~Waiting();
    Traits::deallocate(allocator, this, 1);
    if (!handler) return;  // it was cancelled
    asio::get_associated_cancellation_slot(*handler).clear();
    std::move (*handler)(status);
  }

 private:
  using Default = asio::recycling_allocator<void>;
  using Associated = asio::associated_allocator_t<Handler, Default>;
  using Traits = typename std::allocator_traits<Associated>::template rebind_traits<Waiting>;
  using Allocator = typename Traits::allocator_type;

  static Allocator AllocatorOf(const Handler& handler) {
    return Allocator(asio::get_associated_allocator(handler, Default()));
  }

  Waiting(AsioRing& ring, Handler handler)
      : ring_(ring), allocator_(AllocatorOf(handler)), handler_(std::move(handler)) {}
  ~Waiting() = default;

  void Cancel() {
    if (!handler_) return;
    asio::post(ring_.context_,
               [handler = std::move(*handler_)]() mutable { std::move(handler)(kCancelled); });
    handler_.reset();
  }

  AsioRing& ring_;
  [[no_unique_address]] Allocator allocator_;
  std::optional<Handler> handler_;  // absent: cancelled
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_ASIO_RING_H_
