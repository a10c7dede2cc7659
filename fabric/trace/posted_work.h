// Requests that a program has posted and its device has not taken yet: by them an operation of the
// program and its work request in the simulated device get one number.
//
//   TracedEndpoint ──Posting──► PostedWork of that address ──Take──► the device's listener
//
// A device takes the requests of a queue in the order of posting. A decorator in between, such as a
// fault plan, may withhold some: then the next request that looks alike is the one.

#ifndef DRYDOCK_FABRIC_TRACE_POSTED_WORK_H_
#define DRYDOCK_FABRIC_TRACE_POSTED_WORK_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "drydock/fabric/operation.h"

namespace drydock::fabric::trace {

// Of one endpoint. One thread at a time: that of a simulated world.
class PostedWork {
 public:
  struct Request {
    std::uint64_t op = 0;
    OperationKind kind = OperationKind::kSend;
    std::uint64_t bytes = 0;
    std::uint64_t remote_address = 0;  // writes and reads

    bool LooksLike(const Request& other) const {
      return kind == other.kind && bytes == other.bytes && remote_address == other.remote_address;
    }
  };

  // Where something is drawn, and its id.
  struct Queue {
    std::uint32_t track = 0;
    std::uint32_t object = 0;
  };
  PostedWork(Queue own, Queue sends, Queue receives)
      : endpoint(own), send_queue(sends), receive_queue(receives) {}

  const Queue endpoint;  // its send queue's track, its own id
  const Queue send_queue;
  const Queue receive_queue;

  // Whether the device has taken all that was posted here.
  bool empty() const { return requests_.empty(); }

  // About to be posted: the device may take it before the post returns.
  void Posting(const Request& request) { QueueOf(request.kind).push_back(request); }
  // The last one was refused.
  void Refused(OperationKind kind) {
    std::deque<Request>& queue = QueueOf(kind);
    if (!queue.empty()) queue.pop_back();
  }

  // The number of the request that the device takes; 0: it is none of the program's.
  std::uint64_t Take(const Request& taken) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (!requests_[i].LooksLike(taken)) continue;
      const std::uint64_t op = requests_[i].op;
      requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return op;
    }
    return 0;
  }
  // The same for the oldest posted receive: a device takes receives in order.
  std::uint64_t TakeReceive() {
    if (receives_.empty()) return 0;
    const std::uint64_t op = receives_.front().op;
    receives_.pop_front();
    return op;
  }

 private:
  std::deque<Request>& QueueOf(OperationKind kind) {
    return kind == OperationKind::kReceive ? receives_ : requests_;
  }

  std::deque<Request> requests_;
  std::deque<Request> receives_;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_POSTED_WORK_H_
