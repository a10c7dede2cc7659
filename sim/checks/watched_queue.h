// The checks' record of one endpoint's requests, from the post to the moment at which the program
// read their completion: a slot for each that the queues hold, taken once and for all.

#ifndef DRYDOCK_SIM_CHECKS_WATCHED_QUEUE_H_
#define DRYDOCK_SIM_CHECKS_WATCHED_QUEUE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drydock/fabric/operation.h"

namespace drydock::sim {

struct WatchedQueue;

// Bytes of memory, and the key by which a request names them.
struct WatchedPiece {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t key = 0;
};

struct WatchedRequest {
  enum class State : std::uint8_t {
    kFree,
    kPosted,
    kTaken,     // of a receive: a message, or an immediate, has it
    kReported,  // its entry is in the completion queue
    kExcused,   // its entry is lost, or late, for a known reason
  };

  WatchedQueue* queue = nullptr;
  std::uint16_t id = 0;
  State state = State::kFree;
  fabric::OperationKind kind = fabric::OperationKind::kSend;
  bool is_inline = false;  // its bytes were copied at the post
  bool hashed = false;
  bool under_way = false;  // during an audit: the device still has it
  std::uint8_t pieces = 0;
  std::array<WatchedPiece, 2> local{};
  WatchedPiece remote{};
  std::uint32_t peer = 0;  // index of the NIC that `remote` belongs to
  std::uint32_t peer_qkey = 0;
  std::uint16_t peer_queue = 0;  // number of the queue pair there
  std::uint16_t handle = 0;      // by which the request names the peer
  std::uint64_t length = 0;
  std::uint64_t hash = 0;           // of its bytes at the post, when `hashed`
  std::uint64_t registrations = 0;  // Registrations::changes then

  // Links of WriteIndex: in its cell, and among all of its size.
  struct Link {
    WatchedRequest* next = nullptr;
    WatchedRequest** before = nullptr;  // null: not linked
  };
  std::uint64_t target = 0;  // first byte of what is being written
  std::uint64_t target_length = 0;
  std::uint8_t level = 0;
  Link cell{};
  Link peers_of_level{};

  bool in_flight() const { return state != State::kFree; }
};

// The requests of one ring, by the device's numbers: an id is the slot, and the number of the
// slot's use in the bits that are left. Memory is taken for the slots that are used: drivers use
// the lowest ones that are free.
class WatchedRequests {
 public:
  // REQUIRES: 0 < depth <= 32768.
  WatchedRequests(WatchedQueue& queue, std::size_t depth)
      : queue_(queue),
        mask_(static_cast<std::uint16_t>(std::bit_ceil(depth) - 1)),
        chunks_((depth + kChunk - 1) / kChunk) {}

  // The slot of a new request. REQUIRES: it is one of the ring's.
  WatchedRequest& Slot(std::uint16_t id) {
    const std::size_t slot = id & mask_;
    auto& chunk = chunks_[slot / kChunk];
    if (chunk == nullptr) [[unlikely]] {
      chunk = std::make_unique<WatchedRequest[]>(kChunk);
      for (std::size_t i = 0; i < kChunk; ++i) chunk[i].queue = &queue_;
    }
    return chunk[slot % kChunk];
  }
  // Null when none with this number is in flight.
  WatchedRequest* Find(std::uint16_t id) const {
    const std::size_t slot = id & mask_;
    if (slot / kChunk >= chunks_.size() || chunks_[slot / kChunk] == nullptr) return nullptr;
    WatchedRequest& request = chunks_[slot / kChunk][slot % kChunk];
    return request.in_flight() && request.id == id ? &request : nullptr;
  }
  // Calls visit(request) for every slot that was ever used, and some that were not.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& chunk : chunks_) {
      for (std::size_t i = 0; chunk != nullptr && i < kChunk; ++i) visit(chunk[i]);
    }
  }

 private:
  static constexpr std::size_t kChunk = 64;

  WatchedQueue& queue_;
  const std::uint16_t mask_;
  std::vector<std::unique_ptr<WatchedRequest[]>> chunks_;
};

// Of one endpoint.
struct WatchedQueue {
  WatchedQueue(std::size_t send_depth, std::size_t receive_depth)
      : sends(*this, send_depth), receives(*this, receive_depth) {}
  WatchedQueue(const WatchedQueue&) = delete;
  WatchedQueue& operator=(const WatchedQueue&) = delete;

  std::uint32_t nic = 0;  // index in the world
  std::string where;      // its name
  std::uint16_t number = 0;
  std::uint16_t domain = 0;
  std::uint32_t qkey = 0;  // tells it from earlier ones of this number
  bool raw = false;        // its rings are not the driver's any more: their requests are unknown
  bool dead = false;       // so is the machine
  bool immediates_take_receives = false;
  WatchedRequests sends;
  WatchedRequests receives;

  // Null when none with this number is in flight, and for raw queues.
  WatchedRequest* FindSend(std::uint16_t id) const { return raw ? nullptr : sends.Find(id); }
  WatchedRequest* FindReceive(std::uint16_t id) const { return raw ? nullptr : receives.Find(id); }
  WatchedRequest* Find(bool receive, std::uint16_t id) const {
    return receive ? FindReceive(id) : FindSend(id);
  }
};

// Those that are open in a world, by QueuePair::serial.
class WatchedQueues {
 public:
  // Null when none with this serial is open.
  WatchedQueue* Find(std::uint32_t serial) const {
    return serial < queues_.size() ? queues_[serial].get() : nullptr;
  }
  WatchedQueue& Open(std::uint32_t serial, std::size_t send_depth, std::size_t receive_depth) {
    if (serial >= queues_.size()) queues_.resize(serial + 1u);
    queues_[serial] = std::make_unique<WatchedQueue>(send_depth, receive_depth);
    return *queues_[serial];
  }
  void Close(std::uint32_t serial) { queues_[serial] = nullptr; }
  // Calls visit(queue) for each.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& queue : queues_) {
      if (queue != nullptr) visit(*queue);
    }
  }

 private:
  std::vector<std::unique_ptr<WatchedQueue>> queues_;  // index = serial
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_CHECKS_WATCHED_QUEUE_H_
