#include "drydock/fabric/metrics/counted_fabric.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "drydock/coro/status_macros.h"
#include "drydock/fabric/forwarding.h"

namespace drydock::fabric::metrics {
namespace {

using Count = std::atomic<std::uint64_t>;

void Add(Count& count, std::uint64_t more) { count.fetch_add(more, std::memory_order_relaxed); }

// Counters of one NIC: threads count in them at the same time.
struct Tally {
  std::string nic;
  Count opened{0};
  Count send_bytes{0}, send_wrs{0}, recv_bytes{0}, recv_wrs{0};
  Count read_wrs{0}, read_bytes{0}, read_err{0};
  Count write_wrs{0}, write_bytes{0}, write_err{0};
  Count alloc_pd_err{0}, create_qp_err{0}, create_cq_err{0}, reg_mr_err{0}, create_ah_err{0};
};

NicMetrics MetricsOf(const Tally& tally) {
  NicMetrics metrics{.node = "", .nic = tally.nic, .source = std::string(kProgram)};
  const auto add = [&metrics](const char* name, const Count& count) {
    metrics.counters.push_back({name, count.load(std::memory_order_relaxed)});
  };
  add("send_bytes", tally.send_bytes);
  add("send_wrs", tally.send_wrs);
  add("recv_bytes", tally.recv_bytes);
  add("recv_wrs", tally.recv_wrs);
  add("rdma_read_wrs", tally.read_wrs);
  add("rdma_read_bytes", tally.read_bytes);
  add("rdma_read_wr_err", tally.read_err);
  add("rdma_write_wrs", tally.write_wrs);
  add("rdma_write_bytes", tally.write_bytes);
  add("rdma_write_wr_err", tally.write_err);
  add("alloc_pd_err", tally.alloc_pd_err);
  add("create_qp_err", tally.create_qp_err);
  add("create_cq_err", tally.create_cq_err);
  add("reg_mr_err", tally.reg_mr_err);
  add("create_ah_err", tally.create_ah_err);
  return metrics;
}

}  // namespace

struct Tallies {
  std::deque<Tally> of_nic;  // one each
};

namespace {

std::uint64_t LengthOf(const SendRequest& request) {
  std::uint64_t length = request.buffer.length_bytes;
  for (const LocalBuffer& more : request.more) length += more.length_bytes;
  return length;
}
std::uint64_t LengthOf(const WriteRequest& request) { return request.source.length_bytes; }
std::uint64_t LengthOf(const ReadRequest& request) { return request.target.length_bytes; }

template <typename Request>
void CountPosted(std::span<const Request> requests, const PostResult& result, Count& work,
                 Count& bytes) {
  std::uint64_t length = 0;
  for (const Request& request : requests.first(result.accepted)) length += LengthOf(request);
  Add(work, result.accepted);
  Add(bytes, length);
}

class CountedQueue final : public ForwardingCompletionQueue {
 public:
  CountedQueue(std::unique_ptr<CompletionQueue> wrapped, std::shared_ptr<Tallies> tallies,
               Tally& tally)
      : ForwardingCompletionQueue(std::move(wrapped)),
        tallies_(std::move(tallies)),
        tally_(tally) {}

  ReadResult Read(std::span<Completion> entries) override {
    const ReadResult result = ForwardingCompletionQueue::Read(entries);
    for (const Completion& completion : entries.first(result.count)) See(completion);
    return result;
  }

 private:
  void See(const Completion& completion) {
    switch (completion.kind) {
      case OperationKind::kReceive:
        Add(tally_.recv_wrs, 1);
        if (completion.ok()) Add(tally_.recv_bytes, completion.length_bytes);
        return;
      case OperationKind::kWrite:
        return Add(tally_.write_err, completion.ok() ? 0 : 1);
      case OperationKind::kRead:
        return Add(tally_.read_err, completion.ok() ? 0 : 1);
      default:
        return;
    }
  }

  const std::shared_ptr<Tallies> tallies_;  // keeps the tally
  Tally& tally_;
};

class CountedVector final : public ForwardingAddressVector {
 public:
  CountedVector(std::unique_ptr<AddressVector> wrapped, std::shared_ptr<Tallies> tallies,
                Tally& tally)
      : ForwardingAddressVector(std::move(wrapped)), tallies_(std::move(tallies)), tally_(tally) {}

  absl::StatusOr<Peer> Insert(const Address& address) override {
    auto peer = ForwardingAddressVector::Insert(address);
    if (!peer.ok()) Add(tally_.create_ah_err, 1);
    return peer;
  }

