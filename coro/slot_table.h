// Numbered slots for what outlives the coroutine that started it: an operation of a NIC names its
// slot, and is found again by that name when it completes.
//
//   name = generation << 32 | index
//
// A slot that is freed and taken again has another generation: a late or repeated completion of the
// old user finds nothing, and touches nothing.

#ifndef CORO_SLOT_TABLE_H_
#define CORO_SLOT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "coro/check.h"

namespace coro {

// Grows by need, never shrinks; in its steady state nothing is taken from the heap. `Value` is
// default-constructible; it stays in its slot when the slot is freed, until the next user
// overwrites it. Not thread-safe.
template <typename Value>
class SlotTable {
 public:
  using Name = std::uint64_t;

  // A free slot, and its name: never 0. The pointer holds until the next Take.
  std::pair<Name, Value*> Take() {
    if (first_free_ == kNone) [[unlikely]]
      Grow();
    const std::uint32_t index = first_free_;
    Slot& slot = slots_[index];
    first_free_ = slot.next_free;
    slot.next_free = kTaken;
    ++taken_;
    return {std::uint64_t{slot.generation} << 32 | index, &slot.value};
  }

  // Null: no slot that is taken has this name. The pointer holds until the next Take.
  Value* Find(Name name) {
    Slot* const slot = FindSlot(name);
    return slot == nullptr ? nullptr : &slot->value;
  }

  // REQUIRES: the name was found.
  void Free(Name name) { DD_CHECK(FindAndFree(name) != nullptr, "slot is freed twice"); }

  // Find and Free in one. What was in the slot is there until the next Take.
  Value* FindAndFree(Name name) {
    Slot* const slot = FindSlot(name);
    if (slot == nullptr) return nullptr;
    ++slot->generation;
    slot->next_free = first_free_;
    first_free_ = static_cast<std::uint32_t>(name);
    --taken_;
    return &slot->value;
  }

  std::size_t taken() const { return taken_; }

  // Calls `each(name, value)` for every slot that is taken, in the order of their indices. It may
  // free the slot, and must not take one.
  template <typename Each>
  void ForEach(const Each& each) {
    for (std::uint32_t index = 0; index < size_; ++index) {
      Slot& slot = slots_[index];
      if (slot.next_free == kTaken) each(std::uint64_t{slot.generation} << 32 | index, slot.value);
    }
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kTaken = UINT32_MAX - 1;

  struct Slot {
    std::uint32_t generation = 1;
    std::uint32_t next_free = kNone;
    Value value{};
  };

  // Null: no slot that is taken has this name.
  Slot* FindSlot(Name name) {
    const auto index = static_cast<std::uint32_t>(name);
    if (index >= size_) return nullptr;
    Slot* const slot = &slots_[index];
    return slot->generation == name >> 32 && slot->next_free == kTaken ? slot : nullptr;
  }

  void Grow() {
    DD_CHECK(size_ < kTaken, "four billion slots are taken");
    first_free_ = size_++;
    slots_.emplace_back();
  }

  std::vector<Slot> slots_;
  std::uint32_t size_ = 0;  // of slots_, which would have to divide for it
  std::uint32_t first_free_ = kNone;
  std::size_t taken_ = 0;
};

}  // namespace coro

#endif  // CORO_SLOT_TABLE_H_
