#include "drydock/apps/explore/transfer_scenario.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/keyed_bytes.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/sleep.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/transfer/barrier_group.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/fabric.h"
#include "drydock/sim/driver/sim_fabric.h"
#include "drydock/sim/world/world.h"

namespace drydock::apps {
namespace {

using fabric::async::transfer::BarrierGroup;
using fabric::async::transfer::BarrierGroupOptions;
using fabric::async::transfer::Engine;
using fabric::async::transfer::EngineOptions;
using fabric::async::transfer::MemoryRef;
using fabric::async::transfer::PagesShape;
using fabric::async::transfer::PeerDescriptor;
using fabric::async::transfer::RemoteRef;
using sim::explore::Needs;
using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Parameters;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"pages", 24, 1, 4096, "that are written"},
    Parameter{"page_bytes", 1024, 8, 1 << 20, "bytes of a page"},
};
constexpr std::size_t kNics = 2;
constexpr std::size_t kWindow = 16;
constexpr std::uint32_t kTransfer = 1;
constexpr std::uint32_t kMeeting = 2;
// Of the whole program: more than a device plausibly waits for a peer that is silent
// (sim/profile/unpublished.h), and than an engine waits for a completion.
constexpr coro::Duration kPatience = std::chrono::seconds(100);

// One machine. Members die in reverse order, the engine first.
struct Station {
  sim::Node* node = nullptr;
  std::unique_ptr<fabric::Fabric> fabric;
  std::vector<std::unique_ptr<fabric::Domain>> domains;
  std::unique_ptr<Engine> engine;
  MemoryRef data;
  MemoryRef flag;
  std::unique_ptr<BarrierGroup> group;
};

absl::Status Open(Trial& trial, coro::EventLoop& loop, const char* name, Station& station) {
  station.node = &trial.world().AddNode(name);
  ASSIGN_OR_RETURN(station.fabric,
                   trial.Decorate(sim::OpenSimFabric(trial.world(), *station.node)));
  std::vector<fabric::Domain*> domains;
  for (std::size_t i = 0; i < kNics; ++i) {
    ASSIGN_OR_RETURN(auto domain, station.fabric->OpenDomain(i));
    domains.push_back(domain.get());
    station.domains.push_back(std::move(domain));
  }
  EngineOptions options;
  options.nic.window = kWindow;
  options.nic.burst = 4;
  options.nic.operation_timeout = std::chrono::seconds(3);
  ASSIGN_OR_RETURN(station.engine, Engine::Open(loop, domains, options));
  const std::size_t bytes = trial.parameter("pages") * trial.parameter("page_bytes");
  ASSIGN_OR_RETURN(station.data, station.engine->Allocate(bytes));
  ASSIGN_OR_RETURN(station.flag, station.engine->Allocate(BarrierGroup::kFlagBytes));
  return absl::OkStatus();
}

// What the sender's page is full of: differs from page to page, and from seed to seed.
std::uint64_t KeyOf(const Trial& trial, std::uint64_t page) {
  return coro::Combine(trial.seed(), page);
}

// One program in one trial: both machines and what is true of them.
class Program {
 public:
  explicit Program(Trial& trial)
      : trial_(trial),
        pages_(static_cast<std::uint32_t>(trial.parameter("pages"))),
        page_bytes_(trial.parameter("page_bytes")) {}

  coro::Task<absl::Status> Main() {
    coro::EventLoop& loop = coro::EventLoop::Current();
    give_up_ = coro::After(loop.Now(), kPatience);
    CO_RETURN_IF_ERROR(Open(trial_, loop, "sender", sender_));
    CO_RETURN_IF_ERROR(Open(trial_, loop, "receiver", receiver_));
    CO_ASSIGN_OR_RETURN(const std::uint32_t to_receiver, co_await Connect(sender_, receiver_, 0));
    CO_ASSIGN_OR_RETURN(const std::uint32_t to_sender, co_await Connect(receiver_, sender_, 1));
    CO_RETURN_IF_ERROR(Introduce(sender_, to_receiver, receiver_, 1));
    CO_RETURN_IF_ERROR(Introduce(receiver_, to_sender, sender_, 0));
    CO_ASSIGN_OR_RETURN(target_, sender_.engine->Import(to_receiver, receiver_.data->descriptor()));
    coro::Scope harm;  // goes with the program
    harm.Spawn(LoseANic());
    coro::Scope programs(coro::OnError::kCancel);
    programs.Spawn(Receive());
    programs.Spawn(Send());
    co_return co_await programs.Join();
  }

  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  // `self`: the number of `from` at the barrier.
  coro::Task<absl::StatusOr<std::uint32_t>> Connect(Station& from, Station& to, std::size_t self) {
    BarrierGroupOptions options;
    options.transfer = kMeeting;
    options.self = self;
    options.members = 2;
    from.group = std::make_unique<BarrierGroup>(*from.engine, from.flag, options);
    const PeerDescriptor peer = to.engine->descriptor();
    co_return co_await from.engine->Connect(peer);
  }

