#include "drydock/apps/goal/mailbox.h"

namespace drydock::apps::goal {
namespace {

bool Takes(const std::pair<std::uint32_t, std::uint32_t>& wants, std::uint32_t source,
           std::uint32_t tag) {
  return (wants.first == kAnySource || wants.first == source) &&
         (wants.second == kAnyTag || wants.second == tag);
}

}  // namespace

OpIndex Mailbox::TakeFirst(Lines& lines, Lines::iterator line) {
  const OpIndex op = line->second.front().second;
  line->second.pop_front();
  if (line->second.empty()) lines.erase(line);
  return op;
}

std::optional<OpIndex> Mailbox::Arrived(std::uint32_t source, std::uint32_t tag, OpIndex send) {
  auto wild = wild_.begin();
  while (wild != wild_.end() && !Takes(wild->wants, source, tag)) ++wild;
  const auto exact = posted_.find({source, tag});
  const bool named = exact != posted_.end();
  if (wild != wild_.end() && (!named || wild->place < exact->second.front().first)) {
    const OpIndex receive = wild->receive;
    wild_.erase(wild);
    return receive;
  }
  if (named) return TakeFirst(posted_, exact);
  arrived_[{source, tag}].emplace_back(place_++, send);
  ++left_;
  return std::nullopt;
}

std::optional<OpIndex> Mailbox::Post(const Op& receive, OpIndex index) {
  const Key wants{receive.peer, receive.tag};
  const bool named = receive.peer != kAnySource && receive.tag != kAnyTag;
  auto found = arrived_.end();
  if (named) {
    found = arrived_.find(wants);
  } else {
    for (auto line = arrived_.begin(); line != arrived_.end(); ++line) {
      const bool earlier =
          found == arrived_.end() || line->second.front().first < found->second.front().first;
      if (earlier && Takes(wants, line->first.first, line->first.second)) found = line;
    }
  }
  if (found != arrived_.end()) {
    --left_;
    return TakeFirst(arrived_, found);
  }
  if (named) {
    posted_[wants].emplace_back(place_++, index);
  } else {
    wild_.push_back({place_++, index, wants});
  }
  return std::nullopt;
}

}  // namespace drydock::apps::goal
