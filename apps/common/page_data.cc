#include "drydock/apps/common/page_data.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/keyed_bytes.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps {
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
    coro::FillKeyed(region->bytes().first(length_bytes), seed);
    return absl::OkStatus();
  }
  absl::StatusOr<Verification> Check(const PageList& list,
                                     const std::array<BufferRef, kRegionCount>& regions) override {
    return Verify(list, {regions[0]->bytes(), regions[1]->bytes()});
  }
};

}  // namespace

std::vector<std::uint32_t> ScatteredPages(std::uint64_t count, std::uint64_t pages,
                                          std::uint64_t seed) {
  std::vector<std::uint32_t> indices(pages);
  std::iota(indices.begin(), indices.end(), 0u);
  // Not std::shuffle: its use of a generator differs between standard libraries.
  std::mt19937_64 generator(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::swap(indices[i], indices[i + generator() % (pages - i)]);
  }
  indices.resize(count);
  return indices;
}

Verification Verify(const PageList& list,
                    const std::array<std::span<const std::byte>, kRegionCount>& regions) {
  Verification result;
  std::vector<std::byte> expected(list.page_bytes * list.page_indices.size());
  for (std::size_t region = 0; region < regions.size(); ++region) {
    coro::FillKeyed(expected, list.data_seed + region);
    for (std::size_t k = 0; k < list.page_indices.size(); ++k) {
      const std::uint32_t page = list.page_indices[k];
      const std::byte* const arrived = regions[region].data() + page * list.page_bytes;
      const std::byte* const wanted = expected.data() + k * list.page_bytes;
      ++result.pages;
      if (std::memcmp(arrived, wanted, list.page_bytes) != 0) {
        result.wrong_pages[region].push_back(page);
      }
    }
  }
  return result;
}

absl::Status CheckPageSize(std::uint64_t page_bytes, std::uint64_t region_bytes) {
  if (page_bytes != 0 && page_bytes <= region_bytes && region_bytes % page_bytes == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("page size ", page_bytes,
                                                 " does not divide the region of ", region_bytes,
                                                 " bytes (", FormatBytes(region_bytes), ")"));
}

absl::Status CheckPages(const PageList& list, std::uint64_t region_bytes) {
  RETURN_IF_ERROR(CheckPageSize(list.page_bytes, region_bytes));
  const std::uint64_t pages = region_bytes / list.page_bytes;
  if (list.page_indices.empty()) return absl::InvalidArgumentError("no pages are asked for");
  if (list.page_indices.size() > pages) {
    return absl::InvalidArgumentError(
        absl::StrCat(list.page_indices.size(), " pages are asked for: a region has ", pages));
  }
  std::vector<bool> seen(pages);
  for (const std::uint32_t index : list.page_indices) {
    if (index >= pages) {
      return absl::InvalidArgumentError(absl::StrCat(
          "page index ", index, " is past the region, which has ", FormatCount(pages, "page")));
    }
    if (seen[index]) {
      return absl::InvalidArgumentError(absl::StrCat("page ", index, " comes twice"));
    }
    seen[index] = true;
  }
  return absl::OkStatus();
}

std::string DescribePages(const std::vector<std::uint32_t>& pages) {
  constexpr std::size_t kShown = 16;
  const std::size_t shown = std::min(pages.size(), kShown);
  std::string text =
      absl::StrJoin(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
  if (shown < pages.size()) absl::StrAppend(&text, " and ", pages.size() - shown, " more");
  return text;
}

std::string Describe(const Verification& verification) {
  if (verification.correct()) return "Data is correct";
  std::string text = absl::StrCat("Data is wrong: ", verification.wrong(), " of ",
                                  FormatCount(verification.pages, "page"));
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

}  // namespace drydock::apps