  absl::Status Introduce(Station& from, std::uint32_t peer, Station& to, std::size_t number) {
    ASSIGN_OR_RETURN(RemoteRef flag, from.engine->Import(peer, to.flag->descriptor()));
    std::vector<RemoteRef> flags(2);
    flags[number] = std::move(flag);
    from.group->Connect(std::move(flags));
    return absl::OkStatus();
  }

  // A NIC dies, or restarts, somewhere between the first and the last page, or after them.
  coro::Task<absl::Status> LoseANic() {
    constexpr std::uint64_t kHarm = 0x6861726d;
    const std::uint64_t key = coro::Combine(kHarm, trial_.seed());
    const std::uint64_t what = coro::Below(coro::Combine(key, 0), 4);
    if (what == 0) co_return absl::OkStatus();
    const auto when = static_cast<std::int64_t>(coro::Below(coro::Combine(key, 1), 80'000));
    co_await coro::Sleep(coro::Duration(when));
    sim::Node& node = *(what == 1 ? sender_ : receiver_).node;
    sim::Nic& nic = node.nic(coro::Below(coro::Combine(key, 2), kNics));
    if (coro::Below(coro::Combine(key, 3), 3) == 0) {
      nic.Reset();
    } else {
      nic.Kill();
    }
    co_return absl::OkStatus();
  }

  // The pages land in the opposite order, and are posted in their own.
  coro::Task<absl::Status> Send() {
    std::vector<std::uint32_t> places;
    const std::span<std::byte> bytes = sender_.data->bytes();
    for (std::uint32_t page = 0; page < pages_; ++page) {
      places.push_back(pages_ - 1 - page);
      coro::FillKeyed(bytes.subspan(page * page_bytes_, page_bytes_), KeyOf(trial_, page));
    }
    PagesShape shape;
    shape.pages = pages_;
    shape.page_bytes = page_bytes_;
    shape.to.indices = places;
    CO_RETURN_IF_ERROR(co_await sender_.engine->WritePages(
        sender_.data, target_, shape, {.transfer = kTransfer, .deadline = give_up_}));
    done_ = true;
    co_return co_await sender_.engine->Barrier(*sender_.group, give_up_);
  }

  coro::Task<absl::Status> Receive() {
    CO_ASSIGN_OR_RETURN(const auto arrived, receiver_.engine->Expect(kTransfer, pages_));
    const bool all = co_await arrived->Reached(give_up_);
    if (!all) {
      co_return absl::DeadlineExceededError(
          absl::StrCat(arrived->distinct(), " of ", pages_, " pages were announced"));
    }
    Check();
    CO_RETURN_IF_ERROR(co_await receiver_.engine->Barrier(*receiver_.group, give_up_));
    if (!done_) wrong_ = "the receiver left the barrier before the sender had come";
    if (receiver_.engine->arrival_counters().pages != pages_ + 1) {
      wrong_ = "something was counted twice";
    }
    co_return absl::OkStatus();
  }

  void Check() {
    const std::span<const std::byte> bytes = receiver_.data->bytes();
    for (std::uint32_t page = 0; page < pages_; ++page) {
      const std::uint64_t begin = (pages_ - 1 - page) * page_bytes_;
      if (coro::HoldsKeyed(bytes.subspan(begin, page_bytes_), KeyOf(trial_, page))) continue;
      wrong_ = absl::StrCat("page ", page, " was announced, and is not there");
      return;
    }
  }

  Trial& trial_;
  const std::uint32_t pages_;
  const std::uint64_t page_bytes_;
  Station sender_;
  Station receiver_;
  RemoteRef target_;
  coro::Time give_up_{};
  bool done_ = false;  // the sender has come to the barrier
  std::optional<std::string> wrong_;
};

class Scenario final : public sim::explore::Scenario {
 public:
  std::string_view name() const override { return "transfer"; }
  std::string_view description() const override {
    return "pages by two NICs, of which one may die; counted, then a barrier";
  }
  std::span<const Parameter> parameters() const override { return kParameters; }
  std::optional<Needs> needs(const Parameters&) const override {
    // A NIC may receive all that both of the sender's have under way.
    return Needs{
        .registrations = 2,
        .address_handles = kNics + 1,  // of the NIC itself, when it is asked for a sign of life
        .completions = 2 * kNics * kWindow};
  }

  Outcome Run(Trial& trial) const override {
    coro::EventLoop loop(trial.clock());
    Program run(trial);
    const absl::Status status = loop.Run(run.Main());
    if (run.wrong().has_value()) return Outcome::WrongData(*run.wrong());
    return Outcome::Of(status);
  }
};

}  // namespace

const sim::explore::Scenario& TransferScenario() {
  static const Scenario scenario;
  return scenario;
}

}  // namespace drydock::apps
