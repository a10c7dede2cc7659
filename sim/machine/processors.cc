#include "drydock/sim/machine/processors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim {
namespace {

// A program that has looked so often without waiting polls for something: time has to pass.
constexpr std::uint32_t kMostLooks = 4096;

// Where a thread is pinned that drives this NIC. The first node stands for one that the machine does
// not tell: a thread that is pinned never counts as one that wanders.
int NodeFor(const Profile& profile, std::size_t nic, ThreadPlace place) {
  if (place == ThreadPlace::kNowhere || profile.numa_cpus.empty()) return Numa::kAnywhere;
  const int near = nic < profile.nics.size() ? std::max(0, profile.nics[nic].numa_node) : 0;
  return place == ThreadPlace::kFar ? 1 - near : near;
}

}  // namespace

// ---- Calls of a program ----

absl::StatusOr<std::size_t> Processors::AddThread(Node& machine, const CpuThreadOptions& options) {
  const auto nodes = static_cast<int>(machine.profile().numa_cpus.size());
  const bool pinned = options.numa_node != Numa::kAnywhere;
  if (pinned && (options.numa_node < 0 || options.numa_node >= nodes)) {
    return absl::InvalidArgumentError(absl::StrCat("NUMA node ", options.numa_node, ": profile ",
                                                   machine.profile().name, " has ", nodes));
  }
  if (machine.nic_count() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("thread: profile ", machine.profile().name, " has no NIC to drive"));
  }
  Thread thread{.machine = machine.nic(0).machine(), .options = options};
  // It is on each node for as long as on any other one.
  if (!pinned && nodes > 1) thread.roaming = 1.0 - 1.0 / nodes;
  threads_.push_back(std::move(thread));
  return threads_.size() - 1;
}

absl::Status Processors::Assign(Node& machine, std::size_t nic, std::size_t thread) {
  if (nic >= machine.nic_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "NIC ", nic, ": profile ", machine.profile().name, " has ", machine.nic_count()));
  }
  if (thread >= threads_.size() || threads_[thread].machine != machine.nic(nic).machine()) {
    return absl::InvalidArgumentError(
        absl::StrCat("thread ", thread, " is none of machine ", machine.name()));
  }
  if (timeline_.real()) {
    return absl::FailedPreconditionError(
        "assign a thread: on the machine's clock no work is charged to it");
  }
  const std::uint32_t index = machine.nic(nic).index();
  if (by_nic_.size() <= index) by_nic_.resize(index + 1u);
  if (by_nic_[index].thread != kNoThread) --threads_[by_nic_[index].thread].nics;
  by_nic_[index].thread = thread;
  by_nic_[index].profile = &machine.profile();
  ++threads_[thread].nics;
  Crowd(threads_[thread].machine);
  return numa_.PlaceThread(machine, nic, threads_[thread].options.numa_node);
}

// Works out anew how much the threads of a machine are in each other's way.
absl::Status Processors::ShareOut(Node& machine, std::span<const std::size_t> nics,
                                  std::size_t threads, ThreadPlace place,
                                  CpuThreadOptions options) {
  const Profile& profile = machine.profile();
  if (place == ThreadPlace::kFar && profile.numa_cpus.size() != 2) {
    return absl::InvalidArgumentError("place threads: far is one of two NUMA nodes");
  }
  for (std::size_t i = 0; i < threads; ++i) {
    const ThreadShare share = ShareOf(i, threads, nics.size());
    if (share.begin == share.end) continue;
    const std::size_t first = nics[share.begin];
    options.numa_node = NodeFor(profile, first, place);
    ASSIGN_OR_RETURN(const std::size_t thread, AddThread(machine, options));
    for (const std::size_t nic : nics.subspan(share.begin, share.end - share.begin)) {
      RETURN_IF_ERROR(Assign(machine, nic, thread));
    }
  }
  return absl::OkStatus();
}

void Processors::Crowd(std::uint32_t machine) {
  const auto count = [&](bool only_sharing) {
    return static_cast<std::size_t>(
        std::count_if(threads_.begin(), threads_.end(), [&](const Thread& thread) {
          return thread.machine == machine && thread.nics > 0 &&
                 (!only_sharing || thread.options.shares_state);
        }));
  };
  const ThreadCrowd all{.threads = count(false), .sharing = count(true)};
  for (std::size_t index = 0; index < by_nic_.size(); ++index) {
    if (by_nic_[index].thread == kNoThread) continue;
    Thread& thread = threads_[by_nic_[index].thread];
    if (thread.machine != machine) continue;
    ThreadCrowd crowd = all;
    crowd.pinned = thread.options.numa_node != Numa::kAnywhere;
    if (!thread.options.shares_state) crowd.sharing = 1;
    thread.slowdown = Slowdown(by_nic_[index].profile->host, crowd);
  }
}

// ---- The work of its threads ----

const Processors::Thread* Processors::Known(const Nic& nic) const {
  if (nic.index() >= by_nic_.size() || by_nic_[nic.index()].thread == kNoThread) return nullptr;
  return &threads_[by_nic_[nic.index()].thread];
}

