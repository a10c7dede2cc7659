#include "drydock/sim/efa_address.h"

#include <algorithm>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace drydock::sim {
namespace {

constexpr std::size_t kQueuePairOffset = 16;
constexpr std::size_t kQkeyOffset = 20;

}  // namespace

fabric::Address EfaAddress::Encode() const {
  std::array<std::uint8_t, fabric::Address::kEfaBytes> bytes{};
  std::copy(gid.begin(), gid.end(), bytes.begin());
  for (std::size_t i = 0; i < 2; ++i) {
    bytes[kQueuePairOffset + i] = static_cast<std::uint8_t>(queue_pair >> (8 * i));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[kQkeyOffset + i] = static_cast<std::uint8_t>(qkey >> (8 * i));
  }
  return *fabric::Address::FromBytes(bytes);
}

absl::StatusOr<EfaAddress> EfaAddress::Decode(const fabric::Address& address) {
  const std::span<const std::uint8_t> bytes = address.bytes();
  if (bytes.size() != fabric::Address::kEfaBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("address has ", bytes.size(), " bytes: an EFA address has ",
                     fabric::Address::kEfaBytes, " (64 hexadecimal digits)"));
  }
  EfaAddress decoded;
  std::copy_n(bytes.begin(), decoded.gid.size(), decoded.gid.begin());
  if (decoded.gid == Gid{}) return absl::InvalidArgumentError("address has a GID of zeros");
  for (std::size_t i = 0; i < 2; ++i) {
    decoded.queue_pair =
        static_cast<std::uint16_t>(decoded.queue_pair | (bytes[kQueuePairOffset + i] << (8 * i)));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    decoded.qkey |= static_cast<std::uint32_t>(bytes[kQkeyOffset + i]) << (8 * i);
  }
  return decoded;
}

}  // namespace drydock::sim
