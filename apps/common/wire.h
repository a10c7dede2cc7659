// Messages as bytes: little-endian numbers and parts of any length, written and read one after the
// other. The reader trusts nothing.

#ifndef DRYDOCK_APPS_COMMON_WIRE_H_
#define DRYDOCK_APPS_COMMON_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"

namespace drydock::apps {

class WireWriter {
 public:
  template <typename T>
  void Number(T value) {
    static_assert(std::is_unsigned_v<T>);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
  }
  // So many bytes, their number before them. REQUIRES: less than 4 GiB.
  void Part(std::span<const std::byte> bytes) {
    Number(static_cast<std::uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void Part(absl::string_view text) { Part(std::as_bytes(std::span(text))); }

  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reading past the end yields zeros and makes ok() false: check once, at the end.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T Number() {
    static_assert(std::is_unsigned_v<T>);
    T value = 0;
    const std::span<const std::byte> bytes = Bytes(sizeof(T));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[i]) << (8 * i)));
    }
    return value;
  }
  // What Part wrote; empty when it is cut off. Text is a peer's: fabric::Printable, where a person
  // reads it.
  std::span<const std::byte> Part() { return Bytes(Number<std::uint32_t>()); }
  absl::string_view Text() {
    const std::span<const std::byte> part = Part();
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

  bool ok() const { return ok_; }
  std::size_t remaining() const { return rest_.size(); }

 private:
  // Empty when there are not so many.
  std::span<const std::byte> Bytes(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::span<const std::byte> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_WIRE_H_
