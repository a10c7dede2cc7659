#include "drydock/apps/affinity/lane.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "drydock/apps/common/nic_choice.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/operation.h"

namespace drydock::apps::affinity {
namespace {

using fabric::Capability;
using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::ImmediateCounter;
using fabric::async::OperationOptions;

constexpr std::array kNeeded = {Capability::kRemoteWrite, Capability::kImmediateData};

// Announces every write: the only way to know that all of them have arrived.
constexpr std::uint32_t kArrived = 0xaff;

// Every word is another one, on its page and beside other pages.
void Fill(std::span<std::byte> bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(word)) {
    word += 0x9e3779b97f4a7c15ull;
    std::memcpy(bytes.data() + i, &word, std::min(sizeof(word), bytes.size() - i));
  }
}

}  // namespace

std::size_t BytesOf(const Load& load) {
  return std::max(load.window * load.page_bytes, kSmallBytes);
}

double Gbps(const Load& load, coro::Duration took) {
  if (took <= coro::Duration::zero()) return 0;
  return 8.0 * static_cast<double>(load.pages * load.page_bytes) /
         static_cast<double>(took.count());
}

absl::StatusOr<std::unique_ptr<Lane>> Lane::Open(coro::EventLoop& loop, fabric::Fabric& from,
                                                 fabric::Fabric& to, std::size_t nic,
                                                 const Load& load, Pages source, Pages target) {
  std::unique_ptr<Lane> lane(new Lane(load, std::move(source), std::move(target)));
  Fill(lane->source_pages_.bytes());
  std::memset(lane->target_pages_.bytes().data(), 0, lane->target_pages_.bytes().size());
  ASSIGN_OR_RETURN(lane->from_, fabric::async::Node::Open(loop, from, nic));
  RETURN_IF_ERROR(RequireCapabilities(lane->from_->nic(), kNeeded));
  ASSIGN_OR_RETURN(lane->to_, fabric::async::Node::Open(loop, to, nic));
  ASSIGN_OR_RETURN(lane->source_, lane->from_->Register(lane->source_pages_.bytes()));
  ASSIGN_OR_RETURN(lane->target_, lane->to_->Register(lane->target_pages_.bytes()));
  // On EFA the target has to know the initiator, too.
  RETURN_IF_ERROR(lane->to_->peers().Insert(lane->from_->endpoint().address()).status());
  ASSIGN_OR_RETURN(lane->peer_, lane->from_->peers().Insert(lane->to_->endpoint().address()));
  return lane;
}

coro::Task<absl::StatusOr<coro::Duration>> Lane::WriteOneByOne() {
  ImmediateCounter arrived(to_->dispatcher(), kArrived);
  const coro::Time start = from_->loop().Now();
  for (std::uint64_t i = 0; i < load_.small; ++i) {
    const BufferSlice piece(source_, 0, kSmallBytes);
    OperationOptions options;
    options.immediate = kArrived;
    options.deadline = Deadline();
    const fabric::Completion done =
        co_await from_->endpoint().Write(piece, target_->region().remote(), peer_, options);
    if (!done.ok()) co_return from_->endpoint().ToStatus(done, "write 4 KiB");
  }
  const coro::Duration took = from_->loop().Now() - start;
  const bool in_time = co_await arrived.Reached(load_.small, Deadline());
  if (!in_time) co_return absl::DeadlineExceededError("not all writes of 4 KiB have arrived");
  co_return took / static_cast<std::int64_t>(std::max<std::uint64_t>(load_.small, 1));
}

// One page after the other, from and to the same place.
coro::Task<absl::Status> Lane::WriteSome(std::uint64_t slot) {
  const BufferSlice page(source_, slot * load_.page_bytes, load_.page_bytes);
  const fabric::RemoteBuffer target = target_->region().Remote(slot * load_.page_bytes);
  while (begun_ < load_.pages) {
    ++begun_;
    OperationOptions options;
    options.immediate = kArrived;
    options.deadline = Deadline();
    const fabric::Completion done = co_await from_->endpoint().Write(page, target, peer_, options);
    if (!done.ok()) co_return from_->endpoint().ToStatus(done, "write a page");
  }
  co_return absl::OkStatus();
}

coro::Task<absl::StatusOr<coro::Duration>> Lane::WriteMany() {
  ImmediateCounter arrived(to_->dispatcher(), kArrived);
  const coro::Time start = from_->loop().Now();
  const std::uint64_t slots = std::min(load_.window, load_.pages);
  begun_ = 0;
  coro::Scope writers(coro::OnError::kCancel);
  for (std::uint64_t slot = 0; slot < slots; ++slot) writers.Spawn(WriteSome(slot));
  CO_RETURN_IF_ERROR(co_await writers.Join());
  const bool in_time = co_await arrived.Reached(load_.pages, Deadline());
  if (!in_time) co_return absl::DeadlineExceededError("not all pages have arrived");
  const coro::Duration took = from_->loop().Now() - start;
  const std::size_t written = slots * load_.page_bytes;
  const bool same =
      std::memcmp(source_pages_.bytes().data(), target_pages_.bytes().data(), written) == 0;
  if (!same) co_return absl::DataLossError("what arrived is not what was sent");
  co_return took;
}

}  // namespace drydock::apps::affinity
