#include "drydock/sim/memory/memory_bus.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim {

using fabric::MemoryRequest;
using fabric::PeerMemory;
using fabric::PeerMemoryClient;

namespace {

std::uint64_t AddressOf(const std::byte* bytes) { return reinterpret_cast<std::uint64_t>(bytes); }

const char* NameOf(fabric::MemoryKind kind) {
  return kind == fabric::MemoryKind::kCuda ? "CUDA device" : "stand-in GPU";
}

}  // namespace

void MemoryBus::Attach(PeerMemoryClient& device) {
  for (const PeerMemoryClient* other : devices_) {
    DD_CHECK(other->kind() != device.kind() || other->device() != device.device(),
             "a device is attached to a world once");
  }
  devices_.push_back(&device);
}

absl::StatusOr<std::shared_ptr<PeerMemory>> MemoryBus::Pin(const MemoryRequest& request) {
  const auto device =
      std::find_if(devices_.begin(), devices_.end(), [&](const PeerMemoryClient* candidate) {
        return candidate->kind() == request.kind && candidate->device() == request.device;
      });
  if (device == devices_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("register memory: no ", NameOf(request.kind),
                                                   " ", request.device,
                                                   " is attached to the simulated machine"));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<PeerMemory> memory, (*device)->Pin(request));
  Forget();
  ranges_[memory->address()] = memory;
  return memory;
}

void MemoryBus::SetPages(std::span<const std::byte> memory, std::uint64_t page_bytes) {
  DD_CHECK((page_bytes & (page_bytes - 1)) == 0, "a page is a power of two of bytes");
  const std::uint64_t begin = AddressOf(memory.data());
  const std::uint64_t end = begin + memory.size();
  std::erase_if(pages_,
                [&](const auto& range) { return range.first < end && range.second.end > begin; });
  if (page_bytes != 0 && !memory.empty()) pages_[begin] = {end, page_bytes};
}

std::uint64_t MemoryBus::PageBytes(std::uint64_t address, std::uint64_t length_bytes) const {
  std::uint64_t smallest = UINT64_MAX;
  std::uint64_t at = address;  // what lies before is known
  while (at - address < length_bytes) {
    const auto after = pages_.upper_bound(at);
    if (after == pages_.begin() || std::prev(after)->second.end <= at) return 0;
    const Pages& pages = std::prev(after)->second;
    smallest = std::min(smallest, pages.page_bytes);
    at = pages.end;
  }
  return smallest;
}

std::shared_ptr<PeerMemory> MemoryBus::Find(std::uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  std::shared_ptr<PeerMemory> memory = std::prev(after)->second.lock();
  if (memory == nullptr || address - memory->address() >= memory->length_bytes()) return nullptr;
  return memory;
}

// A NIC's read of a device's memory pushes its own writes before it, as PCIe reads do, wherever the
// bytes go: the device sees them when it has ended. Programs flush by that, each NIC by itself
// (NVIDIA/nccl src/transport/net_ib.cc, iflush). Writes of another NIC took another way.
void MemoryBus::CopyAcross(std::byte* target, const std::byte* source, std::uint64_t length,
                           Ways ways) {
  if (length == 0) return;
  const std::uint64_t to_address = AddressOf(target);
  const std::uint64_t from_address = AddressOf(source);
  const std::shared_ptr<PeerMemory> to = Find(to_address);
  const std::shared_ptr<PeerMemory> from = Find(from_address);
  if (to == nullptr && from == nullptr) return DeviceCopy(target, source, length);
  if (from == nullptr) {
    const Lifted lifted(source, length);
    return Await(to, to->Write(ways.into, to_address, source, length));
  }
  std::vector<std::byte> bounce;
  if (to != nullptr) {
    if (const std::optional<PeerMemory::Ticket> ticket =
            to->CopyFrom(ways.into, to_address, *from, ways.from, from_address, length)) {
      return Await(to, *ticket);
    }
    bounce.resize(length);
    target = bounce.data();
  }
  {
    const Lifted lifted(target, length);
    from->Read(ways.from, target, from_address, length);
  }
  from->Push(ways.from);
  if (to != nullptr) Await(to, to->Write(ways.into, to_address, target, length));
}

void MemoryBus::Await(const std::shared_ptr<PeerMemory>& memory, PeerMemory::Ticket ticket) {
  if (ticket == 0) return;
  const std::uint64_t number = next_number_++;
  invisible_.emplace(number, std::pair{Held(memory), ticket});
  timeline_.After(memory->visibility_delay(), this, EventKind::kVisible, 0, number);
}

void MemoryBus::OnEvent(const Event& event) {
  const auto found = invisible_.find(event.b);
  if (found == invisible_.end()) return;
  const auto [held, ticket] = found->second;
  invisible_.erase(found);
  if (const std::shared_ptr<PeerMemory> memory = held.lock()) memory->MakeVisible(ticket);
}

const std::byte* MemoryBus::View(std::uint64_t address, std::uint64_t length,
                                 std::vector<std::byte>& scratch) const {
  const std::shared_ptr<PeerMemory> memory = HostOnly() ? nullptr : Find(address);
  if (memory == nullptr) return reinterpret_cast<const std::byte*>(address);
  scratch.resize(length);
  memory->Read(PeerMemory::kEveryWay, scratch.data(), address, length);
  return scratch.data();
}

}  // namespace drydock::sim
