// Test helper: entries as hexadecimal text, so that expected bytes can be read in the test and a
// difference in its failure.

#ifndef DRYDOCK_FABRIC_EFA_QUEUE_TESTING_HEX_H_
#define DRYDOCK_FABRIC_EFA_QUEUE_TESTING_HEX_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace drydock::fabric::efa_queue {

// Room for any entry, or for a few of the small ones, aligned as rings are.
struct alignas(8) Image {
  std::uint8_t bytes[128] = {};

  std::uint8_t& operator[](std::size_t offset) { return bytes[offset]; }
  void* data() { return bytes; }
  const void* data() const { return bytes; }
};

// Two digits a byte; rows of 16 bytes with a space after every four.
inline std::string ToHex(const void* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    if (i != 0) text += i % 16 == 0 ? "\n" : i % 4 == 0 ? " " : "";
    const std::uint8_t byte = static_cast<const std::uint8_t*>(bytes)[i];
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// The bytes of such text, whose white space means nothing; zeros after its end.
inline Image FromHex(std::string_view text) {
  Image image;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const int value = c <= '9' ? c - '0' : c - 'a' + 10;
    std::uint8_t& byte = image.bytes[digits / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
    ++digits;
  }
  return image;
}

}  // namespace drydock::fabric::efa_queue

#endif  // DRYDOCK_FABRIC_EFA_QUEUE_TESTING_HEX_H_
