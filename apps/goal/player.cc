#include "drydock/apps/goal/player.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/goal/agenda.h"
#include "drydock/apps/goal/mailbox.h"
#include "drydock/apps/goal/send_order.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/device/observer.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps::goal {
namespace {

using coro::Duration;
using coro::Time;

// Far more than a NIC serves at once, and than arrive until the player reads.
constexpr std::size_t kSendQueue = 256;
constexpr std::size_t kCompletionQueue = 1024;

// The machine as the player needs it: a rank's CPUs are its own business, and cost the time of
// that rank only.
sim::Profile MachineFor(const sim::Profile& profile, std::uint32_t nics, bool flows) {
  sim::Profile machine = profile;
  machine.nics.resize(nics);
  if (flows) machine.flow_packets = kFlowPackets;
  // A ring takes memory for each of its places that was used once. What does not fit waits here.
  machine.limits.send_queue_depth = std::min(machine.limits.send_queue_depth, kSendQueue);
  machine.limits.completion_queue_depth =
      std::min(machine.limits.completion_queue_depth, kCompletionQueue);
  machine.post_cost = machine.doorbell_cost = machine.poll_cost = Duration::zero();
  return machine;
}

// Which NICs have something to read. In a world of thousands the player does not look at all of
// them.
class Bell final : public sim::Observer {
 public:
  void OnReported(const sim::NicState& nic, const sim::CompletionRing&,
                  const sim::DeviceCompletion&, sim::EntryFate) override {
    if (nic.index() >= rings_.size()) rings_.resize(nic.index() + 1u);
    if (!rings_[nic.index()]) who_.push_back(nic.index());
    rings_[nic.index()] = true;
  }
  // Those that rang since this was asked.
  std::vector<std::uint32_t> Take() {
    for (const std::uint32_t nic : who_) rings_[nic] = false;
    return std::exchange(who_, {});
  }

 private:
  std::vector<bool> rings_;  // by index
  std::vector<std::uint32_t> who_;
};

struct Nic : fabric::OpenedNic {
  std::unique_ptr<fabric::MemoryRegion> region;
  absl::flat_hash_map<std::uint32_t, fabric::Peer> ranks;
  std::deque<OpIndex> waiting;  // sends for which its queue had no room
};

struct Unmap {
  void operator()(std::byte* memory) const { munmap(memory, bytes); }
  std::size_t bytes = 0;
};

class Player {
 public:
  Player(const Schedule& schedule, const sim::Profile& profile, const PlayOptions& options)
      : schedule_(schedule),
        options_(options),
        nics_(schedule.nics()),
        post_takes_(profile.post_cost + profile.doorbell_cost),
        poll_takes_(profile.poll_cost),
        machine_(MachineFor(profile, nics_, options.flows)),
        world_(options.seed, machine_, {.checks = options.checks}),
        order_(schedule),
        due_(std::size_t{schedule.ranks()} * schedule.cpus()) {}

  absl::Status Open();
  absl::StatusOr<PlayResult> Play();

 private:
  enum class State : std::uint8_t { kWaits, kBegun, kEnded };

  Time now() { return world_.timeline().now(); }
  Nic& NicOf(std::uint32_t rank, std::uint32_t nic) { return ends_[rank * nics_ + nic]; }
  std::string Describe(OpIndex op) const;

  absl::Status Ready(OpIndex op);
  absl::Status Occupy(OpIndex op, Duration takes);
  void Begin(OpIndex op);
  void End(OpIndex op);
  void Release(OpIndex op, bool begins);
  absl::Status Match(OpIndex receive, OpIndex send);
  absl::Status Happens(OpIndex op, Moment moment);
  absl::StatusOr<fabric::Peer> PeerOf(std::uint32_t rank, std::uint32_t nic, std::uint32_t peer);
  absl::StatusOr<bool> Send(OpIndex op);
  absl::Status RunDue();
  absl::Status Collect(std::uint32_t nic);
  absl::Status PostWaiting(Nic& nic);
  absl::Status Arrived(std::uint32_t rank, const fabric::Completion& completion);
  absl::Status Stuck() const;

