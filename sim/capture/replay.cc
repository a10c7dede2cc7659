#include "drydock/sim/capture/replay.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/engine.h"
#include "drydock/fabric/faults/faulty_fabric.h"
#include "drydock/fabric/opened_nic.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/finding.h"

namespace drydock::sim::capture {
namespace {

using fabric::ErrorCode;
using fabric::OperationKind;

// How long something that has to come is waited for. Each time in vain halves it: a capture of
// which half cannot be done must not take hours of virtual time.
constexpr coro::Duration kPatience = std::chrono::seconds(10);

// A key that no NIC gives out, for an operation whose key belonged to no region.
constexpr std::uint64_t kNoKey = UINT32_MAX;

bool IsObject(StepKind kind) { return kind != StepKind::kPost && kind != StepKind::kRead; }

bool Closes(StepKind kind) {
  return kind == StepKind::kCloseRegion || kind == StepKind::kCloseEndpoint;
}

bool IsFilled(const Capture& capture) {
  return std::ranges::any_of(capture.nodes, [](const Node& node) {
    return std::ranges::any_of(node.operations, &Operation::filled);
  });
}

std::vector<coro::Duration> NextObjects(const std::vector<Step>& steps) {
  std::vector<coro::Duration> next(steps.size() + 1, coro::Duration::max());
  for (std::size_t i = steps.size(); i-- > 0;) {
    next[i] = IsObject(steps[i].kind) ? steps[i].time : next[i + 1];
  }
  return next;
}

class Replayer {
 public:
  Replayer(const Capture& capture, const ReplayOptions& options)
      : capture_(capture), options_(options), world_(options.seed, *options.profile) {}

  absl::StatusOr<ReplayRun> Run();

 private:
  // Where a machine's program stands.
  struct Cursor {
    std::size_t next = 0;
    coro::Duration since{};                  // when it came to this step
    bool pushed = false;                     // the step is taken without waiting for others
    std::vector<std::uint64_t> unsolicited;  // by queue: how many it has taken
    // By step: the time of the first one from there on that opens or closes something.
    std::vector<coro::Duration> next_object;
  };
  enum class Progress : std::uint8_t { kDone, kWaits };

  absl::StatusOr<std::unique_ptr<fabric::Fabric>> OpenFabric(Node const& node, std::size_t number);
  absl::Status OpenMachines();
  absl::Status OpenGhost();
  absl::StatusOr<bool> Advance(std::size_t number);
  bool IsItsTurn(std::size_t number, const Step& step) const;
  absl::StatusOr<Progress> Take(std::size_t number, const Step& step);
  absl::StatusOr<Progress> InsertPeer(Machine& machine, Index index);
  Progress Post(Machine& machine, Index index);
  Progress AwaitRead(std::size_t number, Index index);
  void FillSource(const Operation& read);
  fabric::RemoteBuffer RemoteOf(const Operation& operation) const;
  coro::Time DueOf(const Step& step) const;
  void Poll();
  void WaitForMore();
  bool GiveUpOne();
  void Skip(std::size_t number);
  void GoOn(Cursor& cursor);
  bool AllDone() const;
  const Step* Current(std::size_t number) const;
  ReplayRun Collect();

