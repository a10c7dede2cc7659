// The messages to another process, in order: those without room in its channel wait here.

#ifndef DRYDOCK_SIM_HOSTS_OUTBOX_H_
#define DRYDOCK_SIM_HOSTS_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "drydock/sim/hosts/channel.h"
#include "drydock/sim/hosts/message.h"

namespace drydock::sim {

// Not thread-safe: belongs to the world of this process. None of its functions waits.
class Outbox {
 public:
  // Adds to `messages_sent`, which outlives it, every message that a channel has taken.
  explicit Outbox(std::uint64_t& messages_sent) : messages_sent_(messages_sent) {}

  // Messages go into this channel from now on, which lives until Close. REQUIRES: it is closed, as
  // at first.
  void Open(Channel& channel) { channel_ = &channel; }
  // No process is there: the messages that wait are lost, and all that are put while it is closed.
  void Close();

  // Appends a message; it leaves with Flush. Returns where its payload, of message.payload_bytes,
  // is to be written before the next call; nowhere if the outbox is closed.
  std::span<std::byte> Put(const Message& message);
  // Moves the messages that wait into the channel, as far as there is room, and publishes all that
  // are in it. False: nothing was put since the last Flush, and nothing waits.
  bool Flush();

  // Whether messages wait for room.
  bool has_waiting() const { return !waiting_.empty(); }
  // More than 1 MiB of them wait: packets are to be held back, other messages are not.
  bool crowded() const;
  // More than 16 MiB of them wait: no process that reads its messages leaves so many.
  bool overfull() const;

 private:
  std::uint64_t& messages_sent_;
  Channel* channel_ = nullptr;  // null: closed
  std::deque<std::vector<std::byte>> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool unannounced_ = false;  // something was put since the last Flush
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_OUTBOX_H_
