#include "drydock/sim/model/player.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/machine/thread_shares.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/world/world.h"

namespace drydock::sim::model {
namespace {

// One side of a pair of NICs. Members die in reverse order.
struct End {
  static absl::StatusOr<End> Open(fabric::Fabric& fabric, std::size_t nic, std::size_t bytes) {
    End end;
    ASSIGN_OR_RETURN(end.nic, fabric::OpenNic(fabric, {.nic = nic}));
    end.memory.reset(new std::byte[bytes]);  // not initialised: untouched pages take no memory
    end.bytes = bytes;
    ASSIGN_OR_RETURN(end.region, end.nic.domain->RegisterMemory(
                                     {.data = end.memory.get(), .length_bytes = bytes}));
    return end;
  }

  fabric::OpenedNic nic;
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;
  std::unique_ptr<fabric::MemoryRegion> region;
};

// A NIC that writes to its peer or reads from it, and keeps its window full.
class Lane {
 public:
  Lane(const Profile& profile, const Workload& load, std::size_t request_bytes, End here, End there)
      : load_(load),
        request_bytes_(request_bytes),
        window_(WindowOf(profile, load)),
        burst_(BurstOf(profile, load)),
        completions_(burst_),
        here_(std::move(here)),
        there_(std::move(there)) {}

  // Where the bytes go lies in different places as long as they are in flight.
  static std::size_t Places(std::size_t window) { return 2 * window; }

  absl::Status Meet() {
    End& source = load_.direction == Direction::kWrite ? here_ : there_;
    std::fill_n(source.memory.get(), request_bytes_, std::byte{0x5a});
    ASSIGN_OR_RETURN(peer_, here_.nic.peers->Insert(there_.nic.endpoint->address()));
    return there_.nic.peers->Insert(here_.nic.endpoint->address()).status();
  }

  // How many completions there were: at most as many as a post call makes, so that each call is
  // followed by a look.
  absl::StatusOr<std::size_t> Read() {
    const fabric::ReadResult read = here_.nic.queue->Read(completions_);
    for (std::size_t i = 0; i < read.count; ++i) {
      if (!completions_[i].ok()) {
        return absl::InternalError("play workload: a request failed");
      }
    }
    in_flight_ -= read.count;
    done_ += read.count;
    return read.count;
  }

  // As far as the window and `most`, the requests of a whole run, allow.
  absl::Status Post(std::uint64_t most) {
    if (load_.pattern != Pattern::kPaged && in_flight_ > 0) return absl::OkStatus();
    while (posted_ < most && in_flight_ < window_) {
      const std::size_t count =
          std::min<std::uint64_t>({burst_, window_ - in_flight_, most - posted_});
      const fabric::ErrorCode error =
          load_.direction == Direction::kWrite ? PostWrites(count) : PostReads(count);
      if (error != fabric::ErrorCode::kOk) {
        return absl::InternalError(
            absl::StrCat("play workload: post requests: ", std::string(fabric::Name(error))));
      }
      in_flight_ += count;
      posted_ += count;
    }
    return absl::OkStatus();
  }

  std::uint64_t done() const { return done_; }

 private:
  std::size_t NextOffset() { return next_++ % Places(window_) * request_bytes_; }

  fabric::ErrorCode PostWrites(std::size_t count) {
    std::vector<fabric::WriteRequest> writes(count);
    for (fabric::WriteRequest& write : writes) {
      write.peer = peer_;
      write.source = here_.region->Local();
      write.target = there_.region->remote();
      write.target.address += NextOffset();
      write.context = fabric::Context{next_};
    }
    return here_.nic.endpoint->Write(writes).error;
  }

  fabric::ErrorCode PostReads(std::size_t count) {
    std::vector<fabric::ReadRequest> reads(count);
    for (fabric::ReadRequest& read : reads) {
      read.peer = peer_;
      read.source = there_.region->remote();
      read.target = here_.region->Local(NextOffset(), request_bytes_);
      read.context = fabric::Context{next_};
    }
    return here_.nic.endpoint->Read(reads).error;
  }

  const Workload& load_;
  const std::size_t request_bytes_;
  const std::size_t window_;
  const std::size_t burst_;
  std::vector<fabric::Completion> completions_;
  End here_;
  End there_;
  fabric::Peer peer_{};
  std::uint64_t next_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t done_ = 0;
  std::size_t in_flight_ = 0;
};

// How far on the NICs of another rail are for all NICs; 0: there is one rail.
std::size_t StepToAnotherRail(const Profile& profile) {
  const std::size_t nics = profile.nics.size();
  for (std::size_t step = 1; step < nics; ++step) {
    bool crosses = true;
    for (std::size_t nic = 0; nic < nics; ++nic) {
      crosses = crosses && RailOf(profile, nic) != RailOf(profile, (nic + step) % nics);
    }
    if (crosses) return step;
  }
  return 0;
}

class Stage {
 public:
  Stage(const Profile& profile, const Workload& load, const Prediction& prediction,
        const PlayOptions& options)
      : profile_(profile),
        load_(load),
        active_(ActiveNics(profile, load)),
        nics_(active_.size()),
        parts_(prediction.parts),
        request_bytes_(std::max<std::uint64_t>(1, load.page_bytes / parts_)),
        window_(WindowOf(profile, load)),
        world_(options.seed, profile_, {.checks = false}),  // of programs' mistakes: here is none
        here_(world_.AddNode("here")),
        from_(OpenSimFabric(world_, here_)) {}