  const Capture& capture_;
  const ReplayOptions& options_;
  World world_;
  std::shared_ptr<void> watching_;
  // An endpoint that was closed at once: where peers lead that are in no trace.
  std::unique_ptr<fabric::Fabric> ghost_fabric_;
  fabric::Address ghost_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<Cursor> cursors_;
  std::vector<ReplayRun::Missing> missing_;
};

absl::StatusOr<ReplayRun> Replayer::Run() {
  world_.checks().OnEndlessLoop(
      [](EndlessLoop, const WaitGraph&) {});  // it is here that things wait
  watching_ = options_.watch(world_);
  RETURN_IF_ERROR(OpenGhost());
  RETURN_IF_ERROR(OpenMachines());
  while (!AllDone()) {
    Poll();
    bool progress = false;
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      ASSIGN_OR_RETURN(const bool moved, Advance(i));
      progress = progress || moved;
    }
    if (!progress && !GiveUpOne()) WaitForMore();
  }
  return Collect();
}

// ---- Machines ----

absl::StatusOr<std::unique_ptr<fabric::Fabric>> Replayer::OpenFabric(const Node& node,
                                                                     std::size_t number) {
  sim::Node& machine = world_.AddNode(absl::StrCat("file ", node.file + 1, ", ", node.name));
  std::unique_ptr<fabric::Fabric> fabric = options_.open(world_, machine);
  if (number >= options_.plans.size() || options_.plans[number].rules.empty()) return fabric;
  fabric::faults::FaultyFabricOptions faulty;
  ASSIGN_OR_RETURN(faulty.engine,
                   fabric::faults::FaultEngine::Create(
                       options_.plans[number], options_.seed,
                       {.decorator = fabric::faults::FaultsOf(fabric::faults::Layer::kDecorator)}));
  faulty.clock = &world_.timeline().backstage();
  faulty.wake_at = [this](coro::Time time) { world_.timeline().WakeAt(time); };
  return fabric::faults::OpenFaultyFabric(std::move(fabric), faulty);
}

absl::Status Replayer::OpenMachines() {
  for (std::size_t i = 0; i < capture_.nodes.size(); ++i) {
    ASSIGN_OR_RETURN(auto fabric, OpenFabric(capture_.nodes[i], i));
    ASSIGN_OR_RETURN(machines_.emplace_back(), Machine::Open(capture_.nodes[i], std::move(fabric)));
    Cursor& cursor = cursors_.emplace_back();
    cursor.unsolicited.resize(capture_.nodes[i].queues.size());
    cursor.next_object = NextObjects(capture_.nodes[i].steps);
  }
  return absl::OkStatus();
}

absl::Status Replayer::OpenGhost() {
  sim::Node& machine = world_.AddNode("nobody");
  ghost_fabric_ = options_.open(world_, machine);
  ASSIGN_OR_RETURN(const fabric::OpenedNic nic, fabric::OpenNic(*ghost_fabric_));
  ghost_ = nic.endpoint->address();
  return absl::OkStatus();
}

// ---- Steps ----

const Step* Replayer::Current(std::size_t number) const {
  const std::vector<Step>& steps = capture_.nodes[number].steps;
  return cursors_[number].next < steps.size() ? &steps[cursors_[number].next] : nullptr;
}

bool Replayer::AllDone() const {
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    if (Current(i) != nullptr) return false;
  }
  return true;
}

coro::Time Replayer::DueOf(const Step& step) const {
  const bool waits = options_.timing == Timing::kRecorded && step.kind != StepKind::kRead;
  return waits ? coro::After(Timeline::kStart, step.time) : Timeline::kStart;
}

// Takes every step of a machine that can be taken now. Whether there was one.
absl::StatusOr<bool> Replayer::Advance(std::size_t number) {
  Cursor& cursor = cursors_[number];
  bool moved = false;
  while (const Step* step = Current(number)) {
    if (world_.Now() < DueOf(*step) || !IsItsTurn(number, *step)) break;
    ASSIGN_OR_RETURN(const Progress progress, Take(number, *step));
    if (progress == Progress::kWaits) break;
    GoOn(cursor);
    moved = true;
  }
  return moved;
}

// Programs learn of each other's objects by ways that no trace shows. So a post comes after the
// objects that others had opened and closed before it, and nothing is closed before others have
// taken their earlier steps.
bool Replayer::IsItsTurn(std::size_t number, const Step& step) const {
  if (step.kind == StepKind::kRead || cursors_[number].pushed) return true;
  for (std::size_t other = 0; other < machines_.size(); ++other) {
    if (other == number) continue;
    const Cursor& cursor = cursors_[other];
    const Step* next = Current(other);
    if (next == nullptr) continue;
    if (Closes(step.kind) ? next->time < step.time : cursor.next_object[cursor.next] < step.time) {
      return false;
    }
  }
  return true;
}

