#include "drydock/gpu/host_device/host_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace drydock::gpu {
namespace {

// As a GPU's: what memory is mapped in, and a page of the host.
constexpr std::size_t kGranule = std::size_t{2} << 20;
constexpr std::size_t kHostPage = 4096;

enum class Kind { kPlain, kVirtual, kManaged, kHost };

// Bytes that a device sees; they lie in host memory at an address that the program does not know.
class Physical {
 public:
  static std::shared_ptr<Physical> Make(std::size_t bytes, bool rdma) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return nullptr;
    return std::make_shared<Physical>(static_cast<std::byte*>(at), bytes, rdma);
  }
  Physical(std::byte* at, std::size_t bytes, bool rdma) : at_(at), bytes_(bytes), rdma_(rdma) {}
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical() { munmap(at_, bytes_); }

  std::byte* at() const { return at_; }
  std::size_t bytes() const { return bytes_; }
  bool rdma() const { return rdma_; }

 private:
  std::byte* const at_;
  const std::size_t bytes_;
  const bool rdma_;
};

// Addresses that the host must not touch.
std::uint64_t ReserveAddresses(std::size_t bytes) {
  void* const at =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? 0 : reinterpret_cast<std::uint64_t>(at);
}

class HostDriver final : public MemoryDriver {
 public:
  ~HostDriver() override {
    for (const auto& [address, bytes] : reserved_) munmap(reinterpret_cast<void*>(address), bytes);
  }

  DriverCode SetCurrent(Context context) override;
  DriverCode DestroyOther() override;
  DriverAnswer Allocate(std::size_t bytes) override { return Place(Kind::kPlain, bytes); }
  DriverAnswer AllocateManaged(std::size_t bytes) override { return Place(Kind::kManaged, bytes); }
  DriverAnswer AllocateHost(std::size_t bytes) override { return Place(Kind::kHost, bytes); }
  DriverCode Free(std::uint64_t address) override;
  std::size_t granule_bytes() const override { return kGranule; }
  DriverAnswer Reserve(std::size_t length_bytes) override;
  DriverAnswer Create(std::size_t length_bytes, bool rdma) override;
  DriverCode Map(std::uint64_t address, std::size_t length_bytes, std::uint64_t handle) override;
  DriverCode SetAccess(std::uint64_t address, std::size_t length_bytes) override;
  DriverCode Unmap(std::uint64_t address, std::size_t length_bytes) override;
  DriverCode Release(std::uint64_t handle) override;
  DriverCode Query(std::uint64_t address, PointerFacts& facts) override;
  DriverAnswer RangeBytes(std::uint64_t address) override;
  DriverAnswer ExportRange(std::uint64_t address, std::size_t length_bytes) override;
  DriverCode Store(std::uint64_t address, std::uint64_t word) override;
  DriverAnswer Load(std::uint64_t address) override;

 private:
  struct Mapping {
    Kind kind = Kind::kPlain;
    Context owner = Context::kPrimary;
    std::shared_ptr<Physical> physical;
    bool accessible = false;
  };
  using Mappings = std::map<std::uint64_t, Mapping>;  // by first address

  // What the calling thread's context is: a driver's number, which no other has, and its context.
  Context& Current() const {
    thread_local std::map<std::uint64_t, Context> contexts;
    return contexts.try_emplace(number_, Context::kNone).first->second;
  }
  // kSuccess, or what keeps this process, or this thread, from the driver.
  DriverCode MayCall() const {
    return getpid() == process_ ? DriverCode::kSuccess : DriverCode::kNotInitialized;
  }
  DriverCode MayUseContext() const {
    const DriverCode code = MayCall();
    if (code != DriverCode::kSuccess) return code;
    return Current() == Context::kNone ? DriverCode::kInvalidContext : DriverCode::kSuccess;
  }

  DriverAnswer Place(Kind kind, std::size_t length_bytes);
  // The mapping that holds the address, or the end.
  Mappings::iterator Find(std::uint64_t address);
  // The mappings that make up the range, from the first to after the last; nothing where it begins
  // or ends within one, or has a hole.
  std::pair<Mappings::iterator, Mappings::iterator> Whole(std::uint64_t address, std::size_t bytes);
  bool IsExportable(std::uint64_t address, std::size_t length_bytes);
  // The word's place on the host, null: the GPU has nothing there.
  std::byte* Word(std::uint64_t address);

  static inline std::atomic<std::uint64_t> last_number_{0};
  const std::uint64_t number_ = ++last_number_;
  const pid_t process_ = getpid();
  std::mutex mutex_;
  Mappings mappings_;
  std::map<std::uint64_t, std::size_t> reserved_;  // addresses to bytes
  std::map<std::uint64_t, std::shared_ptr<Physical>> handles_;
  std::uint64_t last_handle_ = 0;
};

