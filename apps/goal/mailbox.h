// The messages of one rank that have not been received yet, and its receives that have no message
// yet: matched by source and tag, in the order in which both came.

#ifndef DRYDOCK_APPS_GOAL_MAILBOX_H_
#define DRYDOCK_APPS_GOAL_MAILBOX_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "drydock/apps/goal/schedule.h"

namespace drydock::apps::goal {

// Not thread-safe.
class Mailbox {
 public:
  // A message of this send has come. Returns the receive that takes it, if one waits.
  std::optional<OpIndex> Arrived(std::uint32_t source, std::uint32_t tag, OpIndex send);
  // A receive waits from now on. Returns the send of the message that it takes, if one is here.
  std::optional<OpIndex> Post(const Op& receive, OpIndex index);

  // Messages that have not been received.
  std::size_t left() const { return left_; }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;  // source, tag; of any, too
  // In the order in which they came, with their places in that order.
  using Entry = std::pair<std::uint64_t, OpIndex>;
  using Line = std::list<Entry>;
  using Lines = absl::flat_hash_map<Key, Line>;

  static OpIndex TakeFirst(Lines& lines, Lines::iterator line);
  void AddToWildLines(const Key& key, const Entry& entry);
  std::optional<OpIndex> TakeWild(const Key& wants);

  Lines posted_;   // receives, by what they want
  Lines arrived_;  // messages, by what they are
  // The same by what a receive of any source or tag wants, from the first such receive on. Those
  // that were taken from arrived_ meanwhile are left in them.
  Lines wild_;
  absl::flat_hash_map<std::uint64_t, Key> here_;  // those in wild_ that are not taken, by place
  bool has_wild_ = false;
  std::size_t left_ = 0;
  std::uint64_t place_ = 0;
};

}  // namespace drydock::apps::goal

#endif  // DRYDOCK_APPS_GOAL_MAILBOX_H_