  absl::Status Open();
  absl::StatusOr<Played> Run(const PlayOptions& options);

 private:
  // When how many requests had ended.
  struct Mark {
    coro::Time at;
    std::uint64_t done;
  };
  // On the other of two NUMA nodes, or on a NIC's own.
  int NodeFor(std::size_t nic, bool far) const {
    const int node = profile_.nics[nic].numa_node;
    return far && node >= 0 ? 1 - node : node;
  }
  absl::Status GiveThreads();
  absl::Status OpenLane(std::size_t lane);
  absl::Status Place(Node& machine, std::size_t nic, const End& end);
  std::size_t TargetOf(std::size_t lane) const;
  absl::StatusOr<std::size_t> Turn(std::uint64_t most);
  // Until so many requests of all NICs have ended; each posts at most `most`.
  absl::Status PlayUntil(std::uint64_t requests, std::uint64_t most);
  // Pages a second.
  double RateSince(const Mark& mark);

  const Profile& profile_;
  const Workload& load_;
  const std::vector<std::size_t> active_;  // numbers of the NICs that are used
  const std::size_t nics_;                 // how many: a lane each
  const std::size_t parts_;
  const std::size_t request_bytes_;
  const std::size_t window_;
  World world_;
  Node& here_;
  std::unique_ptr<fabric::Fabric> from_;
  std::vector<std::unique_ptr<fabric::Fabric>> to_;
  std::vector<Node*> there_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  coro::Time start_{};
  std::uint64_t done_ = 0;  // requests
  Played played_;
};

absl::Status Stage::Open() {
  RETURN_IF_ERROR(GiveThreads());
  // A lane has one peer: of more, no packet would be.
  for (std::size_t peer = 0; peer < std::min(load_.peers, nics_); ++peer) {
    there_.push_back(
        load_.route == Route::kLoopback ? &here_ : &world_.AddNode(absl::StrCat("there", peer)));
    to_.push_back(OpenSimFabric(world_, *there_.back()));
  }
  for (std::size_t lane = 0; lane < nics_; ++lane) RETURN_IF_ERROR(OpenLane(lane));
  return absl::OkStatus();
}

absl::Status Stage::GiveThreads() {
  const ThreadPlace place = !load_.pinned ? ThreadPlace::kNowhere
                            : load_.far   ? ThreadPlace::kFar
                                          : ThreadPlace::kNear;
  return world_.processors().ShareOut(
      here_, active_, std::min(load_.threads, nics_), place,
      {.shares_state = !load_.sharded, .progress_in_post = !load_.lazy});
}

std::size_t Stage::TargetOf(std::size_t lane) const {
  if (load_.route == Route::kCrossing) {
    return (active_[lane] + StepToAnotherRail(profile_)) % profile_.nics.size();
  }
  const std::size_t receivers = load_.receivers == 0 ? nics_ : std::min(load_.receivers, nics_);
  // Of the same rail, where it can be.
  return active_[lane * receivers / nics_ * nics_ / receivers];
}

absl::Status Stage::Place(Node& machine, std::size_t nic, const End& end) {
  if (load_.memory == Memory::kGpu) return absl::OkStatus();
  return world_.numa().PlaceMemory(machine, {end.memory.get(), end.bytes},
                                   NodeFor(nic, load_.memory == Memory::kFar));
}

absl::Status Stage::OpenLane(std::size_t lane) {
  const bool writes = load_.direction == Direction::kWrite;
  const std::size_t many = request_bytes_ * Lane::Places(window_);
  const std::size_t nic = active_[lane];
  const std::size_t target = TargetOf(lane);
  const std::size_t peer = lane % to_.size();
  ASSIGN_OR_RETURN(End here, End::Open(*from_, nic, writes ? request_bytes_ : many));
  ASSIGN_OR_RETURN(End there, End::Open(*to_[peer], target, writes ? many : request_bytes_));
  RETURN_IF_ERROR(Place(here_, nic, here));
  RETURN_IF_ERROR(Place(*there_[peer], target, there));
  lanes_.push_back(
      std::make_unique<Lane>(profile_, load_, request_bytes_, std::move(here), std::move(there)));
  return lanes_.back()->Meet();
}

// Reads, posts and lets time pass; returns how many requests have ended.
absl::StatusOr<std::size_t> Stage::Turn(std::uint64_t most) {
  std::size_t read = 0;
  for (const auto& lane : lanes_) {
    ASSIGN_OR_RETURN(const std::size_t count, lane->Read());
    read += count;
  }
  for (const auto& lane : lanes_) RETURN_IF_ERROR(lane->Post(most));
  if (read == 0 && !world_.WaitUntil(coro::kNever)) {
    return absl::InternalError("play workload: nothing happens any more");
  }
  return read;
}

absl::Status Stage::PlayUntil(std::uint64_t requests, std::uint64_t most) {
  while (done_ < requests) {
    ASSIGN_OR_RETURN(const std::size_t read, Turn(most));
    done_ += read;
    const auto has_begun = [](const auto& lane) { return lane->done() > 0; };
    if (played_.first_page == coro::Duration{} &&
        std::all_of(lanes_.begin(), lanes_.end(), has_begun)) {
      played_.first_page = world_.Now() - start_;
    }
  }
  return absl::OkStatus();
}

double Stage::RateSince(const Mark& mark) {
  return static_cast<double>(done_ - mark.done) / static_cast<double>(parts_) * 1e9 /
         static_cast<double>((world_.Now() - mark.at).count());
}

absl::StatusOr<Played> Stage::Run(const PlayOptions& options) {
  start_ = world_.Now();
  if (load_.operations > 0) {
    const std::uint64_t each = (load_.operations * parts_ + nics_ - 1) / nics_;
    const Mark begin{start_, 0};
    RETURN_IF_ERROR(PlayUntil(each * nics_, each));
    played_.pages_per_s = RateSince(begin);
    return played_;
  }
  constexpr std::uint64_t kForEver = UINT64_MAX;
  RETURN_IF_ERROR(PlayUntil(2 * window_ * nics_, kForEver));
  const Mark begin{world_.Now(), done_};
  const std::uint64_t asked = options.requests_per_nic * nics_;
  if (!options.steady.has_value()) {
    RETURN_IF_ERROR(PlayUntil(2 * window_ * nics_ + asked, kForEver));
    played_.pages_per_s = RateSince(begin);
    return played_;
  }
  RETURN_IF_ERROR(PlayUntil(done_ + (asked + 1) / 2, kForEver));
  while (true) {
    const double before = RateSince(begin);
    const Mark half{world_.Now(), done_};
    RETURN_IF_ERROR(PlayUntil(done_ + (done_ - begin.done), kForEver));
    played_.pages_per_s = RateSince(half);
    const bool steady = std::abs(played_.pages_per_s / before - 1) <= *options.steady;
    if (steady || done_ - begin.done >= kMostLonger * asked) return played_;
  }
}

// Refuses workloads that the simulator has no part for.
absl::Status CheckPlayable(const Profile& profile, const Workload& load,
                           const Prediction& prediction, const PlayOptions& options) {
  const auto refuse = [](const auto&... parts) {
    return absl::UnimplementedError(absl::StrCat("play workload: ", parts...));
  };
  if (load.pollers > 0) return refuse("no thread of the simulator only reads completions");
  if (load.pattern == Pattern::kSingle && prediction.parts > 1) {
    return refuse("no lane waits for the parts of other NICs");
  }
  if (load.route == Route::kCrossing && StepToAnotherRail(profile) == 0) {
    return refuse("all NICs are of one rail");
  }
  const std::uint64_t nics = prediction.active_nics;
  if (load.receivers > 0 && load.receivers < nics && load.route != Route::kAligned) {
    return refuse("fewer receivers than NICs are of the same rails");
  }
  const bool is_far = (load.pinned && load.far) || load.memory == Memory::kFar;
  if (is_far && profile.numa_cpus.size() != 2) return refuse("far is one of two NUMA nodes");
  const std::uint64_t bytes = load.page_bytes / prediction.parts;
  const std::uint64_t window = WindowOf(profile, load);
  if (bytes * Lane::Places(window) * nics > options.most_bytes) {
    return refuse("it takes ", bytes * Lane::Places(window) * nics >> 20, " MiB of memory");
  }
  const std::uint64_t requests = load.operations > 0
                                     ? load.operations * prediction.parts
                                     : (2 * window + options.requests_per_nic) * nics;
  const std::uint64_t packets = PacketsInPiece(profile, bytes);
  if (requests > options.most_packets / packets) {
    return refuse("it takes ", requests * packets, " packets");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Played> Play(const Profile& profile, const Workload& workload,
                            const PlayOptions& options) {
  ASSIGN_OR_RETURN(const Prediction prediction, Predict(profile, workload));
  RETURN_IF_ERROR(CheckPlayable(profile, workload, prediction, options));
  Profile played = profile;
  if (workload.warm) played.host.first_contact = {};
  if (workload.bare) played.host.turn = played.host.work = {};
  Stage stage(played, workload, prediction, options);
  RETURN_IF_ERROR(stage.Open());
  return stage.Run(options);
}

}  // namespace drydock::sim::model
