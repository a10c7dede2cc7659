// Did every page arrive, and which did not?

#ifndef APPS_WRITE_VERIFICATION_H_
#define APPS_WRITE_VERIFICATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/write/messages.h"

namespace apps::write {

// Wrong pages by region, in the order in which they were asked for.
struct Verification {
  std::array<std::vector<std::uint32_t>, kRegionCount> wrong_pages;
  std::size_t pages = 0;  // that were looked at

  std::size_t wrong() const { return wrong_pages[0].size() + wrong_pages[1].size(); }
  bool correct() const { return wrong() == 0; }

  friend bool operator==(const Verification&, const Verification&) = default;
};

// Compares what is in the client's regions with what the request asked for.
Verification Verify(const RandomFillMessage& request,
                    const std::array<std::span<const std::byte>, kRegionCount>& regions);

// "Data is correct", or how many pages are wrong and which.
std::string Describe(const Verification& verification);

}  // namespace apps::write

#endif  // APPS_WRITE_VERIFICATION_H_
