#include "drydock/testing/benchmarks/engine_path.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/world/world.h"

namespace drydock::bench {
namespace {

using fabric::async::transfer::Engine;
using fabric::async::transfer::EngineOptions;
using fabric::async::transfer::MemoryRef;
using fabric::async::transfer::PagesShape;
using fabric::async::transfer::PeerDescriptor;
using fabric::async::transfer::RemoteRef;

constexpr std::uint32_t kMostPages = 1 << 15;  // of one transfer
constexpr std::uint32_t kTransfers = 1024;     // numbers that are used in turn
// For failing only.
constexpr coro::Duration kPatience = std::chrono::seconds(60);

// One side. Members die in reverse order, the engine first.
struct End {
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<fabric::Domain> domain;
  std::unique_ptr<Engine> engine;
  MemoryRef memory;
};

class EnginePath final : public WritePath {
 public:
  explicit EnginePath(std::size_t window)
      : window_(window),
        world_(/*seed=*/1, sim::Profiles().front(), sim::kAsFastAsItGoes),
        // Polls as long as there is anything to do.
        loop_(world_, {.busy_poll = kPatience}) {}

  absl::Status Open(const Buffers& buffers) {
    RETURN_IF_ERROR(OpenEnd("initiator", buffers.source(), buffers.length_bytes(), initiator_));
    RETURN_IF_ERROR(OpenEnd("target", buffers.target(), buffers.length_bytes(), target_));
    return loop_.Run(Connect());
  }

  std::string name() const override { return absl::StrCat("engine, window ", window_); }

  absl::Status Write(const Shape& shape, std::uint64_t count) override {
    if (places_.empty() || window_of_places_ != shape.window) {
      window_of_places_ = shape.window;
      places_.clear();
      for (std::uint32_t i = 0; i < kMostPages; ++i) {
        places_.push_back(i % static_cast<std::uint32_t>(shape.window));
      }
    }
    return loop_.Run(WriteAll(shape.bytes, count));
  }

 private:
  absl::Status OpenEnd(const char* name, std::byte* memory, std::size_t bytes, End& end) {
    end.fabric = sim::OpenSimFabric(world_, world_.AddNode(name));
    ASSIGN_OR_RETURN(end.domain, end.fabric->OpenDomain(0));
    EngineOptions options;
    options.nic.window = window_;
    fabric::Domain* const domain = end.domain.get();
    ASSIGN_OR_RETURN(end.engine, Engine::Open(loop_, {&domain, 1}, options));
    ASSIGN_OR_RETURN(end.memory, end.engine->Register({.data = memory, .length_bytes = bytes}));
    return absl::OkStatus();
  }

  coro::Task<absl::Status> Connect() {
    const PeerDescriptor initiator = initiator_.engine->descriptor();
    const PeerDescriptor target = target_.engine->descriptor();
    CO_ASSIGN_OR_RETURN(const std::uint32_t peer, co_await initiator_.engine->Connect(target));
    CO_RETURN_IF_ERROR((co_await target_.engine->Connect(initiator)).status());
    CO_ASSIGN_OR_RETURN(remote_, initiator_.engine->Import(peer, target_.memory->descriptor()));
    co_return absl::OkStatus();
  }

  coro::Task<absl::Status> WriteAll(std::size_t bytes, std::uint64_t count) {
    for (std::uint64_t done = 0; done < count; done += kMostPages) {
      const auto pages =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(count - done, kMostPages));
      PagesShape shape;
      shape.pages = pages;
      shape.page_bytes = bytes;
      shape.from.indices = shape.to.indices = std::span(places_).first(pages);
      const std::uint32_t transfer = next_transfer_++ % kTransfers;
      CO_ASSIGN_OR_RETURN(const auto arrived, target_.engine->Expect(transfer, pages));
      CO_RETURN_IF_ERROR(co_await initiator_.engine->WritePages(initiator_.memory, remote_, shape,
                                                                {.transfer = transfer}));
      const bool all = co_await arrived->Reached(coro::After(loop_.Now(), kPatience));
      if (!all) {
        co_return absl::DeadlineExceededError(
            absl::StrCat(arrived->distinct(), " of ", pages, " pages arrived"));
      }
    }
    co_return absl::OkStatus();
  }

  const std::size_t window_;
  sim::World world_;
  coro::EventLoop loop_;
  End initiator_;
  End target_;
  RemoteRef remote_;
  std::vector<std::uint32_t> places_;  // of pages: those of a window, again and again
  std::size_t window_of_places_ = 0;
  std::uint32_t next_transfer_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WritePath>> OpenLiveEnginePath(const Buffers& buffers,
                                                              std::size_t window) {
  auto path = std::make_unique<EnginePath>(window);
  RETURN_IF_ERROR(path->Open(buffers));
  return absl::StatusOr<std::unique_ptr<WritePath>>(std::move(path));
}

}  // namespace drydock::bench