 private:
  const std::shared_ptr<Tallies> tallies_;
  Tally& tally_;
};

class CountedEndpoint final : public ForwardingEndpoint {
 public:
  CountedEndpoint(std::unique_ptr<Endpoint> wrapped, std::shared_ptr<Tallies> tallies, Tally& tally)
      : ForwardingEndpoint(std::move(wrapped)), tallies_(std::move(tallies)), tally_(tally) {}

  using Endpoint::Read;
  using Endpoint::Send;
  using Endpoint::Write;

  PostResult Send(std::span<const SendRequest> requests) override {
    const PostResult result = ForwardingEndpoint::Send(requests);
    CountPosted(requests, result, tally_.send_wrs, tally_.send_bytes);
    return result;
  }
  PostResult Write(std::span<const WriteRequest> requests) override {
    const PostResult result = ForwardingEndpoint::Write(requests);
    CountPosted(requests, result, tally_.write_wrs, tally_.write_bytes);
    return result;
  }
  PostResult Read(std::span<const ReadRequest> requests) override {
    const PostResult result = ForwardingEndpoint::Read(requests);
    CountPosted(requests, result, tally_.read_wrs, tally_.read_bytes);
    return result;
  }

 private:
  const std::shared_ptr<Tallies> tallies_;
  Tally& tally_;
};

class CountedDomain final : public ForwardingDomain {
 public:
  CountedDomain(std::unique_ptr<Domain> wrapped, std::shared_ptr<Tallies> tallies, Tally& tally)
      : ForwardingDomain(std::move(wrapped)), tallies_(std::move(tallies)), tally_(tally) {}

  absl::StatusOr<std::unique_ptr<MemoryRegion>> RegisterMemory(
      const MemoryRequest& request) override {
    auto region = ForwardingDomain::RegisterMemory(request);
    if (!region.ok()) Add(tally_.reg_mr_err, 1);
    return region;
  }
  absl::StatusOr<std::unique_ptr<CompletionQueue>> OpenCompletionQueue(
      const CompletionQueueOptions& options) override {
    auto queue = ForwardingDomain::OpenCompletionQueue(options);
    if (!queue.ok()) {
      Add(tally_.create_cq_err, 1);
      return queue;
    }
    return std::make_unique<CountedQueue>(*std::move(queue), tallies_, tally_);
  }
  absl::StatusOr<std::unique_ptr<AddressVector>> OpenAddressVector() override {
    ASSIGN_OR_RETURN(auto vector, ForwardingDomain::OpenAddressVector());
    return std::make_unique<CountedVector>(std::move(vector), tallies_, tally_);
  }
  absl::StatusOr<std::unique_ptr<Endpoint>> OpenEndpoint(const EndpointOptions& options) override {
    auto endpoint = ForwardingDomain::OpenEndpoint(options);
    if (!endpoint.ok()) {
      Add(tally_.create_qp_err, 1);
      return endpoint;
    }
    return std::make_unique<CountedEndpoint>(*std::move(endpoint), tallies_, tally_);
  }

 private:
  const std::shared_ptr<Tallies> tallies_;
  Tally& tally_;
};

class Counted final : public ForwardingFabric {
 public:
  Counted(std::unique_ptr<Fabric> wrapped, std::shared_ptr<Tallies> tallies)
      : ForwardingFabric(std::move(wrapped)), tallies_(std::move(tallies)) {}

  absl::StatusOr<std::unique_ptr<Domain>> OpenDomain(std::size_t nic) override {
    auto domain = ForwardingFabric::OpenDomain(nic);
    if (nic >= tallies_->of_nic.size()) return domain;
    Tally& tally = tallies_->of_nic[nic];
    Add(tally.opened, 1);
    if (!domain.ok()) {
      Add(tally.alloc_pd_err, 1);
      return domain;
    }
    return std::make_unique<CountedDomain>(*std::move(domain), tallies_, tally);
  }

 private:
  const std::shared_ptr<Tallies> tallies_;
};

}  // namespace

CountedFabric::CountedFabric(std::unique_ptr<Fabric> fabric)
    : tallies_(std::make_shared<Tallies>()) {
  for (const NicInfo& nic : fabric->nics()) tallies_->of_nic.emplace_back().nic = nic.name;
  fabric_ = std::make_unique<Counted>(std::move(fabric), tallies_);
}

CountedFabric::~CountedFabric() = default;

std::vector<NicMetrics> CountedFabric::Metrics() const {
  std::vector<NicMetrics> all;
  for (const Tally& tally : tallies_->of_nic) {
    if (tally.opened.load(std::memory_order_relaxed) > 0) all.push_back(MetricsOf(tally));
  }
  return all;
}

}  // namespace drydock::fabric::metrics
