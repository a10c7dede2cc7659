#include "drydock/sim/hosts/memory_access.h"

#include <atomic>
#include <vector>

#include "drydock/sim/hosts/cross_memory.h"
#include "drydock/sim/memory/memory_bus.h"
#include "drydock/sim/memory/poison.h"

namespace drydock::sim {
namespace {

// Payload up to this length comes with its message, even if we may read the sender's memory: a copy
// is faster than a system call.
constexpr std::uint64_t kMostCopied = 4096;

}  // namespace

void MemoryAccess::Appear() {
  pid_ = context_.directory.At(presence_.slot()).pid.load(std::memory_order_relaxed);
  Probe();
}

void MemoryAccess::Recheck() {
  if (doubtful_ && presence_.present()) Probe();
}

void MemoryAccess::Vanish() { Tell(0); }

void MemoryAccess::Probe() {
  const MachineSlot& slot = context_.directory.At(presence_.slot());
  const bool readable = context_.cross_memory && !presence_.is_far() &&
                        CanReadAcross(pid_, slot.word_address.load(), slot.word.load());
  doubtful_ = false;
  Tell(readable ? presence_.incarnation() : 0);
}

void MemoryAccess::Tell(std::uint32_t readable) {
  readable_ = readable;
  context_.directory.mine().readable[presence_.slot()].store(readable, std::memory_order_release);
}

bool MemoryAccess::MayReadUs(std::uint64_t length) const {
  if (length <= kMostCopied || !context_.cross_memory || presence_.is_far()) return false;
  Directory& directory = context_.directory;
  const MachineSlot& slot = directory.At(presence_.slot());
  return slot.readable[directory.slot()].load(std::memory_order_acquire) == directory.incarnation();
}

bool MemoryAccess::Read(std::uint32_t incarnation, std::span<const Segment> sources, Range range,
                        std::byte* target, std::uint32_t into) {
  if (incarnation == 0 || readable_ != incarnation) return false;
  std::uint64_t missing = range.length;
  bool read = true;
  WalkSegments(sources, range, [&](const Segment& source) {
    read = read && ReadPiece(source, target, into);
    target += source.length;
    missing -= source.length;
  });
  if (!read || missing > 0) {
    doubtful_ = true;
    return false;
  }
  context_.counters.bytes_across += range.length;
  return true;
}

bool MemoryAccess::ReadPiece(const Segment& source, std::byte* target, std::uint32_t into) {
  MemoryBus& bus = context_.world.bus();
  if (bus.IsHost(reinterpret_cast<std::uint64_t>(target))) {
    const Lifted lifted(target, source.length);
    return ReadAcross(pid_, source.address, target, source.length);
  }
  std::vector<std::byte> bounce(source.length);
  if (!ReadAcross(pid_, source.address, bounce.data(), source.length)) return false;
  bus.Copy(target, bounce.data(), source.length, {.into = into});
  return true;
}

}  // namespace drydock::sim