void Replayer::GoOn(Cursor& cursor) {
  ++cursor.next;
  cursor.since = world_.timeline().elapsed();
  cursor.pushed = false;
}

absl::StatusOr<Replayer::Progress> Replayer::Take(std::size_t number, const Step& step) {
  Machine& machine = *machines_[number];
  switch (step.kind) {
    case StepKind::kOpenRegion:
      RETURN_IF_ERROR(machine.OpenRegion(step.index));
      return Progress::kDone;
    case StepKind::kCloseRegion:
      machine.CloseRegion(step.index);
      return Progress::kDone;
    case StepKind::kOpenEndpoint:
      RETURN_IF_ERROR(machine.OpenEndpoint(step.index));
      return Progress::kDone;
    case StepKind::kCloseEndpoint:
      machine.CloseEndpoint(step.index);
      return Progress::kDone;
    case StepKind::kInsertPeer:
      return InsertPeer(machine, step.index);
    case StepKind::kRemovePeer:
      machine.RemovePeer(step.index);
      return Progress::kDone;
    case StepKind::kPost:
      return Post(machine, step.index);
    case StepKind::kRead:
      return AwaitRead(number, step.index);
  }
  return Progress::kDone;
}

absl::StatusOr<Replayer::Progress> Replayer::InsertPeer(Machine& machine, Index index) {
  const Elsewhere& endpoint = machine.node().peers[index].endpoint;
  fabric::Address address = ghost_;
  if (endpoint.found()) {
    const auto opened = machines_[endpoint.node]->address(endpoint.index);
    if (!opened.has_value()) return Progress::kWaits;
    address = *opened;
  }
  RETURN_IF_ERROR(machine.InsertPeer(index, address));
  return Progress::kDone;
}

// Where the operation goes here: as far from the beginning of its region as it was there.
fabric::RemoteBuffer Replayer::RemoteOf(const Operation& operation) const {
  if (!operation.target.found()) return {.address = operation.remote.address, .key = kNoKey};
  const Region& region = capture_.nodes[operation.target.node].regions[operation.target.index];
  const auto here = machines_[operation.target.node]->remote(operation.target.index);
  if (!here.has_value()) return {.address = operation.remote.address, .key = kNoKey};
  return {.address = here->address + (operation.remote.address - region.remote.address),
          .key = here->key};
}

// Fills in the bytes that the peer's program had put there, as far as the read tells.
void Replayer::FillSource(const Operation& read) {
  if (!read.data.has_value() || !read.target.found()) return;
  const Region& region = capture_.nodes[read.target.node].regions[read.target.index];
  const std::uint64_t offset = read.remote.address - region.remote.address;
  std::byte* bytes = machines_[read.target.node]->bytes(read.target.index);
  if (bytes == nullptr || offset > region.length || read.bytes > region.length - offset) return;
  if (read.bytes > 0 && std::memcmp(bytes + offset, read.data->data(), read.bytes) != 0) {
    std::memcpy(bytes + offset, read.data->data(), read.bytes);
  }
}

Replayer::Progress Replayer::Post(Machine& machine, Index index) {
  const Operation& operation = machine.node().operations[index];
  if (operation.kind == OperationKind::kRead) FillSource(operation);
  const ErrorCode posted = machine.Post(index, RemoteOf(operation));
  return posted == ErrorCode::kAgain ? Progress::kWaits : Progress::kDone;
}

Replayer::Progress Replayer::AwaitRead(std::size_t number, Index index) {
  const Machine& machine = *machines_[number];
  const Seen& seen = capture_.nodes[number].seen[index];
  if (seen.operation == kNowhere) {
    std::uint64_t& taken = cursors_[number].unsolicited[seen.queue];
    if (machine.unsolicited(seen.queue) <= taken) return Progress::kWaits;
    ++taken;
    return Progress::kDone;
  }
  const Outcome& outcome = machine.outcomes()[seen.operation];
  if (outcome.posted != ErrorCode::kOk) return Progress::kDone;  // it can have none
  return outcome.status.has_value() ? Progress::kDone : Progress::kWaits;
}

