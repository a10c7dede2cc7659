#include "drydock/apps/blocks/store.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps::blocks {
namespace {

// Copies half, waits, and copies the rest, as a disk would: a reader that does not hold the block
// sees both versions in it.
coro::Task<void> CopyInHalves(const Words& from, Words& to, coro::Duration service) {
  constexpr std::size_t kHalf = kWords / 2;
  std::copy_n(from.begin(), kHalf, to.begin());
  co_await coro::Sleep(service);
  std::copy(from.begin() + kHalf, from.end(), to.begin() + kHalf);
  co_await coro::Sleep(service);
}

}  // namespace

Words WordsOf(std::uint64_t block, std::uint64_t version) {
  Words words;
  for (std::size_t i = 0; i < kWords; ++i) words[i] = (block << 32) + (version << 8) + i;
  return words;
}

Store::Store(std::size_t blocks, coro::Duration service) : service_(service) {
  for (std::size_t i = 0; i < blocks; ++i) blocks_.emplace_back().words = WordsOf(i, 0);
}

void Store::Answer(fabric::async::RequestServer& server) {
  server.Handle<ReadBlock, BlockData>([this](ReadBlock request) { return Read(request); });
  server.Handle<BlockData, Written>([this](BlockData data) { return Write(data); });
}

absl::StatusOr<Store::Block*> Store::Find(std::uint64_t number) {
  if (number < blocks_.size()) return &blocks_[number];
  return absl::OutOfRangeError(absl::StrCat("no block ", number, ": there are ", blocks_.size()));
}

coro::Task<absl::StatusOr<BlockData>> Store::Read(ReadBlock request) {
  CO_ASSIGN_OR_RETURN(Block* const block, Find(request.block));
  const coro::Mutex::Guard held = co_await block->mutex.Lock();
  BlockData data{.block = request.block, .version = block->version};
  co_await CopyInHalves(block->words, data.words, service_);
  co_return data;
}

coro::Task<absl::StatusOr<Written>> Store::Write(BlockData data) {
  CO_ASSIGN_OR_RETURN(Block* const block, Find(data.block));
  const coro::Mutex::Guard held = co_await block->mutex.Lock();
  if (data.version <= block->version) {
    co_return absl::FailedPreconditionError(
        absl::StrCat("block ", data.block, " is at version ", block->version));
  }
  co_await CopyInHalves(data.words, block->words, service_);
  block->version = data.version;
  co_return Written{block->version};
}

}  // namespace drydock::apps::blocks
