#include "drydock/sim/memory/poison.h"

#ifdef DD_POISONS

#include <sanitizer/asan_interface.h>

namespace drydock::sim {
namespace {

// The sanitizer's states of a word: all of it is free; or a program poisoned it.
constexpr std::uint8_t kFree = 0;
constexpr std::uint8_t kOurs = 0xf7;

constexpr std::uint64_t kWord = 8;

// The sanitizer's own memory, which it cannot watch.
__attribute__((no_sanitize("address"))) std::uint8_t StateOf(std::uint64_t word) {
  std::size_t scale = 0;
  std::size_t offset = 0;
  __asan_get_shadow_mapping(&scale, &offset);
  return *reinterpret_cast<const std::uint8_t*>((word >> scale) + offset);
}

// Calls visit(address, length) for each run of words of the range that are in this state.
template <typename Visit>
void ForEachRun(std::uint64_t address, std::uint64_t length, std::uint8_t state, Visit visit) {
  const std::uint64_t end = (address + length) / kWord * kWord;
  std::uint64_t at = (address + kWord - 1) / kWord * kWord;
  while (at < end) {
    const std::uint64_t begin = at;
    while (at < end && StateOf(at) == state) at += kWord;
    if (at > begin) {
      visit(begin, at - begin);
    } else {
      at += kWord;
    }
  }
}

void* PointerAt(std::uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

void Poison(std::uint64_t address, std::uint64_t length) {
  ForEachRun(address, length, kFree, [](std::uint64_t at, std::uint64_t bytes) {
    __asan_poison_memory_region(PointerAt(at), bytes);
  });
}

void Unpoison(std::uint64_t address, std::uint64_t length) {
  ForEachRun(address, length, kOurs, [](std::uint64_t at, std::uint64_t bytes) {
    __asan_unpoison_memory_region(PointerAt(at), bytes);
  });
}

void Lifted::Lift(std::uint64_t address, std::uint64_t length) {
  // Also the words of which the range has only a part.
  const std::uint64_t begin = address / kWord * kWord;
  const std::uint64_t end = (address + length + kWord - 1) / kWord * kWord;
  ForEachRun(begin, end - begin, kOurs, [this](std::uint64_t at, std::uint64_t bytes) {
    __asan_unpoison_memory_region(PointerAt(at), bytes);
    lifted_.emplace_back(at, bytes);
  });
}

void Lifted::Restore() {
  for (const auto& [at, bytes] : lifted_) __asan_poison_memory_region(PointerAt(at), bytes);
}

}  // namespace drydock::sim

#endif  // DD_POISONS
