#include "drydock/testing/benchmarks/bare_paths.h"

#include <array>
#include <cstring>
#include <string>

#include "benchmark/benchmark.h"
#include "drydock/testing/benchmarks/write_loop.h"

namespace drydock::bench {
namespace {

class MemcpyPath final : public WritePath {
 public:
  explicit MemcpyPath(const Buffers& buffers) : buffers_(buffers) {}

  std::string name() const override { return "memcpy"; }

  absl::Status Write(const Shape& shape, std::uint64_t count) override {
    for (std::uint64_t done = 0; done < count; done += shape.window) {
      for (std::size_t slot = 0; slot < shape.window; ++slot) {
        const std::size_t offset = slot * shape.bytes;
        std::memcpy(buffers_.target() + offset, buffers_.source() + offset, shape.bytes);
        benchmark::ClobberMemory();
      }
    }
    return absl::OkStatus();
  }

 private:
  const Buffers& buffers_;
};

struct alignas(64) WorkRequest {
  std::uint16_t id;
  std::uint16_t opcode;
  std::uint32_t immediate;
  std::uint32_t length;
  std::uint32_t remote_key;
  std::uint64_t remote_address;
  std::uint64_t local_address;
  std::array<std::uint64_t, 4> rest;  // destination, local key, reserved
};
static_assert(sizeof(WorkRequest) == 64);

struct alignas(32) Entry {
  std::uint16_t id;
  std::uint8_t status;
  std::uint8_t phase;
  std::uint32_t immediate;
  std::uint32_t length;
};
static_assert(sizeof(Entry) == 32);

struct Key {
  std::uint64_t address;
  std::uint64_t length;
  std::uint32_t key;
  bool remote_write;
};

// A completion ring of one writer and one reader.
class Ring {
 public:
  void Push(std::uint16_t id, std::uint32_t immediate, std::uint32_t length) {
    Entry& entry = entries_[written_ % kEntries];
    entry.id = id;
    entry.status = 0;
    entry.immediate = immediate;
    entry.length = length;
    entry.phase = Phase(written_++);
    benchmark::ClobberMemory();
  }

  bool Poll(Found& found) {
    for (;;) {
      benchmark::ClobberMemory();
      const Entry& entry = entries_[read_ % kEntries];
      if (entry.phase != Phase(read_)) return true;
      ++read_;
      if (entry.status != 0) [[unlikely]]
        return false;
      found.names += entry.id + entry.immediate;  // one of them is 0
      found.bytes += entry.length;
      ++found.completions;
    }
  }

 private:
  static constexpr std::size_t kEntries = 256;

  // Flips with each turn of the ring; an entry that was never written has phase 0.
  static std::uint8_t Phase(std::uint64_t number) { return (number / kEntries + 1) & 1; }

  std::array<Entry, kEntries> entries_{};
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;
};

class FloorPath final : public WritePath {
 public:
  explicit FloorPath(const Buffers& buffers) : buffers_(buffers) {
    keys_[kKey % kKeys] = {Address(buffers.target()), buffers.length_bytes(), kKey, true};
  }

  std::string name() const override { return "floor: bare loop"; }

  absl::Status Write(const Shape& shape, std::uint64_t count) override {
    return WriteInWindows(*this, shape, count);
  }

  PostOutcome Post(std::size_t slot, std::size_t bytes) {
    WorkRequest& request = requests_[posted_++ % kRequests];
    request.id = static_cast<std::uint16_t>(slot);
    request.opcode = 1;
    request.immediate = static_cast<std::uint32_t>(slot);
    request.length = static_cast<std::uint32_t>(bytes);
    request.remote_key = kKey;
    request.remote_address = Address(buffers_.target()) + slot * bytes;
    request.local_address = Address(buffers_.source()) + slot * bytes;
    request.rest = {};
    benchmark::ClobberMemory();
    return Serve(request);
  }
  bool PollInitiator(Found& found) { return initiator_.Poll(found); }
  bool PollTarget(Found& found) { return target_.Poll(found); }
  void Idle() {}
  absl::Status error() const { return absl::InternalError("the floor refused a write"); }

 private:
  static constexpr std::uint32_t kKey = 0x00c0ffee;
  static constexpr std::size_t kKeys = 64;
  static constexpr std::size_t kRequests = 64;

  static std::uint64_t Address(const std::byte* bytes) {
    return reinterpret_cast<std::uint64_t>(bytes);
  }

  // What the device does with a work request.
  PostOutcome Serve(const WorkRequest& request) {
    const Key& key = keys_[request.remote_key % kKeys];
    const std::uint64_t offset = request.remote_address - key.address;
    if (key.key != request.remote_key || !key.remote_write || offset > key.length ||
        request.length > key.length - offset) {
      return PostOutcome::kFailed;
    }
    std::memcpy(reinterpret_cast<void*>(request.remote_address),
                reinterpret_cast<const void*>(request.local_address), request.length);
    target_.Push(0, request.immediate, request.length);
    initiator_.Push(request.id, 0, request.length);
    return PostOutcome::kPosted;
  }

  const Buffers& buffers_;
  std::array<Key, kKeys> keys_{};
  std::array<WorkRequest, kRequests> requests_{};
  std::uint64_t posted_ = 0;
  Ring initiator_;
  Ring target_;
};

}  // namespace

std::unique_ptr<WritePath> MakeMemcpyPath(const Buffers& buffers) {
  return std::make_unique<MemcpyPath>(buffers);
}

std::unique_ptr<WritePath> MakeFloorPath(const Buffers& buffers) {
  return std::make_unique<FloorPath>(buffers);
}

}  // namespace drydock::bench