// ---- Time ----

void Replayer::Poll() {
  for (const auto& machine : machines_) machine->Poll(world_.timeline().elapsed());
}

coro::Duration PatienceAfter(std::uint64_t missing) {
  return kPatience / (std::int64_t{1} << std::min<std::uint64_t>(missing, 20));
}

// Waits for a time that is recorded, or something that happens; or until patience ends.
void Replayer::WaitForMore() {
  coro::Time until = coro::kNever;
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const Step* step = Current(i);
    if (step == nullptr) continue;
    const coro::Time due = DueOf(*step);
    const coro::Time patience = coro::After(std::max(due, Timeline::kStart + cursors_[i].since),
                                            PatienceAfter(missing_.size()));
    // A patience that is over, while another program has yet to go on, is no reason to stand still.
    const coro::Time next = due > world_.Now() ? due : patience;
    if (next > world_.Now()) until = std::min(until, next);
  }
  world_.WaitUntil(until);
}

// Gives up a step whose event is not coming, and returns whether there was one: first a step that
// only waits for its turn, which clocks that differ may have told wrongly.
bool Replayer::GiveUpOne() {
  const bool quiet = world_.timeline().next_event() == coro::kNever;
  std::optional<std::size_t> chosen;
  const auto rank = [this](std::size_t number) {
    return std::pair(IsItsTurn(number, *Current(number)), cursors_[number].since);
  };
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const Step* step = Current(i);
    if (step == nullptr) continue;
    const coro::Time due = DueOf(*step);
    if (due > world_.Now()) {
      if (quiet) return false;  // this program will go on by itself
      continue;
    }
    const coro::Time since = std::max(due, Timeline::kStart + cursors_[i].since);
    const bool in_vain = quiet || world_.Now() - since >= PatienceAfter(missing_.size());
    if (in_vain && (!chosen.has_value() || rank(i) < rank(*chosen))) chosen = i;
  }
  if (chosen.has_value()) Skip(*chosen);
  return chosen.has_value();
}

void Replayer::Skip(std::size_t number) {
  const Step* step = Current(number);
  if (!IsItsTurn(number, *step)) {
    cursors_[number].pushed = true;
    return;
  }
  ReplayRun::Missing& missing = missing_.emplace_back();
  missing.node = number;
  missing.kind = step->kind;
  if (step->kind == StepKind::kPost) {
    machines_[number]->GiveUp(step->index, ErrorCode::kDeadlineExceeded);
    missing.operation = step->index;
  } else if (step->kind == StepKind::kRead) {
    missing.operation = capture_.nodes[number].seen[step->index].operation;
  }
  GoOn(cursors_[number]);
}

// ---- The end ----

ReplayRun Replayer::Collect() {
  ReplayRun run;
  Poll();
  for (const auto& machine : machines_) {
    ReplayRun::NodeRun& node = run.nodes.emplace_back();
    node.outcomes = machine->outcomes();
    node.read_back = machine->read_back();
    for (Index i = 0; i < machine->node().endpoints.size(); ++i) {
      node.endpoint_numbers.push_back(machine->endpoint_number(i));
    }
    for (Index i = 0; i < machine->node().regions.size(); ++i) {
      node.digests.push_back(machine->digest(i));
    }
  }
  run.missing = missing_;
  run.simulated = world_.timeline().elapsed();
  world_.CheckRequests();
  const bool filled = IsFilled(capture_);
  for (const Finding& finding : world_.findings()) {
    if (filled && finding.check == Check::kBufferRace) continue;
    run.findings.push_back(ToText(finding));
  }
  run.digest = world_.digest().ToHex();
  return run;
}

}  // namespace

absl::StatusOr<ReplayRun> Replay(const Capture& capture, const ReplayOptions& options) {
  return Replayer(capture, options).Run();
}

}  // namespace drydock::sim::capture
