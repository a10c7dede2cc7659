// Numbered slots for records that outlive the coroutine that made them: an operation of a NIC has
// its slot's name, and its completion finds the slot by it.
//
//   name = generation << 32 | index
//
// A slot that is freed and taken again has another generation: a late or repeated completion of the
// old user finds nothing, and touches nothing. (A name comes again after four billion users of one
// slot.)
//
//   const auto [name, operation] = operations.Take();
//   operation->waiter = this;
//   request.context = Context{name};
//   ...
//   Operation* const found = operations.FindAndFree(std::uint64_t(context));
//   if (found != nullptr) found->waiter->Wake();

#ifndef DRYDOCK_CORO_SLOT_TABLE_H_
#define DRYDOCK_CORO_SLOT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "drydock/coro/check.h"

namespace drydock::coro {

// Grows by need, up to two billion slots, and never shrinks; in its steady state nothing is taken
// from the heap. All calls take constant time but taken(), ForEach, and a Take that makes a slot.
// `Value` is default-constructible and movable; it stays in its slot when the slot is freed, until
// the next user overwrites it. Not thread-safe, not copyable.
template <typename Value>
class SlotTable {
 public:
  using Name = std::uint64_t;

  SlotTable() = default;
  SlotTable(const SlotTable&) = delete;  // its free slots are a list
  SlotTable& operator=(const SlotTable&) = delete;

  // There is a free slot, and Take need not make one.
  bool has_free() const { return first_free_ != nullptr; }
  // The same as Take. REQUIRES: has_free().
  std::pair<Name, Value*> TakeFree() {
    Slot& slot = *first_free_;
    first_free_ = slot.next_free;
    slot.name -= kFree;
    return {slot.name, &slot.value};
  }

  // A free slot, and its name: never 0. The value is as its last user left it, or Value{} where it
  // has had none. The pointer holds until the next Take.
  std::pair<Name, Value*> Take() {
    if (!has_free()) [[unlikely]]
      Grow();
    return TakeFree();
  }

  // Null: no slot that is taken has this name. The pointer holds until the next Take.
  Value* Find(Name name) {
    Slot* const slot = FindSlot(name);
    return slot == nullptr ? nullptr : &slot->value;
  }

  // REQUIRES: a slot that is taken has this name.
  void Free(Name name) { DD_CHECK(FindAndFree(name) != nullptr, "slot is freed twice"); }

  // Find and Free in one; null, and nothing is freed, where no slot that is taken has this name.
  // The value stays in the slot, and the pointer holds, until the next Take.
  Value* FindAndFree(Name name) {
    Slot* const slot = FindSlot(name);
    if (slot == nullptr) return nullptr;
    slot->name = name + kNextGeneration + kFree;
    slot->next_free = first_free_;
    first_free_ = slot;
    return &slot->value;
  }

  // Takes time in proportion to the number of slots.
  std::size_t taken() const {
    std::size_t count = 0;
    for (const Slot& slot : slots_) count += (slot.name & kFree) == 0 ? 1 : 0;
    return count;
  }

  // Calls `each(name, value)` for every slot that is taken, in the order of their indices. It may
  // free the slot, and must not take one.
  template <typename Each>
  void ForEach(const Each& each) {
    for (std::uint32_t index = 0; index < size_; ++index) {
      Slot& slot = slots_[index];
      if ((slot.name & kFree) == 0) each(slot.name, slot.value);
    }
  }

 private:
  static constexpr Name kNextGeneration = Name{1} << 32;
  // Set in the name of a free slot: its index is then one that no slot has.
  static constexpr Name kFree = Name{1} << 31;

  struct Slot {
    Name name;
    Slot* next_free = nullptr;
    Value value{};
  };

  // Null: no slot that is taken has this name.
  Slot* FindSlot(Name name) {
    const auto index = static_cast<std::uint32_t>(name);
    if (index >= size_) return nullptr;
    Slot* const slot = &slots_[index];
    return slot->name == name ? slot : nullptr;
  }

  // REQUIRES: no slot is free, so that nothing points at one.
  [[gnu::noinline]] void Grow() {
    DD_CHECK(size_ < kFree, "two billion slots are taken");
    // The first one is never given out: its name would be 0 when its generations come round.
    if (slots_.empty()) {
      slots_.push_back({.name = kFree});
      ++size_;
    }
    slots_.push_back({.name = kNextGeneration + kFree + size_});
    ++size_;
    first_free_ = &slots_.back();
  }

  std::vector<Slot> slots_;
  std::uint32_t size_ = 0;  // of slots_, which would have to divide for it
  Slot* first_free_ = nullptr;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_SLOT_TABLE_H_
