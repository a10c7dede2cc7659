// A NIC that does to a program's operations what a real one may: completes them in any order, late,
// with errors, twice, flushes all of them at once, or none before the endpoint closes. Everything
// is drawn from one seed.
//
// For tests of ownership: a buffer that is freed while the NIC still has the operation is noticed.

#ifndef DRYDOCK_FABRIC_ASYNC_TESTING_FAKE_NIC_H_
#define DRYDOCK_FABRIC_ASYNC_TESTING_FAKE_NIC_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "drydock/coro/clock.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/completion_queue.h"
#include "drydock/fabric/endpoint.h"

namespace drydock::fabric::async {

// Time is virtual: it jumps to the next deadline or completion when nothing else can happen. Not
// thread-safe. Outlives its queue, endpoint and buffers.
class FakeNic final : public coro::Clock {
 public:
  explicit FakeNic(std::uint64_t seed) : key_(coro::Mix(seed)) {}

  std::unique_ptr<CompletionQueue> OpenQueue();
  std::unique_ptr<Endpoint> OpenEndpoint();
  BufferRef MakeBuffer();

  // --- coro::Clock ---
  coro::Time Now() const override { return now_; }
  bool WaitUntil(coro::Time deadline) override;
  bool IsVirtual() const override { return true; }

  // A number below `bound`, the next of the seed's.
  std::uint64_t Draw(std::uint64_t bound) {
    return coro::Below(coro::Combine(key_, ++draws_), bound);
  }

  // Mixes into the trace what has happened.
  void Note(std::uint64_t what) {
    trace_ = coro::Combine(trace_, what);
    trace_ = coro::Combine(trace_, static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  }
  std::uint64_t trace() const { return trace_; }

  // Buffers that were freed while the NIC had an operation on them, and completions of operations
  // that it does not know: both are bugs of the program's side.
  std::size_t violations() const { return violations_; }
  std::size_t in_flight() const { return operations_.size(); }

 private:
  class Queue;
  class Port;
  class Region;

  struct Operation {
    coro::Time done;
    Context context;
    const std::byte* buffer;
    ErrorCode error;
    bool again;  // is reported a second time
  };

  PostResult Post(std::span<const WriteRequest> requests);
  std::size_t Read(std::span<Completion> entries);
  void Flush();
  void ForgetAll() { operations_.clear(); }
  void BufferGone(const std::byte* buffer);
  ErrorCode DrawError();

  const std::uint64_t key_;
  std::uint64_t draws_ = 0;
  std::uint64_t trace_ = 0;
  coro::Time now_{std::chrono::seconds(1)};
  std::vector<Operation> operations_;  // that the NIC has
  std::vector<Context> repeats_;       // completions to be reported once more
  std::size_t violations_ = 0;
};

}  // namespace drydock::fabric::async

#endif  // DRYDOCK_FABRIC_ASYNC_TESTING_FAKE_NIC_H_
