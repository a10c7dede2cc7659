#include "drydock/sim/model/predictor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/machine/thread_shares.h"
#include "drydock/sim/model/flights.h"

namespace drydock::sim::model {
namespace {

constexpr double kBitsPerByte = 8;

double Seconds(coro::Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }

// The longest that is told: about 73 years, of which some can be added.
coro::Duration FromSeconds(double seconds) {
  constexpr double kMost = 0x1p61;
  return coro::Duration(static_cast<std::int64_t>(std::min(seconds * 1e9, kMost)));
}

// The work of a NIC for a page, or for its part of one.
struct Request {
  double bytes = 0;
  double packets = 0;
  double bytes_on_link = 0;
};

class Calculation {
 public:
  Calculation(const Profile& profile, const Workload& workload, Flights& flights)
      : profile_(profile),
        load_(workload),
        flights_(flights),
        active_(ActiveNics(profile, workload)),
        nics_(active_.size()),
        parts_(PartsOfPage()),
        request_(RequestOf(static_cast<double>(workload.page_bytes) / static_cast<double>(parts_))),
        burst_(BurstOf(profile, workload)),
        threads_(std::min(workload.threads, nics_)),
        route_gbps_(RouteGbps()) {}

  Prediction Run();

 private:
  struct Part {
    Limiter stage;
    double seconds;
  };
  // Requests of which the last to end is waited for.
  struct Group {
    std::size_t requests = 1;
    double posted = 0;   // until the last of them is posted
    double spacing = 0;  // from one post to the next
    double in_turn = 1;  // of them that a receiving NIC takes in, one after the other
  };

  std::size_t PartsOfPage() const;
  Request RequestOf(double bytes) const;
  double RouteGbps() const;

  // --- Rates of stages, in requests of all NICs a second ---
  double OfNics(double seconds_each) const { return static_cast<double>(nics_) / seconds_each; }
  double OnLink(double gbps) const { return request_.bytes_on_link * kBitsPerByte / (gbps * 1e9); }
  double ReceiveGbps() const {
    return profile_.receive_gbps > 0 ? profile_.receive_gbps : profile_.link_gbps;
  }
  double Receivers() const;
  double ReceiveRate() const;
  double PollRate() const;
  double PostRate(double seconds_each) const;
  double WindowRate(double slowest_of_nics) const;
  // Of NICs that share what carries so many GB/s, by the number of its place; 0: no limit.
  template <typename PlaceOf, typename Limit>
  double SharedRate(PlaceOf place_of, Limit gbytes_per_s) const;
  double HostMemoryRate() const;
  double FarMemoryRate() const;

  // --- Times ---
  // Of a thread, for each request, in a crowd of others or alone.
  double PostSeconds(bool pinned, bool far) const { return PostSeconds(pinned, far, burst_); }
  double PostSeconds(bool pinned, bool far, std::size_t burst) const;
  // Of a poller, for each look at a NIC.
  double LookSeconds() const;
  double FarShare(std::size_t threads, bool pinned, bool far) const;
  ThreadCrowd Crowd(std::size_t sharing, bool pinned) const;
  // How far the slowest path is behind when so many requests have followed each other.
  coro::Duration Behind(double requests, double seconds_each) const;
  // From when a request's last packet has left to its completion.
  Flight Ending(coro::Duration behind) const;
  // A write is acknowledged; a read's own request goes there first.
  coro::Duration AckDelay() const {
    return load_.direction == Direction::kWrite ? profile_.ack_delay : coro::Duration{};
  }
  Group RequestsOfPage(std::size_t requests) const;
  Group FirstRequests(std::size_t requests) const;
  // Until the last of a group ends, in the mean.
  coro::Duration MeanEnding(coro::Duration behind, const Group& group) const;
  std::vector<Part> LatencyParts(const Group& group) const;
  double LatencySeconds(const Group& group) const;
  double ContactSeconds() const;
  // For so many pages, from the first post to the last completion, contact aside: `rate` pages a
  // second in the steady state, `pace` where a window that is drained is not yet.
  double RunSeconds(double pages, double rate, double pace) const;
  Limiter PostingStage() const;

