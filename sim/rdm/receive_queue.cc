#include "drydock/sim/rdm/receive_queue.h"

#include <algorithm>
#include <utility>

namespace drydock::sim::rdm {

PostedReceive ReceiveQueue::TakePart(const PostedReceive& receive,
                                     std::uint64_t length_bytes) const {
  PostedReceive part = receive;
  if (receive.multi == nullptr) return part;
  MultiBuffer& multi = *receive.multi;
  part.data = receive.buffer.segments().front().data + multi.used_bytes;
  part.buffer = receive.buffer.Sub(multi.used_bytes, length_bytes);
  multi.used_bytes += part.buffer.length();
  multi.exhausted = receive.buffer.length() - multi.used_bytes < multi_least_;
  ++multi.arriving;
  return part;
}

bool ReceiveQueue::Fits(const AddressEntry& from, bool tagged, std::uint64_t tag) const {
  return std::any_of(posted_.begin(), posted_.end(),
                     [&](const PostedReceive& receive) { return receive.Fits(from, tagged, tag); });
}

std::optional<PostedReceive> ReceiveQueue::Match(const AddressEntry& from, bool tagged,
                                                 std::uint64_t tag, std::uint64_t length_bytes) {
  const auto found =
      std::find_if(posted_.begin(), posted_.end(),
                   [&](const PostedReceive& receive) { return receive.Fits(from, tagged, tag); });
  if (found == posted_.end()) return std::nullopt;
  PostedReceive part = TakePart(*found, length_bytes);
  if (found->multi == nullptr || found->multi->exhausted) posted_.erase(found);
  return part;
}

std::optional<UnexpectedMessage> ReceiveQueue::TakeUnexpected(const PostedReceive& receive) {
  const auto found =
      std::find_if(unexpected_.begin(), unexpected_.end(), [&](const UnexpectedMessage& message) {
        return receive.Fits(*message.from, message.tagged, message.tag);
      });
  if (found == unexpected_.end()) return std::nullopt;
  UnexpectedMessage message = std::move(*found);
  unexpected_.erase(found);
  unexpected_bytes_ -= message.held_bytes;
  ++changes_;
  return message;
}

std::optional<PostedReceive> ReceiveQueue::TakePosted() {
  if (posted_.empty()) return std::nullopt;
  PostedReceive receive = std::move(posted_.front());
  posted_.pop_front();
  return receive;
}

std::optional<PostedReceive> ReceiveQueue::Cancel(fabric::Context context) {
  const auto found =
      std::find_if(posted_.begin(), posted_.end(),
                   [&](const PostedReceive& receive) { return receive.context == context; });
  if (found == posted_.end()) return std::nullopt;
  PostedReceive receive = std::move(*found);
  posted_.erase(found);
  return receive;
}

}  // namespace drydock::sim::rdm
