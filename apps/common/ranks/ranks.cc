#include "drydock/apps/common/ranks/ranks.h"

#include <utility>

#include "drydock/coro/status_macros.h"

namespace drydock::apps {

coro::Task<absl::StatusOr<Gathered>> Ranks::AllGather(std::vector<std::byte> mine,
                                                      coro::Time deadline) {
  CO_RETURN_IF_ERROR(apart_);
  absl::StatusOr<Gathered> all = co_await Gather(std::move(mine), deadline);
  apart_ = all.status();
  co_return all;
}

coro::Task<absl::StatusOr<std::vector<std::string>>> Ranks::AllGatherText(std::string mine,
                                                                          coro::Time deadline) {
  const auto* const begin = reinterpret_cast<const std::byte*>(mine.data());
  std::vector<std::byte> bytes(begin, begin + mine.size());
  CO_ASSIGN_OR_RETURN(const Gathered all, co_await AllGather(std::move(bytes), deadline));
  std::vector<std::string> texts;
  for (const std::vector<std::byte>& given : all) {
    texts.emplace_back(reinterpret_cast<const char*>(given.data()), given.size());
  }
  co_return texts;
}

}  // namespace drydock::apps