  const Profile& profile_;
  const Workload& load_;
  Flights& flights_;
  const std::vector<std::size_t> active_;  // numbers of the NICs that are used
  const std::size_t nics_;                 // how many
  const std::size_t parts_;                // of a page: each is a request
  const Request request_;
  const std::size_t burst_;
  const std::size_t threads_;  // that have something to do
  const double route_gbps_;    // that pass on a NIC's link between these NICs
};

// ---- The shares of NICs and threads ----

std::size_t Calculation::PartsOfPage() const {
  return load_.policy == Policy::kSplit ? std::max<std::size_t>(1, nics_ / load_.gpus) : 1;
}

Request Calculation::RequestOf(double bytes) const {
  const double packets = std::max(1.0, std::ceil(bytes / profile_.device.mtu));
  return {.bytes = bytes,
          .packets = packets,
          .bytes_on_link = bytes + packets * static_cast<double>(profile_.header_bytes)};
}

double Calculation::RouteGbps() const {
  double gbps = profile_.link_gbps;
  const auto limit = [&](bool applies, double less) {
    if (applies && less > 0) gbps = std::min(gbps, less);
  };
  limit(load_.route == Route::kCrossing, profile_.crossing_gbps);
  limit(load_.route == Route::kLoopback, profile_.loopback_gbps);
  limit(load_.direction == Direction::kRead, profile_.read_gbps);
  return gbps;
}

// ---- The CPU ----

// The share of each thread's work that is for NICs of another node than its own. NICs are dealt out
// in their order, which is that of their nodes.
double Calculation::FarShare(std::size_t threads, bool pinned, bool far_threads) const {
  const std::size_t nodes = std::max<std::size_t>(1, profile_.numa_cpus.size());
  if (nodes == 1) return 0;
  if (!pinned) return 1.0 - 1.0 / static_cast<double>(nodes);
  const auto node = [this](std::size_t i) { return profile_.nics[active_[i]].numa_node; };
  std::size_t far = 0;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    const auto [begin, end] = ShareOf(thread, threads, nics_);
    for (std::size_t i = begin; i < end; ++i) {
      const bool here = node(i) == node(begin);
      far += here == far_threads ? 1 : 0;
    }
  }
  return static_cast<double>(far) / static_cast<double>(nics_);
}

double Calculation::PostSeconds(bool pinned, bool far_threads, std::size_t burst) const {
  const HostCosts& host = profile_.host;
  const std::size_t batch =
      MaxBatch(profile_, WorkRequestBytes(profile_, 0), profile_.limits.send_queue_depth);
  const std::size_t doorbells = (burst + batch - 1) / batch;
  const coro::Duration far =
      Times(FarThreadCost(profile_), FarShare(threads_, pinned, far_threads));
  coro::Duration call = (profile_.doorbell_cost + far) * static_cast<std::int64_t>(doorbells);
  coro::Duration each = profile_.post_cost;
  if (load_.pollers == 0) call += profile_.poll_cost + far;
  if (!load_.bare) {
    call += host.turn;
    each += host.work;
  }
  if (!load_.lazy && load_.pollers == 0) each += host.progress;
  return (Seconds(call) / static_cast<double>(burst) + Seconds(each)) *
         Slowdown(host, Crowd(threads_, pinned));
}

ThreadCrowd Calculation::Crowd(std::size_t sharing, bool pinned) const {
  return {.threads = threads_ + load_.pollers,
          .sharing = load_.sharded ? 1 : sharing + load_.pollers,
          .pinned = pinned};
}

// A turn of its loop, as posting threads have it; the NIC may be of the other node.
double Calculation::LookSeconds() const {
  const double far = FarShare(std::min(load_.pollers, nics_), load_.pinned, load_.far);
  const coro::Duration look = profile_.poll_cost + Times(FarThreadCost(profile_), far);
  return Seconds(load_.bare ? look : look + profile_.host.turn) *
         Slowdown(profile_.host, Crowd(threads_, load_.pinned));
}

// Each look finds as many completions as a post call has made, and each is seen to.
double Calculation::PollRate() const {
  const double each = load_.bare ? 0
                                 : Seconds(profile_.host.progress) *
                                       Slowdown(profile_.host, Crowd(threads_, load_.pinned));
  const auto found = static_cast<double>(burst_);
  return static_cast<double>(std::min(load_.pollers, nics_)) / (LookSeconds() / found + each);
}

// Threads have whole NICs: one that has more of them than others may be busy while those are not.
double Calculation::PostRate(double seconds_each) const {
  return static_cast<double>(threads_) / seconds_each;
}

// ---- Times of a request ----

coro::Duration Calculation::Behind(double requests, double seconds_each) const {
  const double slowest = OnLink(profile_.link_gbps) * (1 + profile_.path_imbalance);
  const coro::Duration behind = FromSeconds(requests * std::max(0.0, slowest - seconds_each));
  return std::min(behind, profile_.path_lag);
}

Flight Calculation::Ending(coro::Duration behind) const {
  return {.packets = static_cast<std::size_t>(request_.packets),
          .spacing = FromSeconds(OnLink(route_gbps_) / std::max(1.0, request_.packets)),
          .behind = behind};
}

coro::Duration Calculation::MeanEnding(coro::Duration behind, const Group& group) const {
  const Flight flight = Ending(behind);
  return AckDelay() + (group.requests == 1 ? flights_.MeanEnding(flight)
                                           : flights_.MeanOfLast(flight, group.requests,
                                                                 FromSeconds(group.spacing)));
}

// As many as are given, each of another NIC, posted among others.
Calculation::Group Calculation::RequestsOfPage(std::size_t requests) const {
  return {.requests = requests,
          .posted = PostSeconds(load_.pinned, load_.far) * static_cast<double>(requests)};
}

// With which a run begins, each of another NIC: a post call for each, by threads that have several.
Calculation::Group Calculation::FirstRequests(std::size_t requests) const {
  const double call = PostSeconds(load_.pinned, load_.far, 1);
  const auto threads = static_cast<double>(threads_);
  const auto count = static_cast<double>(requests);
  return {.requests = requests,
          .posted = call * std::ceil(count / threads),
          .spacing = call / threads,
          .in_turn = std::max(1.0, count / Receivers())};
}

std::vector<Calculation::Part> Calculation::LatencyParts(const Group& group) const {
  const double routed = OnLink(route_gbps_);
  const double carried = std::max(routed, OnLink(profile_.dma_gbps > 0 ? profile_.dma_gbps : 1e9));
  const double taken_in = OnLink(ReceiveGbps()) * group.in_turn;
  const coro::Duration ending = MeanEnding(Behind(1, std::max(carried, taken_in)), group);
  // A poller is at another NIC: half of its round, in the mean.
  const double round = load_.pollers == 0 ? 0
                                          : LookSeconds() * static_cast<double>(nics_) /
                                                static_cast<double>(load_.pollers) / 2;
  const Limiter slowest = taken_in > carried                 ? Limiter::kReceiveSide
                          : carried > routed                 ? Limiter::kPcie
                          : route_gbps_ < profile_.link_gbps ? Limiter::kRoute
                                                             : Limiter::kWire;
  return {{PostingStage(), group.posted},
          {Limiter::kPollRate, round},
          {Limiter::kRequestRate,
           Seconds(profile_.issue_cost + profile_.dma_latency + profile_.poll_cost)},
          {slowest, std::max(carried, taken_in)},
          {Limiter::kWire, Seconds(ending)}};
}

double Calculation::LatencySeconds(const Group& group) const {
  double seconds = 0;
  for (const Part& part : LatencyParts(group)) seconds += part.seconds;
  return seconds;
}

// The threads' place is named where another one would gain more than the error of predictions.
Limiter Calculation::PostingStage() const {
  const bool misplaced = !load_.pinned || load_.far;
  const bool matters = misplaced && PostSeconds(load_.pinned, load_.far) >
                                        (1 + kTolerance) * PostSeconds(true, false);
  return matters ? Limiter::kNuma : Limiter::kPostRate;
}

double Calculation::ContactSeconds() const {
  if (load_.warm) return 0;
  const double nics = std::ceil(static_cast<double>(nics_) / static_cast<double>(threads_));
  return nics * static_cast<double>(load_.peers) * Seconds(profile_.host.first_contact);
}

double Calculation::RunSeconds(double pages, double rate, double pace) const {
  double together = pages;  // that are all awaited before the next
  if (load_.pattern == Pattern::kSingle) together = static_cast<double>(load_.gpus);
  if (load_.pattern == Pattern::kDrained) {
    together = static_cast<double>(WindowOf(profile_, load_) * nics_) / static_cast<double>(parts_);
  }
  const double before = std::floor((pages - 1) / together) * together;
  const double requests = (pages - before) * static_cast<double>(parts_);
  const auto first = static_cast<std::size_t>(std::min(requests, static_cast<double>(nics_)));
  return before / rate + LatencySeconds(FirstRequests(std::max<std::size_t>(1, first))) +
         (requests - static_cast<double>(first)) / static_cast<double>(parts_) / pace;
}

// ---- Rates ----

double Calculation::Receivers() const {
  const std::size_t each = load_.receivers == 0 ? nics_ : std::min(load_.receivers, nics_);
  return static_cast<double>(std::min(each * load_.peers, nics_));
}

double Calculation::ReceiveRate() const { return Receivers() / OnLink(ReceiveGbps()); }

template <typename PlaceOf, typename Limit>
double Calculation::SharedRate(PlaceOf place_of, Limit gbytes_per_s) const {
  std::map<int, std::size_t> nics;  // that are used, by what they share
  for (const std::size_t nic : active_) ++nics[place_of(profile_.nics[nic])];
  const double wire = OfNics(OnLink(profile_.link_gbps));
  double less = 0;  // than the wire
  for (const auto& [shared, count] : nics) {
    const double links = static_cast<double>(count) / OnLink(profile_.link_gbps);
    const double limit = gbytes_per_s(shared) * 1e9 / request_.bytes;
    if (limit > 0) less += std::max(0.0, links - limit);
  }
  return wire - less;
}

double Calculation::HostMemoryRate() const {
  const double ports = SharedRate(
      [](const NicProfile& nic) { return nic.pcie_switch; },
      [this](int pcie_switch) {
        return pcie_switch < 0 ? 0.0 : profile_.pcie_switches[pcie_switch].upstream_gbytes_per_s;
      });
  const double memory = profile_.host_memory_gbytes_per_s * 1e9 / request_.bytes;
  return memory > 0 ? std::min(ports, memory) : ports;
}

// Of a NIC that writes to itself each byte takes the link both ways.
double Calculation::FarMemoryRate() const {
  const bool both_ways = load_.route == Route::kLoopback;
  return SharedRate([both_ways](const NicProfile& nic) { return both_ways ? 0 : nic.numa_node; },
                    [this](int) { return profile_.numa_link_gbytes_per_s; });
}

double Calculation::WindowRate(double slowest_of_nics) const {
  const auto window = static_cast<double>(WindowOf(profile_, load_));
  switch (load_.pattern) {
    case Pattern::kSingle:
      return static_cast<double>(load_.gpus * parts_) / LatencySeconds(RequestsOfPage(parts_));
    case Pattern::kPaged:
      return OfNics(LatencySeconds(RequestsOfPage(1)) / window);
    case Pattern::kDrained:
      break;
  }
  // All of a window follow each other at the pace of the slowest stage; then the last ending. A
  // thread that has several NICs posts to one while the others drain.
  const double pace =
      std::max(static_cast<double>(nics_) / slowest_of_nics, PostSeconds(load_.pinned, load_.far));
  const double ending = Seconds(AckDelay() + flights_.MeanOfLast(Ending(Behind(window, pace)),
                                                                 static_cast<std::size_t>(window),
                                                                 FromSeconds(pace)));
  const double once = Seconds(profile_.issue_cost + profile_.dma_latency + profile_.poll_cost);
  return OfNics((window * pace + once + ending) / window);
}

Prediction Calculation::Run() {
  Prediction prediction;
  std::vector<Bound>& bounds = prediction.bounds;
  const auto bound = [&](Limiter limiter, double requests_per_s) {
    bounds.push_back({limiter, requests_per_s / static_cast<double>(parts_)});
  };
  const double post = PostSeconds(load_.pinned, load_.far);
  bound(Limiter::kWire, OfNics(OnLink(profile_.link_gbps)));
  if (route_gbps_ < profile_.link_gbps) bound(Limiter::kRoute, OfNics(OnLink(route_gbps_)));
  if (profile_.dma_gbps > 0) bound(Limiter::kPcie, OfNics(OnLink(profile_.dma_gbps)));
  // What takes all that the links bring is no stage of its own: a peer's NIC, or memory.
  const auto bound_if_less = [&](Limiter limiter, double requests_per_s) {
    if (requests_per_s < OfNics(OnLink(profile_.link_gbps))) bound(limiter, requests_per_s);
  };
  bound_if_less(Limiter::kReceiveSide, ReceiveRate());
  bound(Limiter::kRequestRate, OfNics(Seconds(profile_.issue_cost)));
  bound(PostingStage(), PostRate(post));
  if (load_.pollers > 0) bound(Limiter::kPollRate, PollRate());
  if (load_.memory != Memory::kGpu) bound_if_less(Limiter::kMemory, HostMemoryRate());
  if (load_.memory == Memory::kFar) bound_if_less(Limiter::kFarMemory, FarMemoryRate());
  const auto less = [](const Bound& a, const Bound& b) {
    return a.operations_per_s < b.operations_per_s;
  };
  std::stable_sort(bounds.begin(), bounds.end(), less);
  const double slowest_stage = bounds.front().operations_per_s;
  const auto of_nics = std::find_if(bounds.begin(), bounds.end(), [](const Bound& one) {
    return one.limiter != Limiter::kPostRate && one.limiter != Limiter::kNuma;
  });
  bound(Limiter::kWindow, WindowRate(of_nics->operations_per_s * static_cast<double>(parts_)));
  std::stable_sort(bounds.begin(), bounds.end(), less);

  prediction.operations_per_s = bounds.front().operations_per_s;
  prediction.gbps =
      prediction.operations_per_s * static_cast<double>(load_.page_bytes) * kBitsPerByte / 1e9;
  prediction.share_of_line =
      prediction.gbps / (profile_.link_gbps * static_cast<double>(load_.nics));
  prediction.latency = FromSeconds(LatencySeconds(RequestsOfPage(parts_)));
  for (const Part& part : LatencyParts(FirstRequests(nics_))) {
    prediction.first_pages_parts.push_back({part.stage, FromSeconds(part.seconds)});
    prediction.first_pages += prediction.first_pages_parts.back().time;
  }
  prediction.active_nics = nics_;
  prediction.parts = parts_;
  prediction.post_cost = FromSeconds(post);
  prediction.contact_time = FromSeconds(ContactSeconds());
  prediction.overall_gbps = prediction.gbps;
  if (load_.operations > 0) {
    const double pages = static_cast<double>(load_.operations);
    const bool drained = load_.pattern == Pattern::kDrained;
    prediction.total =
        prediction.contact_time +
        FromSeconds(RunSeconds(pages, prediction.operations_per_s,
                               drained ? slowest_stage : prediction.operations_per_s));
    prediction.overall_gbps = pages * static_cast<double>(load_.page_bytes) * kBitsPerByte /
                              static_cast<double>(prediction.total.count());
    if (const double contact = ContactSeconds(); contact > 0) {
      bounds.push_back({Limiter::kFirstContact, pages / contact});
      std::stable_sort(bounds.begin(), bounds.end(), less);
    }
  }
  prediction.limiter = bounds.front().limiter;
  return prediction;
}

}  // namespace

