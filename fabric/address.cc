#include "drydock/fabric/address.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace drydock::fabric {
namespace {

// Value of a hexadecimal digit, or -1.
int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

absl::StatusOr<Address> Address::FromBytes(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("address is empty");
  if (bytes.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("address has ", bytes.size(), " bytes: at most ", kMaxBytes, " are possible"));
  }
  Address address;
  std::copy(bytes.begin(), bytes.end(), address.bytes_.begin());
  address.size_ = bytes.size();
  return address;
}

absl::StatusOr<Address> Address::Parse(absl::string_view hex) {
  for (std::size_t i = 0; i < hex.size(); ++i) {
    if (DigitValue(hex[i]) >= 0) continue;
    const unsigned char c = static_cast<unsigned char>(hex[i]);
    const std::string shown = absl::ascii_isprint(c) ? absl::StrCat("'", hex.substr(i, 1), "'")
                                                     : absl::StrCat("byte ", c);
    return absl::InvalidArgumentError(absl::StrCat("address has ", shown, " at position ", i,
                                                   ": only hexadecimal digits are allowed"));
  }
  if (hex.empty()) return absl::InvalidArgumentError("address is empty");
  if (hex.size() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("address has ", hex.size(), " hexadecimal digits: the number must be even"));
  }
  if (hex.size() / 2 > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat("address has ", hex.size(),
                                                   " hexadecimal digits: at most ", 2 * kMaxBytes,
                                                   " are possible"));
  }
  Address address;
  address.size_ = hex.size() / 2;
  for (std::size_t i = 0; i < address.size_; ++i) {
    address.bytes_[i] =
        static_cast<std::uint8_t>(DigitValue(hex[2 * i]) * 16 + DigitValue(hex[2 * i + 1]));
  }
  return address;
}

std::string Address::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * size_);
  for (const std::uint8_t byte : bytes()) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

}  // namespace drydock::fabric
