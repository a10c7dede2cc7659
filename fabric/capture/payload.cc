#include "drydock/fabric/capture/payload.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/fabric/capture/bytes_digest.h"

namespace drydock::fabric::capture {
namespace {

std::string Base64(std::span<const std::byte> bytes) {
  return absl::Base64Escape(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string DataMember(absl::string_view base64) {
  return absl::StrCat("\"data\":\"", base64, "\"");
}

bool AllZero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes[0] == std::byte{} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

bool Payload::Reserve(std::uint64_t bytes) {
  if (bytes > most_bytes_ - taken_) {
    complete_ = false;
    return false;
  }
  taken_ += bytes;
  return true;
}

bool Payload::IsDevices(const LocalBuffer& buffer) const {
  return std::any_of(devices_.begin(), devices_.end(), [&](const auto& device) {
    const Bytes& bytes = device.second;
    return buffer.data >= bytes.data() && buffer.data < bytes.data() + bytes.size();
  });
}

// ---- Regions ----

std::string Payload::Opened(const void* region, const MemoryRequest& request) {
  const std::lock_guard lock(mutex_);
  const Bytes bytes(request.data, request.length_bytes);
  if (request.kind != MemoryKind::kSystem) {
    devices_[region] = bytes;
    complete_ = false;
    return "";
  }
  regions_[region] = bytes;
  if (AllZero(bytes)) return "\"zero\":true";
  return Reserve(bytes.size()) ? DataMember(Base64(bytes)) : "";
}

std::string Payload::Closed(const void* region) {
  Bytes bytes;
  {
    const std::lock_guard lock(mutex_);
    devices_.erase(region);
    const auto found = regions_.find(region);
    if (found == regions_.end()) return "";
    bytes = found->second;
    regions_.erase(found);
  }
  return absl::StrCat("\"digest\":\"", DigestOf(bytes), "\"");
}

// ---- Operations ----

std::string Payload::Sent(const LocalBuffer& first, MoreSegments more) {
  const std::lock_guard lock(mutex_);
  std::uint64_t length = first.length_bytes;
  bool readable = !IsDevices(first);
  for (const LocalBuffer& segment : more) {
    length += segment.length_bytes;
    readable = readable && !IsDevices(segment);
  }
  if (length == 0) return "";
  if (!readable) complete_ = false;
  if (!readable || !Reserve(length)) return "";
  if (more.empty()) return DataMember(Base64({first.data, first.length_bytes}));
  std::string all(reinterpret_cast<const char*>(first.data), first.length_bytes);
  for (const LocalBuffer& segment : more) {
    all.append(reinterpret_cast<const char*>(segment.data), segment.length_bytes);
  }
  return DataMember(absl::Base64Escape(all));
}

void Payload::Reads(std::uint16_t node, std::uint64_t op, const LocalBuffer& target) {
  const std::lock_guard lock(mutex_);
  if (IsDevices(target)) {
    complete_ = false;
  } else if (target.length_bytes > 0) {
    reads_[{node, op}] = target;
  }
}

std::string Payload::Got(std::uint16_t node, std::uint64_t op, bool ok) {
  const std::lock_guard lock(mutex_);
  const auto found = reads_.find({node, op});
  if (found == reads_.end()) return "";
  const LocalBuffer target = found->second;
  reads_.erase(found);
  if (!ok || !Reserve(target.length_bytes)) return "";
  return absl::StrCat("{\"op\":", op, ",", DataMember(Base64({target.data, target.length_bytes})),
                      "}");
}

std::uint64_t Payload::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

bool Payload::complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

std::string Payload::Summary() const {
  const std::lock_guard lock(mutex_);
  return absl::StrCat("\"data\":{\"limit\":", most_bytes_, ",\"bytes\":", taken_,
                      ",\"complete\":", complete_ ? "true" : "false", "}");
}

}  // namespace drydock::fabric::capture
