#include "apps/write/data.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/common/random_data.h"

namespace apps::write {
namespace {

using fabric::async::BufferRef;

class HostDataMemory final : public DataMemory {
 public:
  std::size_t word_bytes() const override { return 1; }
  absl::StatusOr<BufferRef> Allocate(fabric::async::Node& node, std::size_t length_bytes) override {
    return node.Allocate(length_bytes);
  }
  absl::Status Fill(const BufferRef& region, std::size_t length_bytes,
                    std::uint64_t seed) override {
    FillRandom(region->bytes().first(length_bytes), seed);
    return absl::OkStatus();
  }
  absl::StatusOr<Verification> Check(const RandomFillMessage& request,
                                     const std::array<BufferRef, kRegionCount>& regions) override {
    return Verify(request, {regions[0]->bytes(), regions[1]->bytes()});
  }
};

}  // namespace

Verification Verify(const RandomFillMessage& request,
                    const std::array<std::span<const std::byte>, kRegionCount>& regions) {
  Verification result;
  std::vector<std::byte> expected(request.page_bytes * request.page_indices.size());
  for (std::size_t region = 0; region < regions.size(); ++region) {
    FillRandom(expected, request.data_seed + region);
    for (std::size_t k = 0; k < request.page_indices.size(); ++k) {
      const std::uint32_t page = request.page_indices[k];
      const std::byte* const arrived = regions[region].data() + page * request.page_bytes;
      const std::byte* const wanted = expected.data() + k * request.page_bytes;
      ++result.pages;
      if (std::memcmp(arrived, wanted, request.page_bytes) != 0) {
        result.wrong_pages[region].push_back(page);
      }
    }
  }
  return result;
}

std::string Describe(const Verification& verification) {
  if (verification.correct()) return "Data is correct";
  std::string text =
      absl::StrCat("Data is wrong: ", verification.wrong(), " of ", verification.pages, " pages");
  for (std::size_t region = 0; region < kRegionCount; ++region) {
    const auto& pages = verification.wrong_pages[region];
    if (pages.empty()) continue;
    absl::StrAppend(&text, "\n  region ", region, ": page", pages.size() == 1 ? " " : "s ",
                    absl::StrJoin(pages, ", "));
  }
  return text;
}

DataMemory& HostData() {
  static HostDataMemory memory;
  return memory;
}

}  // namespace apps::write