coro::Duration Processors::FarCost(const Thread& thread, const Nic& nic) const {
  return numa_.FarThreadCost(nic.state()) +
         Times(sim::FarThreadCost(nic.profile()), thread.roaming);
}

coro::Time Processors::Work(Thread& thread, coro::Duration alone) {
  const coro::Duration takes = Times(alone, thread.slowdown);
  thread.worked += takes;
  thread.free = std::max(thread.free, timeline_.now()) + takes;
  return thread.free;
}

void Processors::Address(Thread& thread, const Nic& nic, std::uint16_t queue_pair,
                         fabric::Peer peer) {
  const coro::Duration contact = nic.profile().host.first_contact;
  if (contact == coro::Duration::zero()) return;
  const bool first = met_.emplace(nic.index(), queue_pair, static_cast<std::uint64_t>(peer)).second;
  if (!first) return;
  thread.worked += contact;  // an exchange with the peer: nothing here is in its way
  thread.free = std::max(thread.free, timeline_.now()) + contact;
}

void Processors::Ring(Thread& thread, const Doorbell& doorbell, coro::Duration alone) {
  thread.doorbells.push_back(doorbell);
  timeline_.At(Work(thread, alone), this, EventKind::kDoorbell,
               static_cast<std::uint32_t>(&thread - threads_.data()), 0);
}

void Processors::RingSend(Thread& thread, Nic& nic, QueuePair& queue_pair, std::uint32_t counter,
                          std::size_t requests, bool new_call) {
  const Profile& profile = nic.profile();
  coro::Duration each = profile.post_cost + profile.host.work;
  if (thread.options.progress_in_post) each += profile.host.progress;
  coro::Duration alone =
      profile.doorbell_cost + FarCost(thread, nic) + each * static_cast<std::int64_t>(requests);
  if (new_call) alone += profile.host.turn;
  Ring(thread, {&nic, &queue_pair, counter, false}, alone);
}

void Processors::RingReceive(Nic& nic, QueuePair& queue_pair, std::uint32_t counter,
                             std::size_t requests) {
  const Profile& profile = nic.profile();
  const coro::Duration alone =
      profile.doorbell_cost + profile.post_cost * static_cast<std::int64_t>(requests);
  if (Thread* thread = Find(nic)) {
    if (requests > 0)
      Ring(*thread, {&nic, &queue_pair, counter, true}, alone + FarCost(*thread, nic));
    return;
  }
  timeline_.Charge(alone + numa_.FarThreadCost(nic.state()));
  if (requests > 0) nic.RingReceive(queue_pair, counter);
}

bool Processors::MayRead(Thread& thread, const Nic& nic) {
  const coro::Time now = timeline_.now();
  if (thread.free <= now) thread.turn = now;
  if (thread.turn == now && by_nic_[nic.index()].read != now) return true;
  if (thread.wake <= now) {  // otherwise the program will look again then
    thread.wake = thread.free;
    timeline_.WakeAt(thread.wake);
  }
  return false;
}

void Processors::HasRead(Thread& thread, const Nic& nic) {
  by_nic_[nic.index()].read = timeline_.now();
  Work(thread, nic.profile().poll_cost + FarCost(thread, nic));
}

void Processors::FoundNothing(const Nic& nic) {
  const coro::Time now = timeline_.now();
  looks_ = looked_ == now ? looks_ + 1 : 0;
  if (looks_ >= kMostLooks) timeline_.Charge(nic.profile().poll_cost);
  looked_ = timeline_.now();
}

// ---- Doorbells ----

void Processors::RingNow(const Doorbell& doorbell) {
  if (doorbell.queue_pair == nullptr) return;
  if (doorbell.receive) {
    doorbell.nic->RingReceive(*doorbell.queue_pair, doorbell.counter);
  } else {
    doorbell.nic->RingSend(*doorbell.queue_pair, doorbell.counter);
  }
}

void Processors::OnEvent(const Event& event) {
  std::deque<Doorbell>& doorbells = threads_[event.a].doorbells;
  const Doorbell doorbell = doorbells.front();
  doorbells.pop_front();
  RingNow(doorbell);
}

void Processors::Finish(const Nic& nic, const QueuePair& queue_pair) {
  const auto begin = met_.lower_bound({nic.index(), queue_pair.number, 0});
  met_.erase(begin, std::find_if(begin, met_.end(), [&](const auto& contact) {
               return std::get<0>(contact) != nic.index() ||
                      std::get<1>(contact) != queue_pair.number;
             }));
  for (Thread& thread : threads_) {
    for (Doorbell& doorbell : thread.doorbells) {
      if (doorbell.queue_pair != &queue_pair) continue;
      RingNow(doorbell);
      doorbell.queue_pair = nullptr;
    }
  }
}

void Processors::FinishAll() {
  for (Thread& thread : threads_) {
    for (Doorbell& doorbell : thread.doorbells) {
      RingNow(doorbell);
      doorbell.queue_pair = nullptr;
    }
  }
}

}  // namespace drydock::sim