// ---- Contexts ----

DriverCode HostDriver::SetCurrent(Context context) {
  const DriverCode code = MayCall();
  if (code == DriverCode::kSuccess) Current() = context;
  return code;
}

DriverCode HostDriver::DestroyOther() {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  std::erase_if(mappings_, [](const auto& mapping) {
    return mapping.second.owner == Context::kOther && mapping.second.kind != Kind::kVirtual;
  });
  return DriverCode::kSuccess;
}

// ---- Allocations ----

DriverAnswer HostDriver::Place(Kind kind, std::size_t length_bytes) {
  const DriverCode code = MayUseContext();
  if (code != DriverCode::kSuccess) return {code};
  if (length_bytes == 0) return {DriverCode::kInvalidValue};
  auto physical = Physical::Make(length_bytes, kind == Kind::kPlain);
  if (physical == nullptr) return {DriverCode::kOutOfMemory};
  // The host reaches memory of the last two kinds by the same address.
  const bool shared = kind == Kind::kManaged || kind == Kind::kHost;
  const std::uint64_t address =
      shared ? reinterpret_cast<std::uint64_t>(physical->at()) : ReserveAddresses(length_bytes);
  if (address == 0) return {DriverCode::kOutOfMemory};
  const std::lock_guard lock(mutex_);
  if (!shared) reserved_[address] = length_bytes;
  mappings_[address] = {kind, Current(), std::move(physical), true};
  return {DriverCode::kSuccess, address};
}

DriverCode HostDriver::Free(std::uint64_t address) {
  const DriverCode code = MayUseContext();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  const auto found = mappings_.find(address);
  if (found == mappings_.end() || found->second.kind == Kind::kVirtual ||
      found->second.kind == Kind::kHost) {
    return DriverCode::kInvalidValue;
  }
  mappings_.erase(found);
  // Its addresses stay reserved: a use after this is told, not answered by a later allocation.
  return DriverCode::kSuccess;
}

// ---- Virtual memory management ----

DriverAnswer HostDriver::Reserve(std::size_t length_bytes) {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return {code};
  if (length_bytes == 0 || length_bytes % kGranule != 0) return {DriverCode::kInvalidValue};
  const std::uint64_t address = ReserveAddresses(length_bytes);
  if (address == 0) return {DriverCode::kOutOfMemory};
  const std::lock_guard lock(mutex_);
  reserved_[address] = length_bytes;
  return {DriverCode::kSuccess, address};
}

DriverAnswer HostDriver::Create(std::size_t length_bytes, bool rdma) {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return {code};
  if (length_bytes == 0 || length_bytes % kGranule != 0) return {DriverCode::kInvalidValue};
  auto physical = Physical::Make(length_bytes, rdma);
  if (physical == nullptr) return {DriverCode::kOutOfMemory};
  const std::lock_guard lock(mutex_);
  handles_[++last_handle_] = std::move(physical);
  return {DriverCode::kSuccess, last_handle_};
}

DriverCode HostDriver::Map(std::uint64_t address, std::size_t length_bytes, std::uint64_t handle) {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  const auto physical = handles_.find(handle);
  if (physical == handles_.end() || physical->second->bytes() != length_bytes) {
    return DriverCode::kInvalidValue;
  }
  const auto after = reserved_.upper_bound(address);
  if (after == reserved_.begin()) return DriverCode::kInvalidValue;
  const auto& [begin, bytes] = *std::prev(after);
  const std::uint64_t offset = address - begin;
  const bool is_reserved =
      offset % kGranule == 0 && offset <= bytes && length_bytes <= bytes - offset;
  const auto next = mappings_.lower_bound(address);
  const bool is_free = Find(address) == mappings_.end() &&
                       (next == mappings_.end() || address + length_bytes <= next->first);
  if (!is_reserved || !is_free) return DriverCode::kInvalidValue;
  mappings_[address] = {Kind::kVirtual, Context::kPrimary, physical->second, false};
  return DriverCode::kSuccess;
}

DriverCode HostDriver::SetAccess(std::uint64_t address, std::size_t length_bytes) {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  auto [first, last] = Whole(address, length_bytes);
  if (first == last) return DriverCode::kInvalidValue;
  for (; first != last; ++first) first->second.accessible = true;
  return DriverCode::kSuccess;
}

DriverCode HostDriver::Unmap(std::uint64_t address, std::size_t length_bytes) {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  const auto [first, last] = Whole(address, length_bytes);
  if (first == last) return DriverCode::kInvalidValue;
  mappings_.erase(first, last);
  return DriverCode::kSuccess;
}

DriverCode HostDriver::Release(std::uint64_t handle) {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  return handles_.erase(handle) == 1 ? DriverCode::kSuccess : DriverCode::kInvalidValue;
}

