// Memory that is not the program's to touch, in a build with AddressSanitizer: code that touches it
// ends with a report at that line ("use-after-poison"). In other builds everything here is empty.
//
// The state is the sanitizer's own, one for eight bytes. So memory that was freed, or given out
// again, is never mistaken for ours, and no list has to agree with it. Bytes that share their eight
// with others stay free.

#ifndef DRYDOCK_SIM_MEMORY_POISON_H_
#define DRYDOCK_SIM_MEMORY_POISON_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)  // GCC
#define DD_POISONS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DD_POISONS
#endif
#endif

namespace drydock::sim {

// Each takes what it can: whole words that are free, or that are poisoned.
#ifdef DD_POISONS
inline constexpr bool kPoisons = true;
void Poison(std::uint64_t address, std::uint64_t length);
void Unpoison(std::uint64_t address, std::uint64_t length);
#else
inline constexpr bool kPoisons = false;
inline void Poison(std::uint64_t, std::uint64_t) {}
inline void Unpoison(std::uint64_t, std::uint64_t) {}
#endif

// For code that may touch the range: as long as this lives, none of it is poisoned.
class Lifted {
 public:
  Lifted(const void* begin, std::uint64_t length) {
    if constexpr (kPoisons) Lift(reinterpret_cast<std::uint64_t>(begin), length);
  }
  Lifted(const Lifted&) = delete;
  Lifted& operator=(const Lifted&) = delete;
  ~Lifted() {
    if constexpr (kPoisons) Restore();
  }

 private:
  void Lift(std::uint64_t address, std::uint64_t length);
  void Restore();

  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // addresses, lengths
  struct Nothing {};
  [[no_unique_address]] std::conditional_t<kPoisons, Ranges, Nothing> lifted_;
};

// Copies as the device does, poisoned or not. Both ranges may overlap, hardware does not mind.
inline void DeviceCopy(std::byte* target, const std::byte* source, std::uint64_t length) {
  if (target == source) return;  // as in worlds whose machines all have the same bytes
  const Lifted to(target, length);
  const Lifted from(source, length);
  std::memmove(target, source, length);
}

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_MEMORY_POISON_H_
