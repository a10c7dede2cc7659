#include "drydock/apps/batch/mover.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/when_all.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::apps::batch {
namespace {

using fabric::async::transfer::PagesShape;
using fabric::async::transfer::TransferOptions;

constexpr std::uint32_t kWarmUp = fabric::async::transfer::kMostTransfers - 1;
// Transfers of a GPU under way, so that its NICs have work while one of them ends.
constexpr std::uint32_t kLanes = 4;

// Of each NIC: every one has one partner.
constexpr std::uint32_t kWarmUpPages = 2;

// The pages from number `first` on, each in its own place.
std::vector<std::uint32_t> PlacesFrom(std::uint64_t first, std::uint32_t count,
                                      std::uint64_t places) {
  std::vector<std::uint32_t> indices(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    indices[i] = static_cast<std::uint32_t>((first + i) % places);
  }
  return indices;
}

PagesShape ShapeOf(const std::vector<std::uint32_t>& indices, const Load& load) {
  PagesShape shape;
  shape.pages = static_cast<std::uint32_t>(indices.size());
  shape.page_bytes = load.page_bytes;
  shape.from.indices = indices;
  shape.to.indices = indices;
  return shape;
}

std::uint32_t PagesOf(const Load& load, std::uint32_t transfer) {
  const std::uint64_t each = PagesOfTransfer(load);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(each, load.pages_of_gpu() - transfer * each));
}

// Eight bytes of the memory of a GPU.
std::uint64_t WordAt(std::uint64_t seed, std::size_t gpu, std::size_t word) {
  return coro::Combine(coro::Combine(seed, gpu + 1), word) | 1;
}

coro::Task<absl::Status> Await(Expectation& expectation, coro::Time deadline) {
  const bool all = co_await expectation.Reached(deadline);
  if (all) co_return absl::OkStatus();
  co_return absl::DeadlineExceededError(absl::StrCat("receive: ", expectation.distinct(), " of ",
                                                     expectation.pages(),
                                                     " pages of a transfer came in time"));
}

}  // namespace

void FillPlaces(std::span<std::byte> memory, std::uint64_t seed, std::size_t gpu) {
  for (std::size_t at = 0; at < memory.size(); at += 8) {
    const std::uint64_t word = WordAt(seed, gpu, at / 8);
    std::memcpy(memory.data() + at, &word, std::min<std::size_t>(8, memory.size() - at));
  }
}

bool HoldsPlaces(std::span<const std::byte> memory, std::uint64_t seed, std::size_t gpu) {
  for (std::size_t at = 0; at < memory.size(); at += 8) {
    const std::uint64_t word = WordAt(seed, gpu, at / 8);
    const std::size_t bytes = std::min<std::size_t>(8, memory.size() - at);
    if (std::memcmp(memory.data() + at, &word, bytes) != 0) return false;
  }
  return true;
}

// ---- The sender ----

PageSender::PageSender(Engine& engine, MemoryRef memory, RemoteRef target, const Load& load)
    : engine_(engine), memory_(std::move(memory)), target_(std::move(target)), load_(load) {}

coro::Task<absl::Status> PageSender::WarmUp(coro::Time deadline) {
  const Policy pinned = Policy::kPinned;
  const auto behind = static_cast<std::uint32_t>(PlacesOf(load_));
  const std::vector<std::uint32_t> places(kWarmUpPages, behind);
  const PagesShape shape = ShapeOf(places, load_);
  for (std::size_t nic = 0; nic < load_.nics_per_gpu; ++nic) {
    TransferOptions options;
    options.transfer = kWarmUp;
    options.first_page = static_cast<std::uint32_t>(nic) * shape.pages;
    options.policy = &pinned;
    options.nic = nic;
    options.deadline = deadline;
    CO_RETURN_IF_ERROR(co_await engine_.WritePages(memory_, target_, shape, options));
  }
  co_return absl::OkStatus();
}

coro::Task<absl::Status> PageSender::Send(coro::Time deadline) {
  std::vector<coro::Task<absl::Status>> lanes;
  const std::uint32_t count = std::min(kLanes, TransfersOf(load_));
  for (std::uint32_t i = 0; i < count; ++i) lanes.push_back(SendEvery(i, count, deadline));
  const std::vector<absl::Status> results = co_await coro::WhenAll(std::move(lanes));
  for (const absl::Status& result : results) CO_RETURN_IF_ERROR(result);
  co_return absl::OkStatus();
}

coro::Task<absl::Status> PageSender::SendEvery(std::uint32_t first, std::uint32_t step,
                                               coro::Time deadline) {
  const std::uint32_t transfers = TransfersOf(load_);
  for (std::uint32_t transfer = first; transfer < transfers; transfer += step) {
    const std::uint64_t from = std::uint64_t{transfer} * PagesOfTransfer(load_);
    const std::vector<std::uint32_t> places =
        PlacesFrom(from, PagesOf(load_, transfer), PlacesOf(load_));
    const PagesShape shape = ShapeOf(places, load_);
    TransferOptions options;
    options.transfer = transfer;
    options.deadline = deadline;
    CO_RETURN_IF_ERROR(co_await engine_.WritePages(memory_, target_, shape, options));
  }
  co_return absl::OkStatus();
}

// ---- The receiver ----

absl::StatusOr<std::unique_ptr<PageReceiver>> PageReceiver::Expect(Engine& engine, MemoryRef memory,
                                                                   const Load& load) {
  std::unique_ptr<PageReceiver> receiver(new PageReceiver(std::move(memory), load));
  if (load.warm_up) {
    ASSIGN_OR_RETURN(
        receiver->warm_up_,
        engine.Expect(kWarmUp, kWarmUpPages * static_cast<std::uint32_t>(load.nics_per_gpu)));
  }
  for (std::uint32_t i = 0; i < TransfersOf(load); ++i) {
    ASSIGN_OR_RETURN(receiver->transfers_.emplace_back(), engine.Expect(i, PagesOf(load, i)));
  }
  return receiver;
}

coro::Task<absl::Status> PageReceiver::WarmUp(coro::Time deadline) {
  return Await(*warm_up_, deadline);
}

coro::Task<absl::Status> PageReceiver::Receive(coro::Time deadline) {
  for (const auto& transfer : transfers_) {
    CO_RETURN_IF_ERROR(co_await Await(*transfer, deadline));
  }
  co_return absl::OkStatus();
}

bool PageReceiver::IsComplete(std::uint64_t seed, std::size_t gpu) const {
  return HoldsPlaces(memory_->bytes().first(PlacesOf(load_) * load_.page_bytes), seed, gpu);
}

std::uint64_t PageReceiver::duplicates() const {
  std::uint64_t duplicates = 0;
  for (const auto& transfer : transfers_) duplicates += transfer->duplicates();
  return duplicates;
}

}  // namespace drydock::apps::batch