  const Schedule& schedule_;
  const PlayOptions& options_;
  const std::uint32_t nics_;
  const Duration post_takes_;
  const Duration poll_takes_;
  const sim::Profile machine_;
  Bell bell_;
  sim::World world_;
  const Time latest_ = world_.timeline().now() + kMostSimulated;
  std::unique_ptr<std::byte, Unmap> memory_;
  std::vector<std::unique_ptr<fabric::Fabric>> fabrics_;
  std::vector<Nic> ends_;  // rank * nics_ + NIC
  SendOrder order_;
  std::vector<Mailbox> mail_;
  std::vector<Time> cpu_free_;        // rank * cpus + CPU
  std::vector<std::uint32_t> waits_;  // by operation: for how many others
  std::vector<State> states_;
  // That wait for no operation, and have not asked for their CPU: the first of the schedule at the
  // top.
  std::priority_queue<OpIndex, std::vector<OpIndex>, std::greater<>> ready_;
  Agenda due_;  // by CPU, as cpu_free_
  std::uint64_t left_ = 0;
  PlayResult result_;
};

// ---- Machines ----

absl::Status Player::Open() {
  const std::size_t bytes = std::max<std::size_t>(schedule_.longest_message(), 1);
  // Whole pages, which are never touched: a NIC takes as many as the longest message has.
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (memory == MAP_FAILED) return absl::ResourceExhaustedError("no memory for a message");
  memory_ = std::unique_ptr<std::byte, Unmap>(static_cast<std::byte*>(memory), Unmap{bytes});
  world_.observers().Add(bell_);
  const std::uint32_t ranks = schedule_.ranks();
  ends_.resize(std::size_t{ranks} * nics_);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    fabrics_.push_back(sim::OpenSimFabric(world_, world_.AddNode(absl::StrCat("rank", rank))));
    for (std::uint32_t nic = 0; nic < nics_; ++nic) {
      Nic& end = NicOf(rank, nic);
      ASSIGN_OR_RETURN(static_cast<fabric::OpenedNic&>(end),
                       fabric::OpenNic(*fabrics_.back(), {.nic = nic}));
      ASSIGN_OR_RETURN(end.region,
                       end.domain->RegisterMemory({.data = memory_.get(), .length_bytes = bytes}));
    }
  }
  mail_.resize(ranks);
  cpu_free_.resize(std::size_t{ranks} * schedule_.cpus());
  const std::size_t ops = schedule_.ops().size();
  waits_.resize(ops);
  states_.resize(ops, State::kWaits);
  left_ = ops;
  result_.ranks.resize(ranks);
  return absl::OkStatus();
}

// Both sides know each other before the first byte, as EFA wants it.
absl::StatusOr<fabric::Peer> Player::PeerOf(std::uint32_t rank, std::uint32_t nic,
                                            std::uint32_t peer) {
  Nic& from = NicOf(rank, nic);
  const auto known = from.ranks.find(peer);
  if (known != from.ranks.end()) return known->second;
  Nic& to = NicOf(peer, nic);
  ASSIGN_OR_RETURN(to.ranks[rank], to.peers->Insert(from.endpoint->address()));
  ASSIGN_OR_RETURN(from.ranks[peer], from.peers->Insert(to.endpoint->address()));
  return from.ranks[peer];
}

// ---- What waits for what ----

void Player::Release(OpIndex op, bool begins) {
  for (const Edge& edge : schedule_.Followers(op)) {
    if (edge.begins == begins && --waits_[edge.after] == 0) ready_.push(edge.after);
  }
}

void Player::Begin(OpIndex op) {
  states_[op] = State::kBegun;
  Release(op, /*begins=*/true);
}

void Player::End(OpIndex op) {
  states_[op] = State::kEnded;
  RankResult& rank = result_.ranks[schedule_.RankOf(op)];
  ++rank.operations;
  rank.ended = world_.timeline().elapsed();
  if (schedule_.ops()[op].kind == Kind::kSend) rank.bytes += schedule_.ops()[op].amount;
  --left_;
  Release(op, /*begins=*/false);
}

// ---- CPUs ----

// It begins when its CPU is free, and needs it for so long.
absl::Status Player::Occupy(OpIndex op, Duration takes) {
  const std::uint32_t cpu = schedule_.RankOf(op) * schedule_.cpus() + schedule_.ops()[op].cpu;
  const Time begins = std::max(cpu_free_[cpu], now());
  if (takes > latest_ - begins) {
    return absl::FailedPreconditionError(absl::StrCat(Describe(op), " ends after more than ",
                                                      kMostSimulated / std::chrono::hours(24),
                                                      " days of simulated time"));
  }
  cpu_free_[cpu] = begins + takes;
  if (states_[op] == State::kWaits) {
    if (begins > now()) {
      due_.Push(cpu, {begins, op, Moment::kBegins});
    } else {
      Begin(op);
    }
  }
  due_.Push(cpu, {begins + takes, op, Moment::kEnds});
  return absl::OkStatus();
}

