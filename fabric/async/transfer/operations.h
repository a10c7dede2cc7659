// The pages of one NIC that are under way, by the numbers that their completions carry.

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_OPERATIONS_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/messages.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::async::transfer {

// A context names an operation once: a late completion finds nothing. Not thread-safe.
class Operations {
 public:
  struct Aged {
    ChunkPage page;
    coro::Time since;
  };

  // `most` of them are under way at once.
  explicit Operations(std::size_t most) : slots_(most) {
    for (std::size_t i = most; i > 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
  }

  // How many more may begin.
  std::size_t room() const { return free_.size(); }
  // The context of the one that will begin after `ahead` others. REQUIRES: ahead < room().
  Context NextContext(std::size_t ahead) const {
    const std::uint32_t number = free_[free_.size() - 1 - ahead];
    return static_cast<Context>(std::uint64_t{slots_[number].generation} << 32 | number);
  }
  // REQUIRES: room() > 0.
  void Begin(ChunkPage page, coro::Time now) {
    Slot& slot = slots_[free_.back()];
    free_.pop_back();
    slot.page = page;
    slot.since = now;
    slot.under_way = true;
  }
  // What a completion with this context ends, valid until the next Begin; null: nothing of that name
  // is under way. No std::optional: GCC 12 builds one in parts, and reads it too soon after.
  const ChunkPage* End(Context context) {
    const auto name = static_cast<std::uint64_t>(context);
    const auto number = static_cast<std::uint32_t>(name);
    if (number >= slots_.size()) [[unlikely]]
      return nullptr;
    const Slot& slot = slots_[number];
    if (!slot.under_way || slot.generation != name >> 32) [[unlikely]]
      return nullptr;
    return Free(number);
  }
  // Ends any one, likewise; null: nothing is under way.
  const ChunkPage* EndAny();

  // The one that is under way for longest.
  std::optional<Aged> Oldest() const;
  // They all began so much later.
  void Postpone(coro::Duration gap);

 private:
  struct Slot {
    std::uint32_t generation = 0;
    ChunkPage page;
    bool under_way = false;
    coro::Time since{};
  };

  const ChunkPage* Free(std::uint32_t number) {
    slots_[number].under_way = false;
    ++slots_[number].generation;
    free_.push_back(number);
    return &slots_[number].page;
  }

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  // numbers of slots with nothing under way
};

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_OPERATIONS_H_