std::string_view Name(Limiter limiter) {
  switch (limiter) {
    case Limiter::kWire:
      return "wire";
    case Limiter::kRoute:
      return "route";
    case Limiter::kPcie:
      return "PCIe";
    case Limiter::kReceiveSide:
      return "receive side";
    case Limiter::kRequestRate:
      return "request rate";
    case Limiter::kPostRate:
      return "post rate";
    case Limiter::kPollRate:
      return "poll rate";
    case Limiter::kNuma:
      return "NUMA";
    case Limiter::kWindow:
      return "window";
    case Limiter::kMemory:
      return "host memory";
    case Limiter::kFarMemory:
      return "far memory";
    case Limiter::kFirstContact:
      return "first contact";
  }
  return "unknown";
}

absl::Status Check(const Profile& profile, const Workload& workload) {
  const auto refuse = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  };
  if (!profile.device.rdma_write || !profile.device.rdma_read) {
    return absl::UnimplementedError(
        absl::StrCat("predict: NICs of profile ", profile.name, " do not both read and write"));
  }
  if (workload.nics == 0 || workload.nics > profile.nics.size()) {
    return refuse("predict: ", workload.nics, " NICs, profile ", profile.name, " has ",
                  profile.nics.size());
  }
  if (workload.gpus == 0 || workload.gpus > workload.nics) {
    return refuse("predict: ", workload.gpus, " GPUs with ", workload.nics,
                  " NICs: 1 to as many as NICs");
  }
  if (workload.gpus > std::max<std::size_t>(1, profile.gpus.size())) {
    return refuse("predict: ", workload.gpus, " GPUs, profile ", profile.name, " has ",
                  profile.gpus.size());
  }
  if (workload.threads == 0 || workload.window == 0 || workload.burst == 0 || workload.peers == 0) {
    return refuse("predict: threads, window, burst and peers are 1 or more");
  }
  // Far beyond any machine, and near enough that no sum or time overflows.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMostPages = std::uint64_t{1} << 32;
  if (std::max({workload.threads, workload.window, workload.burst, workload.peers, workload.pollers,
                workload.receivers}) > kMost) {
    return refuse("predict: threads, window, burst, peers, pollers and receivers are at most ",
                  kMost);
  }
  if (workload.operations > kMostPages) {
    return refuse("predict: ", workload.operations, " pages: at most ", kMostPages);
  }
  if (workload.page_bytes == 0 || workload.page_bytes > profile.device.max_rdma_size) {
    return refuse("predict: page of ", workload.page_bytes, " bytes: 1 to ",
                  profile.device.max_rdma_size);
  }
  return absl::OkStatus();
}

absl::StatusOr<Prediction> Predictor::Predict(const Workload& workload) {
  RETURN_IF_ERROR(Check(profile_, workload));
  return Calculation(profile_, workload, flights_).Run();
}

absl::StatusOr<Prediction> Predict(const Profile& profile, const Workload& workload) {
  return Predictor(profile).Predict(workload);
}

}  // namespace drydock::sim::model