absl::Status Player::Ready(OpIndex op) {
  const Op& what = schedule_.ops()[op];
  if (what.kind == Kind::kCalc) {
    constexpr std::uint64_t kMost = Duration::max().count();
    return Occupy(op, Duration(static_cast<std::int64_t>(std::min(what.amount, kMost))));
  }
  if (what.kind == Kind::kSend) return Occupy(op, post_takes_);
  Begin(op);
  const auto send = mail_[schedule_.RankOf(op)].Post(what, op);
  return send.has_value() ? Match(op, *send) : absl::OkStatus();
}

absl::Status Player::Match(OpIndex receive, OpIndex send) {
  if (schedule_.ops()[send].amount > schedule_.ops()[receive].amount) {
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(receive), " is shorter than its message: ", Describe(send)));
  }
  return Occupy(receive, poll_takes_);
}

absl::Status Player::Happens(OpIndex op, Moment moment) {
  if (moment == Moment::kBegins) {
    Begin(op);
  } else if (schedule_.ops()[op].kind == Kind::kSend) {
    order_.Sent(op);
    ASSIGN_OR_RETURN(const bool sent, Send(op));
    if (!sent) NicOf(schedule_.RankOf(op), schedule_.ops()[op].nic).waiting.push_back(op);
  } else {
    End(op);
  }
  return absl::OkStatus();
}

// What becomes ready together asks for its CPU in the order of the schedule.
absl::Status Player::RunDue() {
  while (true) {
    while (!due_.empty() && due_.first().at <= now()) {
      const Due due = due_.Pop();
      RETURN_IF_ERROR(Happens(due.op, due.moment));
    }
    if (ready_.empty()) return absl::OkStatus();
    while (!ready_.empty()) {
      const OpIndex first = ready_.top();
      ready_.pop();
      RETURN_IF_ERROR(Ready(first));
    }
  }
}

// ---- NICs ----

// False: its queue is full.
absl::StatusOr<bool> Player::Send(OpIndex op) {
  const Op& what = schedule_.ops()[op];
  const std::uint32_t rank = schedule_.RankOf(op);
  fabric::WriteRequest write;
  ASSIGN_OR_RETURN(write.peer, PeerOf(rank, what.nic, what.peer));
  Nic& nic = NicOf(rank, what.nic);
  write.source = nic.region->Local(0, what.amount);
  write.target = NicOf(what.peer, what.nic).region->remote();
  write.immediate = op;
  write.context = fabric::Context{op};
  const fabric::ErrorCode error = nic.endpoint->Write(write);
  if (error == fabric::ErrorCode::kAgain) return false;
  if (error != fabric::ErrorCode::kOk) return fabric::ToStatus(error, Describe(op));
  return true;
}

absl::Status Player::PostWaiting(Nic& nic) {
  while (!nic.waiting.empty()) {
    ASSIGN_OR_RETURN(const bool sent, Send(nic.waiting.front()));
    if (!sent) return absl::OkStatus();
    nic.waiting.pop_front();
  }
  return absl::OkStatus();
}

absl::Status Player::Arrived(std::uint32_t rank, const fabric::Completion& completion) {
  return order_.Arrived(*completion.immediate, [&](OpIndex send) {
    const auto receive =
        mail_[rank].Arrived(schedule_.RankOf(send), schedule_.ops()[send].tag, send);
    return receive.has_value() ? Match(*receive, send) : absl::OkStatus();
  });
}

absl::Status Player::Collect(std::uint32_t index) {
  Nic& nic = ends_[index];
  std::array<fabric::Completion, 64> read;
  while (true) {
    const fabric::ReadResult result = nic.queue->Read(read);
    if (result.error != fabric::ErrorCode::kOk) return fabric::ToStatus(result.error, "read");
    for (std::size_t i = 0; i < result.count; ++i) {
      if (!read[i].ok()) {
        return absl::InternalError(
            absl::StrCat("a message failed: ", nic.queue->ErrorText(read[i])));
      }
      if (read[i].immediate.has_value()) {
        RETURN_IF_ERROR(Arrived(index / nics_, read[i]));
      } else {
        End(static_cast<OpIndex>(*read[i].context));
      }
    }
    if (result.count < read.size()) return PostWaiting(nic);
  }
}

