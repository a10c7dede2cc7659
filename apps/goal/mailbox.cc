#include "drydock/apps/goal/mailbox.h"

#include <algorithm>
#include <array>
#include <vector>

namespace drydock::apps::goal {
namespace {

// What a receive wants that takes a message of this source and tag, and that does not name both.
std::array<std::pair<std::uint32_t, std::uint32_t>, 3> WildKeys(std::uint32_t source,
                                                                std::uint32_t tag) {
  return {{{source, kAnyTag}, {kAnySource, tag}, {kAnySource, kAnyTag}}};
}

}  // namespace

OpIndex Mailbox::TakeFirst(Lines& lines, Lines::iterator line) {
  const OpIndex op = line->second.front().second;
  line->second.pop_front();
  if (line->second.empty()) lines.erase(line);
  return op;
}

std::optional<OpIndex> Mailbox::Arrived(std::uint32_t source, std::uint32_t tag, OpIndex send) {
  auto first = posted_.find({source, tag});
  for (const Key& wants : WildKeys(source, tag)) {
    const auto line = posted_.find(wants);
    if (line == posted_.end()) continue;
    if (first == posted_.end() || line->second.front() < first->second.front()) first = line;
  }
  if (first != posted_.end()) return TakeFirst(posted_, first);
  const Key key{source, tag};
  const Entry entry{place_++, send};
  arrived_[key].push_back(entry);
  if (has_wild_) AddToWildLines(key, entry);
  ++left_;
  return std::nullopt;
}

void Mailbox::AddToWildLines(const Key& key, const Entry& entry) {
  here_[entry.first] = key;
  for (const Key& wants : WildKeys(key.first, key.second)) wild_[wants].push_back(entry);
}

// What is in front of its own line is the first message of its source and tag, wherever it is.
std::optional<OpIndex> Mailbox::TakeWild(const Key& wants) {
  const auto line = wild_.find(wants);
  if (line == wild_.end()) return std::nullopt;
  while (!line->second.empty()) {
    const auto found = here_.find(line->second.front().first);
    line->second.pop_front();
    if (found == here_.end()) continue;
    const auto own = arrived_.find(found->second);
    here_.erase(found);
    return TakeFirst(arrived_, own);
  }
  wild_.erase(line);
  return std::nullopt;
}

std::optional<OpIndex> Mailbox::Post(const Op& receive, OpIndex index) {
  const Key wants{receive.peer, receive.tag};
  std::optional<OpIndex> send;
  if (receive.peer != kAnySource && receive.tag != kAnyTag) {
    const auto line = arrived_.find(wants);
    if (line != arrived_.end()) {
      here_.erase(line->second.front().first);
      if (here_.empty()) wild_.clear();  // nothing in it is there any more
      send = TakeFirst(arrived_, line);
    }
  } else {
    if (!has_wild_) {
      has_wild_ = true;
      std::vector<std::pair<Entry, Key>> all;
      for (const auto& [key, line] : arrived_) {
        for (const Entry& entry : line) all.emplace_back(entry, key);
      }
      std::ranges::sort(all);
      for (const auto& [entry, key] : all) AddToWildLines(key, entry);
    }
    send = TakeWild(wants);
  }
  if (send.has_value()) {
    --left_;
  } else {
    posted_[wants].emplace_back(place_++, index);
  }
  return send;
}

}  // namespace drydock::apps::goal
