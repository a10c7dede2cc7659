// The bytes that a trace captures, so that it can be replayed: those that were sent and written,
// those that reads got, the first content of regions, and a digest of their last.
//
//   Payload payload(/*most_bytes=*/16 << 20);
//   event.text = recorder.Text(payload.Sent(request.buffer, request.more), /*flight=*/false);
//
// All answers are members of a JSON object, empty where there is nothing to tell: bytes over the
// limit, or of a device, which the host must not touch.

#ifndef DRYDOCK_FABRIC_CAPTURE_PAYLOAD_H_
#define DRYDOCK_FABRIC_CAPTURE_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "drydock/fabric/memory.h"
#include "drydock/fabric/operation.h"

namespace drydock::fabric::capture {

// Thread-safe. Looks at memory only while its owner calls, or has a read under way.
class Payload {
 public:
  // Takes at most so many bytes, all kinds together.
  explicit Payload(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // --- Regions; `region` is any address that stands for it ---
  // "zero":true, or "data".
  std::string Opened(const void* region, const MemoryRequest& request);
  // "digest". The memory is still there.
  std::string Closed(const void* region);

  // --- Operations ---
  // "data" of a request that was posted just now.
  std::string Sent(const LocalBuffer& first, MoreSegments more);
  // The read will put its bytes there.
  void Reads(std::uint16_t node, std::uint64_t op, const LocalBuffer& target);
  // {"op":N,"data":"..."} of a read that has ended; empty for other operations.
  std::string Got(std::uint16_t node, std::uint64_t op, bool ok);

  std::uint64_t most_bytes() const { return most_bytes_; }
  // Bytes that were taken, and whether these were all.
  std::uint64_t taken() const;
  bool complete() const;
  // "data" of a trace's otherData: the limit, what was taken, and whether it was all.
  std::string Summary() const;

 private:
  using Bytes = std::span<const std::byte>;

  // Whether there is room for so many, which is then taken.
  bool Reserve(std::uint64_t bytes);
  bool IsDevices(const LocalBuffer& buffer) const;

  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;  // of what follows
  std::uint64_t taken_ = 0;
  bool complete_ = true;
  std::map<const void*, Bytes> regions_;
  std::map<const void*, Bytes> devices_;  // of these nothing is read
  std::map<std::pair<std::uint16_t, std::uint64_t>, LocalBuffer> reads_;
};

}  // namespace drydock::fabric::capture

#endif  // DRYDOCK_FABRIC_CAPTURE_PAYLOAD_H_