// ---- The run ----

std::string Player::Describe(OpIndex op) const {
  const Op& what = schedule_.ops()[op];
  const std::uint32_t rank = schedule_.RankOf(op);
  const auto any = [](std::uint32_t number) {
    return number == UINT32_MAX ? std::string("any") : absl::StrCat(number);
  };
  const std::string name =
      absl::StrCat("operation ", op - schedule_.OpsOf(rank).first + 1, " of rank ", rank);
  if (what.kind == Kind::kCalc) return absl::StrCat(name, " (calc ", what.amount, ")");
  return absl::StrCat(name, what.kind == Kind::kSend ? " (send " : " (recv ", what.amount,
                      what.kind == Kind::kSend ? "b to " : "b from ", any(what.peer), ", tag ",
                      any(what.tag), ")");
}

absl::Status Player::Stuck() const {
  std::uint64_t receives = 0;
  OpIndex first = 0;
  for (OpIndex op = 0; op < states_.size(); ++op) {
    if (states_[op] != State::kBegun) continue;
    if (receives++ == 0) first = op;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("deadlock: ", Describe(first), " has no message, and none is under way; ", left_,
                   " operations are left, ", receives, " of them receives that wait"));
}

absl::StatusOr<PlayResult> Player::Play() {
  for (OpIndex op = 0; op < waits_.size(); ++op) {
    for (const Edge& edge : schedule_.Followers(op)) ++waits_[edge.after];
  }
  for (OpIndex op = 0; op < waits_.size(); ++op) {
    if (waits_[op] == 0) ready_.push(op);
  }
  sim::Timeline& timeline = world_.timeline();
  std::uint64_t turns = 0;
  while (true) {
    RETURN_IF_ERROR(RunDue());
    const std::vector<std::uint32_t> rang = bell_.Take();
    for (const std::uint32_t nic : rang) RETURN_IF_ERROR(Collect(nic));
    if (++turns % 4096 == 0) options_.progress(waits_.size() - left_);
    if (!rang.empty()) continue;
    if (left_ == 0) break;
    if (!timeline.WaitUntil(due_.empty() ? coro::kNever : due_.first().at)) return Stuck();
  }
  for (const RankResult& rank : result_.ranks) {
    result_.simulated = std::max(result_.simulated, rank.ended);
  }
  for (const Mailbox& mail : mail_) result_.unreceived += mail.left();
  result_.events = timeline.event_count();
  world_.CheckRequests();
  for (const sim::Finding& finding : world_.findings()) {
    result_.findings.push_back(sim::ToText(finding));
  }
  return std::move(result_);
}

}  // namespace

absl::Status CheckMachines(std::uint64_t machines, std::uint64_t nics,
                           const sim::Profile& profile) {
  if (nics > profile.nics.size()) {
    return absl::InvalidArgumentError(absl::StrCat("machines of ", nics, " NICs: profile ",
                                                   profile.name, " has ", profile.nics.size()));
  }
  if (nics > kMostNics / machines) {
    return absl::InvalidArgumentError(absl::StrCat(machines, " machines of ", nics,
                                                   " NICs: at most ", kMostNics, " NICs in all"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PlayResult> Play(const Schedule& schedule, const sim::Profile& profile,
                                const PlayOptions& options) {
  RETURN_IF_ERROR(CheckMachines(schedule.ranks(), schedule.nics(), profile));
  if (std::uint64_t{schedule.ranks()} * schedule.cpus() > kMostCpus) {
    return absl::InvalidArgumentError(absl::StrCat(schedule.ranks(), " machines of ",
                                                   schedule.cpus(), " CPUs: at most ", kMostCpus,
                                                   " CPUs in all"));
  }
  if (!profile.device.rdma_write) {
    return absl::InvalidArgumentError(
        absl::StrCat("profile ", profile.name, " does not write: take p5"));
  }
  if (schedule.longest_message() > profile.device.max_rdma_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", schedule.longest_message(), " bytes: NICs of profile ",
                     profile.name, " write at most ", profile.device.max_rdma_size));
  }
  Player player(schedule, profile, options);
  RETURN_IF_ERROR(player.Open());
  return player.Play();
}

}  // namespace drydock::apps::goal
