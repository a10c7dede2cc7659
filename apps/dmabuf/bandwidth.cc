#include "drydock/apps/dmabuf/bandwidth.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "drydock/apps/common/nic_choice.h"
#include "drydock/apps/common/progress.h"
#include "drydock/apps/common/simulated_fabric.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/task.h"
#include "drydock/fabric/async/node.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/tracing/world_trace.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps::dmabuf {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;

constexpr std::uint64_t kSeed = 0xdb;

coro::Duration Median(std::vector<coro::Duration> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Two simulated machines in real time, each with a buffer on its device.
class Bench {
 public:
  Bench(gpu::Device& source, gpu::Device& target, const BandwidthOptions& options)
      : source_device_(source),
        target_device_(target),
        options_(options),
        world_(/*seed=*/1, *options.profile, sim::kAsFastAsItGoes),
        devices_(options.trace == nullptr ? nullptr : options.trace->Watch(world_, nullptr)) {
    world_.AttachDevice(source.peer_memory());
    if (&source != &target) world_.AttachDevice(target.peer_memory());
  }

  absl::Status Open();
  absl::StatusOr<Bandwidth> Measure();
  const sim::World& world() const { return world_; }

 private:
  absl::StatusOr<BufferRef> Allocate(fabric::async::Node& node, gpu::Device& device) {
    return DeviceData(device, options_.registration, options_.allocation)
        .Allocate(node, options_.length_bytes);
  }
  coro::Task<absl::Status> Write() {
    const BufferSlice source(source_);
    const fabric::Completion done =
        co_await server_->endpoint().Write(source, target_->region().remote(), client_peer_);
    CO_RETURN_IF_ERROR(server_->endpoint().ToStatus(done, "write"));
    co_return target_device_.FlushRemoteWrites();
  }
  absl::Status Copy() {
    RETURN_IF_ERROR(
        stream_->Copy(target_->bytes().data(), source_->bytes().data(), options_.length_bytes));
    return stream_->Synchronize();
  }
  template <typename Work>
  absl::StatusOr<coro::Duration> Time(Work work) {
    const coro::Time start = clock_.Now();
    RETURN_IF_ERROR(work());
    return clock_.Now() - start;
  }

  gpu::Device& source_device_;
  gpu::Device& target_device_;
  const BandwidthOptions options_;
  coro::SteadyClock clock_;
  sim::World world_;
  const std::unique_ptr<sim::WorldTrace> devices_;
  coro::EventLoop loop_{world_};
  std::unique_ptr<fabric::Fabric> server_fabric_;
  std::unique_ptr<fabric::Fabric> client_fabric_;
  std::unique_ptr<fabric::async::Node> server_;
  std::unique_ptr<fabric::async::Node> client_;
  fabric::Peer client_peer_{};
  BufferRef source_;
  BufferRef target_;
  std::unique_ptr<gpu::Stream> stream_;
};

absl::Status Bench::Open() {
  const auto open = [this](const char* name) {
    auto fabric = sim::OpenSimFabric(world_, world_.AddNode(name));
    if (options_.trace == nullptr) return fabric;
    return options_.trace->Wrap(std::move(fabric), name, world_, SimulatedFabric::kEfaDirect);
  };
  server_fabric_ = open("server");
  client_fabric_ = open("client");
  ASSIGN_OR_RETURN(server_, fabric::async::Node::Open(loop_, *server_fabric_, 0));
  ASSIGN_OR_RETURN(client_, fabric::async::Node::Open(loop_, *client_fabric_, 0));
  RETURN_IF_ERROR(
      RequireCapabilities(server_->nic(), std::array{fabric::Capability::kRemoteWrite}));
  ASSIGN_OR_RETURN(client_peer_, server_->peers().Insert(client_->endpoint().address()));
  RETURN_IF_ERROR(client_->peers().Insert(server_->endpoint().address()).status());
  ASSIGN_OR_RETURN(source_, Allocate(*server_, source_device_));
  ASSIGN_OR_RETURN(target_, Allocate(*client_, target_device_));
  ASSIGN_OR_RETURN(stream_, source_device_.OpenStream());
  RETURN_IF_ERROR(stream_->Fill(source_->bytes().data(), options_.length_bytes, {kSeed}));
  return stream_->Synchronize();
}

absl::StatusOr<Bandwidth> Bench::Measure() {
  RETURN_IF_ERROR(Copy());  // the first of each finds everything cold
  RETURN_IF_ERROR(loop_.Run(Write()));
  std::vector<coro::Duration> copies;
  std::vector<coro::Duration> writes;
  Progress progress(
      {.what = "repeats", .total = options_.repeats, .bytes_each = 2 * options_.length_bytes},
      clock_);
  for (std::uint64_t i = 0; i < options_.repeats; ++i) {
    progress.Update(i);
    ASSIGN_OR_RETURN(const coro::Duration copy, Time([&] { return Copy(); }));
    copies.push_back(copy);
    ASSIGN_OR_RETURN(const coro::Duration write, Time([&] { return loop_.Run(Write()); }));
    writes.push_back(write);
  }
  // What the last write did, and not a copy before it.
  ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Stream> judge, target_device_.OpenStream());
  RETURN_IF_ERROR(judge->Fill(target_->bytes().data(), options_.length_bytes, {~kSeed}));
  RETURN_IF_ERROR(judge->Synchronize());
  RETURN_IF_ERROR(loop_.Run(Write()));
  ASSIGN_OR_RETURN(const gpu::Mismatch mismatch,
                   judge->Verify(target_->bytes().data(), options_.length_bytes, {kSeed}));
  return Bandwidth{Median(std::move(copies)), Median(std::move(writes)), mismatch.none()};
}

}  // namespace

absl::StatusOr<Bandwidth> MeasureBandwidth(gpu::Device& source, gpu::Device& target,
                                           const BandwidthOptions& options) {
  Bench bench(source, target, options);
  const MetricsAtEnd metrics(options.metrics, bench.world());
  RETURN_IF_ERROR(bench.Open());
  return bench.Measure();
}

}  // namespace drydock::apps::dmabuf
