// What the checks remember of the requests of one endpoint, from the post to the moment at which
// the program read their completion: a slot for each that the queues hold, taken once and for all.

#ifndef SIM_CHECKS_WATCHED_QUEUE_H_
#define SIM_CHECKS_WATCHED_QUEUE_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/operation.h"

namespace sim {

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
    kExcused,   // its entry is lost, or late, and everybody knows why
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
  std::uint64_t length = 0;
  std::uint64_t hash = 0;  // of its bytes at the post, when `hashed`

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

// How to find them. Numbers are the device's: `id` is the slot, and the number of its use in the
// bits that are left.
struct WatchedQueue {
  WatchedQueue(std::size_t sends_held, std::size_t receives_held)
      : sends(sends_held), receives(receives_held) {
    for (WatchedRequest& request : sends) request.queue = this;
    for (WatchedRequest& request : receives) request.queue = this;
  }

  std::uint32_t nic = 0;  // index in the world
  std::string where;      // its name
  std::uint16_t number = 0;
  std::uint16_t domain = 0;
  std::uint32_t qkey = 0;  // tells it from earlier ones of this number
  bool raw = false;        // somebody else writes to its rings: nothing is known of them
  bool dead = false;       // so is the machine
  bool immediates_take_receives = false;
  std::vector<WatchedRequest> sends;
  std::vector<WatchedRequest> receives;

  // The slot of a new request.
  static WatchedRequest& Slot(std::vector<WatchedRequest>& all, std::uint16_t id) {
    return all[id & (std::bit_ceil(all.size()) - 1)];
  }
  // Null when none with this number is in flight, and for raw queues.
  WatchedRequest* Find(std::vector<WatchedRequest>& all, std::uint16_t id) const {
    const std::size_t slot = id & (std::bit_ceil(all.size()) - 1);
    if (raw || slot >= all.size()) return nullptr;
    WatchedRequest& request = all[slot];
    return request.in_flight() && request.id == id ? &request : nullptr;
  }
  WatchedRequest* FindSend(std::uint16_t id) { return Find(sends, id); }
  WatchedRequest* FindReceive(std::uint16_t id) { return Find(receives, id); }
};

}  // namespace sim

#endif  // SIM_CHECKS_WATCHED_QUEUE_H_
