// Moves a GPU's pages: one engine writes them, another one counts them.
//
//   sender                                             receiver
//   pages 0, 1, 2 ... of memory ── transfers ──►        expects every transfer, from the start
//   page i comes from place i modulo places             and goes there

#ifndef DRYDOCK_APPS_BATCH_MOVER_H_
#define DRYDOCK_APPS_BATCH_MOVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/apps/batch/load.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/engine.h"

namespace drydock::apps::batch {

using fabric::async::transfer::Engine;
using fabric::async::transfer::Expectation;
using fabric::async::transfer::MemoryRef;
using fabric::async::transfer::RemoteRef;

// Bytes of place 0, 1, ..., which depend on seed and GPU; never zero all through.
void FillPlaces(std::span<std::byte> memory, std::uint64_t seed, std::size_t gpu);
// Whether all are there.
bool HoldsPlaces(std::span<const std::byte> memory, std::uint64_t seed, std::size_t gpu);

// Both outlive what they are used by: everything on the engines' loop.
class PageSender {
 public:
  PageSender(Engine& engine, MemoryRef memory, RemoteRef target, const Load& load);

  // Every NIC writes to every one of the peer's, so that they have met; to a place that no page of
  // Send goes to.
  coro::Task<absl::Status> WarmUp(coro::Time deadline);
  // Writes all pages; returns when all have been completed.
  coro::Task<absl::Status> Send(coro::Time deadline);

  Engine& engine() { return engine_; }

 private:
  coro::Task<absl::Status> SendEvery(std::uint32_t first, std::uint32_t step, coro::Time deadline);

  Engine& engine_;
  const MemoryRef memory_;
  const RemoteRef target_;
  const Load load_;
};

class PageReceiver {
 public:
  // Counts from now on. Errors: those of Engine::Expect.
  static absl::StatusOr<std::unique_ptr<PageReceiver>> Expect(Engine& engine, MemoryRef memory,
                                                              const Load& load);

  // Waits for the warm-up; for every page. kDeadlineExceeded: says how many are missing.
  coro::Task<absl::Status> WarmUp(coro::Time deadline);
  coro::Task<absl::Status> Receive(coro::Time deadline);
  // Whether every place holds the sender's bytes. A place that several pages went to, one after the
  // other, holds the same bytes after each: those pages are counted, and compared once.
  bool IsComplete(std::uint64_t seed, std::size_t gpu) const;
  // Announcements of pages that had come before.
  std::uint64_t duplicates() const;

 private:
  PageReceiver(MemoryRef memory, const Load& load) : memory_(std::move(memory)), load_(load) {}

  const MemoryRef memory_;
  const Load load_;
  std::unique_ptr<Expectation> warm_up_;
  std::vector<std::unique_ptr<Expectation>> transfers_;
};

}  // namespace drydock::apps::batch

#endif  // DRYDOCK_APPS_BATCH_MOVER_H_
