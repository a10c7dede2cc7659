// Messages as bytes: little-endian numbers, written and read one after the other. The reader trusts
// nothing.

#ifndef DRYDOCK_APPS_COMMON_WIRE_H_
#define DRYDOCK_APPS_COMMON_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

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
  void Bytes(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) bytes_.push_back(static_cast<std::byte>(byte));
  }

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

  bool ok() const { return ok_; }
  std::size_t remaining() const { return rest_.size(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_WIRE_H_
