#include "drydock/sim/hosts/outbox.h"

#include <cstring>
#include <utility>

namespace drydock::sim {
namespace {

// Bytes of messages that wait for room before packets are held back.
constexpr std::size_t kMostWaiting = 1 << 20;
// And before the other process is given up: answers to more operations than it can have under way.
constexpr std::size_t kMostUnread = 16 << 20;

}  // namespace

void Outbox::Close() {
  channel_ = nullptr;
  waiting_.clear();
  waiting_bytes_ = 0;
  unannounced_ = false;
}

std::span<std::byte> Outbox::Put(const Message& message) {
  if (channel_ == nullptr) return {};
  const std::size_t bytes = sizeof(Message) + message.payload_bytes;
  std::byte* room = waiting_.empty() ? channel_->Reserve(bytes) : nullptr;
  if (room == nullptr) {
    waiting_.emplace_back(bytes);
    waiting_bytes_ += bytes;
    room = waiting_.back().data();
  } else {
    ++messages_sent_;
  }
  std::memcpy(room, &message, sizeof(Message));
  unannounced_ = true;
  return {room + sizeof(Message), message.payload_bytes};
}

bool Outbox::Flush() {
  if (!unannounced_ && waiting_.empty()) return false;
  while (!waiting_.empty()) {
    const std::vector<std::byte>& oldest = waiting_.front();
    std::byte* room = channel_->Reserve(oldest.size());
    if (room == nullptr) break;
    std::memcpy(room, oldest.data(), oldest.size());
    waiting_bytes_ -= oldest.size();
    waiting_.pop_front();
    ++messages_sent_;
    unannounced_ = true;
  }
  if (std::exchange(unannounced_, false)) channel_->Publish();
  return true;
}

bool Outbox::crowded() const { return waiting_bytes_ > kMostWaiting; }
bool Outbox::overfull() const { return waiting_bytes_ > kMostUnread; }

}  // namespace drydock::sim