// ---- Queries of a library that registers memory ----

HostDriver::Mappings::iterator HostDriver::Find(std::uint64_t address) {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.physical->bytes() ? found : mappings_.end();
}

std::pair<HostDriver::Mappings::iterator, HostDriver::Mappings::iterator> HostDriver::Whole(
    std::uint64_t address, std::size_t bytes) {
  const std::pair nothing(mappings_.end(), mappings_.end());
  const auto first = mappings_.find(address);
  auto last = first;
  std::uint64_t at = address;
  while (last != mappings_.end() && last->first == at && at < address + bytes) {
    if (last->second.kind != Kind::kVirtual) return nothing;
    at += last->second.physical->bytes();
    ++last;
  }
  return at == address + bytes ? std::pair(first, last) : nothing;
}

DriverCode HostDriver::Query(std::uint64_t address, PointerFacts& facts) {
  const DriverCode code = MayCall();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  const auto found = Find(address);
  facts = {};
  if (found == mappings_.end()) return DriverCode::kSuccess;
  const Mapping& mapping = found->second;
  facts = {.known = true,
           .of_device = mapping.kind != Kind::kHost,
           .managed = mapping.kind == Kind::kManaged,
           .rdma = mapping.physical->rdma()};
  return DriverCode::kSuccess;
}

DriverAnswer HostDriver::RangeBytes(std::uint64_t address) {
  const DriverCode code = MayUseContext();
  if (code != DriverCode::kSuccess) return {code};
  const std::lock_guard lock(mutex_);
  const auto found = Find(address);
  if (found == mappings_.end()) return {DriverCode::kInvalidValue};
  return {DriverCode::kSuccess, found->second.physical->bytes()};
}

bool HostDriver::IsExportable(std::uint64_t address, std::size_t length_bytes) {
  if (length_bytes == 0 || address % kHostPage != 0 || length_bytes % kHostPage != 0) return false;
  const auto first = Find(address);
  if (first == mappings_.end()) return false;
  if (first->second.kind == Kind::kManaged || first->second.kind == Kind::kHost) return false;
  const std::uint64_t end = address + length_bytes;
  if (end < address) return false;
  for (auto at = first;; ++at) {
    const std::uint64_t mapping_end = at->first + at->second.physical->bytes();
    if (mapping_end >= end) return true;
    // Only mappings join; two allocations that happen to be neighbours do not.
    const auto next = std::next(at);
    if (next == mappings_.end() || next->first != mapping_end) return false;
    if (at->second.kind != Kind::kVirtual || next->second.kind != Kind::kVirtual) return false;
  }
}

DriverAnswer HostDriver::ExportRange(std::uint64_t address, std::size_t length_bytes) {
  const DriverCode code = MayUseContext();
  if (code != DriverCode::kSuccess) return {code};
  const std::lock_guard lock(mutex_);
  if (!IsExportable(address, length_bytes)) return {DriverCode::kInvalidValue};
  const int fd = memfd_create("drydock-device-dmabuf", MFD_CLOEXEC);
  if (fd < 0) return {DriverCode::kOutOfMemory};
  if (ftruncate(fd, static_cast<off_t>(length_bytes)) != 0) {
    close(fd);
    return {DriverCode::kOutOfMemory};
  }
  return {DriverCode::kSuccess, static_cast<std::uint64_t>(fd)};
}

std::byte* HostDriver::Word(std::uint64_t address) {
  const auto found = Find(address);
  if (found == mappings_.end() || !found->second.accessible) return nullptr;
  const std::uint64_t offset = address - found->first;
  if (found->second.physical->bytes() - offset < sizeof(std::uint64_t)) return nullptr;
  return found->second.physical->at() + offset;
}

DriverCode HostDriver::Store(std::uint64_t address, std::uint64_t word) {
  const DriverCode code = MayUseContext();
  if (code != DriverCode::kSuccess) return code;
  const std::lock_guard lock(mutex_);
  std::byte* const at = Word(address);
  if (at == nullptr) return DriverCode::kInvalidValue;
  std::memcpy(at, &word, sizeof word);
  return DriverCode::kSuccess;
}

DriverAnswer HostDriver::Load(std::uint64_t address) {
  const DriverCode code = MayUseContext();
  if (code != DriverCode::kSuccess) return {code};
  const std::lock_guard lock(mutex_);
  const std::byte* const at = Word(address);
  if (at == nullptr) return {DriverCode::kInvalidValue};
  DriverAnswer word;
  std::memcpy(&word.value, at, sizeof word.value);
  return word;
}

}  // namespace

std::unique_ptr<MemoryDriver> OpenHostDriver() { return std::make_unique<HostDriver>(); }

}  // namespace drydock::gpu
