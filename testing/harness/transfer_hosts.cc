#include "drydock/testing/harness/transfer_hosts.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/driver/sim_fabric.h"

namespace drydock::harness {

using fabric::async::transfer::PeerDescriptor;

namespace {

// Every byte depends on the seed and on its place.
std::vector<std::byte> Bytes(std::uint64_t seed, std::uint64_t from, std::uint64_t bytes) {
  std::vector<std::byte> content(bytes);
  std::uint64_t word = coro::Combine(seed, from / 8);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const std::uint64_t at = from + i;
    if (at % 8 == 0) word = coro::Combine(seed, at / 8);
    content[i] = static_cast<std::byte>(word >> (at % 8 * 8));
  }
  return content;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> Host::Open(
    coro::EventLoop& loop, std::vector<std::unique_ptr<fabric::Fabric>> fabrics, std::size_t nics,
    const EngineOptions& options) {
  auto host = std::make_unique<Host>();
  host->fabrics_ = std::move(fabrics);
  std::vector<fabric::Domain*> domains;
  for (const auto& fabric : host->fabrics_) {
    for (std::size_t i = 0; i < nics; ++i) {
      ASSIGN_OR_RETURN(auto domain, fabric->OpenDomain(i));
      domains.push_back(domain.get());
      host->domains_.push_back(std::move(domain));
    }
  }
  ASSIGN_OR_RETURN(host->engine_, Engine::Open(loop, domains, options));
  return host;
}

absl::StatusOr<MemoryRef> Host::Filled(std::size_t bytes, std::uint64_t seed) {
  ASSIGN_OR_RETURN(MemoryRef memory, engine_->Allocate(bytes));
  const std::vector<std::byte> content = Bytes(seed, 0, bytes);
  std::copy(content.begin(), content.end(), memory->bytes().data());
  return memory;
}

bool Holds(const MemoryRef& memory, std::uint64_t at, std::uint64_t bytes, std::uint64_t seed,
           std::uint64_t from) {
  const std::vector<std::byte> expected = Bytes(seed, from, bytes);
  return std::equal(expected.begin(), expected.end(), memory->bytes().data() + at);
}

coro::Task<absl::StatusOr<std::uint32_t>> Introduce(Host& from, Host& to) {
  const PeerDescriptor theirs = to.engine().descriptor();
  const PeerDescriptor ours = from.engine().descriptor();
  CO_ASSIGN_OR_RETURN(const std::uint32_t number, co_await from.engine().Connect(theirs));
  const absl::StatusOr<std::uint32_t> back = co_await to.engine().Connect(ours);
  if (!back.ok()) co_return back.status();
  co_return number;
}

Cluster::Cluster(std::size_t hosts, std::size_t nics, const EngineOptions& options,
                 std::uint64_t seed, const char* profile)
    : world(seed, **sim::FindProfile(profile)), loop(world) {
  for (std::size_t i = 0; i < hosts; ++i) {
    std::vector<std::unique_ptr<fabric::Fabric>> fabrics;
    fabrics.push_back(sim::OpenSimFabric(world, world.AddNode(absl::StrCat("host", i))));
    hosts_.push_back(Host::Open(loop, std::move(fabrics), nics, options).value());
  }
}

RemoteRef Cluster::Import(std::size_t from, std::size_t to, const MemoryRef& memory) {
  return engine(from).Import(peer(from, to), memory->descriptor()).value();
}

coro::Task<absl::Status> Cluster::Connect() {
  peers_.assign(size(), std::vector<std::uint32_t>(size()));
  for (std::size_t from = 0; from < size(); ++from) {
    for (std::size_t to = 0; to < size(); ++to) {
      if (from == to) continue;
      const PeerDescriptor theirs = engine(to).descriptor();
      CO_ASSIGN_OR_RETURN(peers_[from][to], co_await engine(from).Connect(theirs));
    }
  }
  co_return absl::OkStatus();
}

UnequalPair::UnequalPair(const std::vector<double>& gbps, const EngineOptions& options,
                         std::uint64_t seed)
    : world_(seed, **sim::FindProfile("p5")), loop_(world_) {
  sender_ = Open(gbps, options);
  receiver_ = Open(std::vector<double>(gbps.size(), world_.profile().link_gbps), options);
  const auto known = loop_.Run(Introduce(*sender_, *receiver_));
  DD_CHECK(known.ok() && *known == 0, "a fresh peer is the first");
}

std::unique_ptr<Host> UnequalPair::Open(const std::vector<double>& gbps,
                                        const EngineOptions& options) {
  std::vector<std::unique_ptr<fabric::Fabric>> fabrics;
  for (const double rate : gbps) {
    profiles_.push_back(std::make_unique<sim::Profile>(world_.profile()));
    profiles_.back()->link_gbps = rate;
    nodes_.push_back(&world_.AddNode(absl::StrCat("nic", nodes_.size()), *profiles_.back()));
    fabrics.push_back(sim::OpenSimFabric(world_, *nodes_.back()));
  }
  return Host::Open(loop_, std::move(fabrics), 1, options).value();
}

LivePair::LivePair(std::size_t nics, std::size_t threads)
    : loop_(clock_, {.busy_poll = std::chrono::seconds(1)}) {
  for (std::size_t i = 0; i < nics; ++i) {
    worlds_.push_back(std::make_unique<sim::World>(/*seed=*/1 + i, **sim::FindProfile("p5"),
                                                   sim::kAsFastAsItGoes));
  }
  if (threads > 0) {
    threads_ = std::make_unique<fabric::async::transfer::RailThreads>(
        fabric::async::transfer::RailThreadsOptions{.threads = threads});
  }
  sender_ = Open("sender");
  receiver_ = Open("receiver");
}

void LivePair::Start() {
  if (threads_ != nullptr) threads_->Start();
}

void LivePair::Stop() {
  if (threads_ != nullptr) threads_->Stop();
}

std::unique_ptr<Host> LivePair::Open(const char* name) {
  EngineOptions options;
  options.same_nic_only = true;
  options.threads = threads_.get();
  std::vector<std::unique_ptr<fabric::Fabric>> fabrics;
  for (const auto& world : worlds_) {
    fabrics.push_back(sim::OpenSimFabric(*world, world->AddNode(name)));
  }
  return Host::Open(loop_, std::move(fabrics), 1, options).value();
}

}  // namespace drydock::harness
