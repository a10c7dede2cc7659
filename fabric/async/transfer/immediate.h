// The immediate of a page: which transfer, and which page of it.
//
// A page that was re-issued because its NIC died may arrive twice, and only the receiver can
// notice. So an immediate names its page, and the receiver counts distinct pages (arrivals.h).

#ifndef DRYDOCK_FABRIC_ASYNC_TRANSFER_IMMEDIATE_H_
#define DRYDOCK_FABRIC_ASYNC_TRANSFER_IMMEDIATE_H_

#include <cstdint>

namespace drydock::fabric::async::transfer {

// The 32 bits of an immediate: 12 name the transfer, 20 the page.
inline constexpr std::uint32_t kPageBits = 20;
inline constexpr std::uint32_t kMostPages = std::uint32_t{1} << kPageBits;
inline constexpr std::uint32_t kMostTransfers = std::uint32_t{1} << (32 - kPageBits);

// REQUIRES: transfer < kMostTransfers, page < kMostPages.
constexpr std::uint32_t MakeImmediate(std::uint32_t transfer, std::uint32_t page) {
  return transfer << kPageBits | page;
}
constexpr std::uint32_t TransferOf(std::uint32_t immediate) { return immediate >> kPageBits; }
constexpr std::uint32_t PageOf(std::uint32_t immediate) { return immediate & (kMostPages - 1); }

}  // namespace drydock::fabric::async::transfer

#endif  // DRYDOCK_FABRIC_ASYNC_TRANSFER_IMMEDIATE_H_
