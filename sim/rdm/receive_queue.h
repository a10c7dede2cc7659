// Matching: which message goes into which posted receive.

#ifndef DRYDOCK_SIM_RDM_RECEIVE_QUEUE_H_
#define DRYDOCK_SIM_RDM_RECEIVE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "drydock/fabric/operation.h"
#include "drydock/sim/rdm/address_book.h"
#include "drydock/sim/rdm/packet.h"
#include "drydock/sim/rdm/scatter_list.h"

namespace drydock::sim::rdm {

// A buffer that takes several messages, shared by those that it has taken.
struct MultiBuffer {
  std::uint64_t used_bytes = 0;
  std::size_t arriving = 0;  // messages that it has taken and that are not complete
  bool exhausted = false;    // takes no more
};

// A receive of the program; of a multi receive, also the part that one message got.
struct PostedReceive {
  ScatterList buffer;
  std::optional<fabric::Context> context;
  bool tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;              // bits of the tag that may differ
  std::shared_ptr<AddressEntry> source;  // null: from any peer
  std::shared_ptr<MultiBuffer> multi;    // null: takes one message
  std::byte* data = nullptr;             // of a part of a multi receive: where it begins

  bool Fits(const AddressEntry& from, bool is_tagged, std::uint64_t message_tag) const {
    return tagged == is_tagged && (source == nullptr || source.get() == &from) &&
           (!tagged || ((message_tag ^ tag) & ~ignore) == 0);
  }
};

// A message that came before its receive.
struct UnexpectedMessage {
  OperationId operation = kNoOperation;
  std::shared_ptr<AddressEntry> from;
  bool tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t length_bytes = 0;
  std::uint64_t held_bytes = 0;  // that it takes, or may take, while it waits
};

// Oldest first, on both sides: a message goes into the oldest receive that fits, a receive takes
// the oldest message that fits. Tagged and untagged never match. Not thread-safe.
class ReceiveQueue {
 public:
  // Takes `depth` receives. A multi receive ends when less than `multi_least` bytes are left. There
  // is room for `most_unexpected` waiting messages of `most_bytes` in all.
  ReceiveQueue(std::size_t depth, std::uint64_t multi_least, std::size_t most_unexpected = SIZE_MAX,
               std::uint64_t most_bytes = UINT64_MAX)
      : depth_(depth),
        multi_least_(multi_least),
        most_unexpected_(std::max<std::size_t>(1, most_unexpected)),
        most_bytes_(most_bytes) {}

  bool full() const { return posted_.size() >= depth_; }

  // Posts a receive. REQUIRES: not full(); TakeUnexpected found nothing for it.
  void Post(PostedReceive receive) {
    posted_.push_back(std::move(receive));
    ++changes_;
  }

  // True when some receive fits this message.
  bool Fits(const AddressEntry& from, bool tagged, std::uint64_t tag) const;
  // The receive, or the part of one, that takes this message; empty when none fits.
  std::optional<PostedReceive> Match(const AddressEntry& from, bool tagged, std::uint64_t tag,
                                     std::uint64_t length_bytes);

  // The oldest waiting message that fits; empty when none does.
  std::optional<UnexpectedMessage> TakeUnexpected(const PostedReceive& receive);
  // True when one more may wait that takes so many bytes.
  bool HasRoom(std::uint64_t held_bytes) const {
    if (unexpected_.empty()) return true;
    return unexpected_.size() < most_unexpected_ && unexpected_bytes_ <= most_bytes_ &&
           held_bytes <= most_bytes_ - unexpected_bytes_;
  }
  void AddUnexpected(UnexpectedMessage message) {
    unexpected_bytes_ += message.held_bytes;
    unexpected_.push_back(std::move(message));
  }

  // The part of `receive` for a message of this length: all of it, or the next bytes of a multi
  // receive.
  PostedReceive TakePart(const PostedReceive& receive, std::uint64_t length_bytes) const;

  // Takes back the oldest receive with this context.
  std::optional<PostedReceive> Cancel(fabric::Context context);

  std::size_t posted() const { return posted_.size(); }
  std::size_t unexpected() const { return unexpected_.size(); }
  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }
  // Counts posted receives and messages that have found theirs: a message for which there was no
  // room must try again when this has changed.
  std::uint64_t changes() const { return changes_; }

  // Takes back the oldest receive, with any context.
  std::optional<PostedReceive> TakePosted();

 private:
  const std::size_t depth_;
  const std::uint64_t multi_least_;
  const std::size_t most_unexpected_;
  const std::uint64_t most_bytes_;
  std::uint64_t unexpected_bytes_ = 0;
  std::uint64_t changes_ = 0;
  std::list<PostedReceive> posted_;
  std::list<UnexpectedMessage> unexpected_;
};

}  // namespace drydock::sim::rdm

#endif  // DRYDOCK_SIM_RDM_RECEIVE_QUEUE_H_
