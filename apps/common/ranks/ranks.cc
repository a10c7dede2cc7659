#include "drydock/apps/common/ranks/ranks.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/printable.h"

namespace drydock::apps {
namespace {

constexpr std::byte kText{1};
constexpr std::byte kError{2};
constexpr std::size_t kMostErrorBytes = 500;  // of another rank's error, in a line of this one

}  // namespace

coro::Task<absl::StatusOr<Gathered>> Ranks::AllGather(std::vector<std::byte> mine,
                                                      coro::Time deadline) {
  has_given_ = true;
  CO_RETURN_IF_ERROR(apart_);
  absl::StatusOr<Gathered> all = co_await Gather(std::move(mine), deadline);
  apart_ = all.status();
  co_return all;
}

coro::Task<absl::StatusOr<std::vector<std::string>>> Ranks::AllGatherText(
    absl::StatusOr<std::string> mine, coro::Time deadline) {
  // What it is, then the text, or the error's.
  const absl::string_view said = mine.ok() ? *mine : mine.status().message();
  std::vector<std::byte> bytes = {mine.ok() ? kText : kError};
  const auto* const begin = reinterpret_cast<const std::byte*>(said.data());
  bytes.insert(bytes.end(), begin, begin + said.size());
  const absl::StatusOr<Gathered> all = co_await AllGather(std::move(bytes), deadline);
  CO_RETURN_IF_ERROR(mine.status());
  CO_RETURN_IF_ERROR(all.status());
  std::vector<std::string> texts;
  for (const std::vector<std::byte>& given : *all) {
    const std::size_t rank = texts.size();
    if (given.empty() || (given[0] != kText && given[0] != kError)) {
      co_return absl::InvalidArgumentError(
          absl::StrCat("hear of rank ", rank, ": it gave no text"));
    }
    const absl::string_view text(reinterpret_cast<const char*>(given.data()) + 1, given.size() - 1);
    if (given[0] == kError) {
      co_return absl::UnavailableError(
          absl::StrCat("rank ", rank, " cannot go on: ", fabric::Printable(text, kMostErrorBytes)));
    }
    texts.emplace_back(text);
  }
  co_return texts;
}

}  // namespace drydock::apps
