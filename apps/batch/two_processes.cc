#include "drydock/apps/batch/two_processes.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/batch/mover.h"
#include "drydock/apps/batch/pinning.h"
#include "drydock/apps/batch/reception.h"
#include "drydock/apps/batch/wire_messages.h"
#include "drydock/apps/common/frames.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/epoll_selector.h"
#include "drydock/coro/event.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/when_all.h"
#include "drydock/coro/when_any.h"
#include "drydock/fabric/async/transfer/engine.h"
#include "drydock/fabric/async/transfer/rail_threads.h"

namespace drydock::apps::batch {
namespace {

using namespace std::chrono_literals;
using fabric::async::transfer::EngineOptions;
using fabric::async::transfer::RailThreads;
using fabric::async::transfer::RailThreadsOptions;

constexpr std::uint64_t kMostMemory = std::uint64_t{8} << 30;

// One side: an engine for each GPU, on NICs of the fabric, one after the other. Where there are
// fewer, several endpoints share one.
class Side {
 public:
  static absl::StatusOr<std::unique_ptr<Side>> Open(coro::EventLoop& loop, const TwoProcessRun& run,
                                                    const Load& load) {
    auto side = std::make_unique<Side>();
    side->load_ = load;
    if (load.threads > 0) side->threads_ = MakeThreads(run, load);
    EngineOptions options;
    options.policy = load.policy;
    options.nic.window = load.window;
    options.nic.burst = load.burst;
    options.nic.operation_timeout = load.timeout;
    options.nic.completion_timeout = load.timeout;
    options.same_nic_only = true;  // NIC i of one side and NIC i of the other are partners
    options.threads = side->threads_.get();
    options.shared_nics = load.nics();
    for (std::size_t gpu = 0; gpu < load.gpus; ++gpu) {
      options.first_shared_nic = gpu * load.nics_per_gpu;
      std::vector<fabric::Domain*> domains;
      for (std::size_t i = 0; i < load.nics_per_gpu; ++i) {
        const std::size_t nic = NicOf(run, gpu * load.nics_per_gpu + i);
        ASSIGN_OR_RETURN(auto domain, run.fabric->OpenDomain(nic));
        domains.push_back(domain.get());
        side->domains_.push_back(std::move(domain));
      }
      ASSIGN_OR_RETURN(side->engines.emplace_back(), Engine::Open(loop, domains, options));
      ASSIGN_OR_RETURN(side->memories.emplace_back(),
                       side->engines.back()->Allocate(MemoryOf(load)));
    }
    if (side->threads_ != nullptr) side->threads_->Start();
    return side;
  }

  ~Side() {
    if (threads_ != nullptr) threads_->Stop();
  }

  std::vector<Engine*> Engines() const {
    std::vector<Engine*> all;
    for (const auto& engine : engines) all.push_back(engine.get());
    return all;
  }
  std::vector<PeerDescriptor> Descriptors() const {
    std::vector<PeerDescriptor> descriptors;
    for (const auto& engine : engines) descriptors.push_back(engine->descriptor());
    return descriptors;
  }
  const Load& load() const { return load_; }

 private:
  // EFA's NICs are all alike; of other providers the first one is meant.
  static std::size_t NicOf(const TwoProcessRun& run, std::size_t number) {
    const auto nics = run.fabric->nics();
    const bool efa = nics[run.first_nic].address_format == "FI_ADDR_EFA";
    return (run.first_nic + (efa ? number : 0)) % nics.size();
  }
  static std::unique_ptr<RailThreads> MakeThreads(const TwoProcessRun& run, const Load& load) {
    RailThreadsOptions options;
    options.threads = load.threads;
    if (load.pin) {
      std::vector<int> nodes(load.threads);  // of each thread's first NIC
      for (std::size_t nic = load.nics(); nic-- > 0;) {
        nodes[RailThreads::ThreadOf(nic, load.nics(), load.threads)] =
            run.fabric->nics()[NicOf(run, nic)].numa_node;
      }
      options.on_start = [nodes](std::size_t thread) { PinThisThreadToNode(nodes[thread]); };
    }
    return std::make_unique<RailThreads>(std::move(options));
  }

  Load load_;
  std::unique_ptr<RailThreads> threads_;
  std::vector<std::unique_ptr<fabric::Domain>> domains_;

 public:
  std::vector<std::unique_ptr<Engine>> engines;  // by GPU; die first
  std::vector<MemoryRef> memories;
};

coro::Task<absl::Status> ForAll(std::vector<coro::Task<absl::Status>> tasks) {
  const std::vector<absl::Status> results = co_await coro::WhenAll(std::move(tasks));
  for (const absl::Status& result : results) CO_RETURN_IF_ERROR(result);
  co_return absl::OkStatus();
}

coro::Time DeadlineOf(const Load& load) {
  return coro::After(coro::EventLoop::Current().Now(), load.timeout);
}

// ---- The sender ----

class Sender {
 public:
  Sender(Side& side, const TwoProcessRun& run)
      : side_(side),
        run_(run),
        watch_(side.Engines(), side.load(), run.fabric->nics()[run.first_nic].link_gbps, stderr,
               run.progress && isatty(STDERR_FILENO) != 0) {}

  coro::Task<absl::StatusOr<BatchResult>> Go(coro::EpollSelector& io, coro::TcpAddress to) {
    const Load& load = side_.load();
    CO_ASSIGN_OR_RETURN(const coro::Descriptor peer,
                        co_await coro::Connect(io, to, DeadlineOf(load)));
    CO_RETURN_IF_ERROR(co_await Greet(peer));
    BatchResult result;
    coro::Scope both(coro::OnError::kCancel);
    both.Spawn(WriteAll(result));
    both.Spawn(HearVerdict(peer));
    CO_RETURN_IF_ERROR(co_await both.Join());
    result.correct = verdict_.correct;
    result.duplicates = verdict_.duplicates;
    co_return result;
  }

 private:
  // Returns when the receiver has all, and has said so.
  coro::Task<absl::Status> WriteAll(BatchResult& result) {
    coro::EventLoop& loop = coro::EventLoop::Current();
    if (side_.load().warm_up) CO_RETURN_IF_ERROR(co_await ForEvery(&PageSender::WarmUp));
    watch_.Begin(loop.Now());
    coro::Scope scope;
    scope.Spawn(watch_.Run(20ms));
    const absl::Status sent = co_await ForEvery(&PageSender::Send);
    result = watch_.End(loop.Now());
    scope.Cancel();
    const absl::Status ended = co_await scope.Join();
    static_cast<void>(ended);  // cancelled
    CO_RETURN_IF_ERROR(sent);
    const coro::Time deadline = DeadlineOf(side_.load());
    const bool heard = co_await heard_.Wait(deadline);
    if (heard) co_return absl::OkStatus();
    co_return absl::DeadlineExceededError("send: the receiver has not said in time what came");
  }

  // The receiver says nothing before, and perhaps before the last page has its completion here.
  coro::Task<absl::Status> HearVerdict(const coro::Descriptor& peer) {
    const absl::StatusOr<std::vector<std::byte>> answer =
        co_await ReceiveFrame(peer, kMostMessageBytes, coro::kNever);
    if (absl::IsInvalidArgument(answer.status())) co_return answer.status();
    if (!answer.ok()) {
      co_return absl::UnavailableError("send: the receiver has ended before it had all pages");
    }
    CO_ASSIGN_OR_RETURN(verdict_, Verdict::Parse(*answer));
    if (!verdict_.error.empty()) {
      co_return absl::FailedPreconditionError(absl::StrCat("receiver: ", verdict_.error));
    }
    heard_.Set();
    co_return absl::OkStatus();
  }

  coro::Task<absl::Status> Greet(const coro::Descriptor& peer) {
    const Load& load = side_.load();
    Hello hello;
    hello.load = load;
    hello.seed = run_.seed;
    hello.engines = side_.Descriptors();
    CO_RETURN_IF_ERROR(co_await SendFrame(peer, hello.Serialize(), DeadlineOf(load)));
    CO_ASSIGN_OR_RETURN(const std::vector<std::byte> answer,
                        co_await ReceiveFrame(peer, kMostMessageBytes, DeadlineOf(load)));
    CO_ASSIGN_OR_RETURN(const Ready ready, Ready::Parse(answer));
    if (!ready.refusal.empty()) {
      co_return absl::FailedPreconditionError(
          absl::StrCat("the receiver refuses: ", ready.refusal));
    }
    if (ready.engines.size() != load.gpus) {
      co_return absl::InvalidArgumentError("the receiver has another number of GPUs");
    }
    for (std::size_t gpu = 0; gpu < load.gpus; ++gpu) {
      Engine& engine = *side_.engines[gpu];
      const PeerDescriptor there = ready.engines[gpu];
      CO_ASSIGN_OR_RETURN(const std::uint32_t number, co_await engine.Connect(there));
      CO_ASSIGN_OR_RETURN(RemoteRef target, engine.Import(number, ready.memories[gpu]));
      FillPlaces(side_.memories[gpu]->bytes(), run_.seed, gpu);
      senders_.push_back(
          std::make_unique<PageSender>(engine, side_.memories[gpu], std::move(target), load));
    }
    co_return absl::OkStatus();
  }

  coro::Task<absl::Status> ForEvery(coro::Task<absl::Status> (PageSender::*what)(coro::Time)) {
    std::vector<coro::Task<absl::Status>> tasks;
    for (const auto& sender : senders_) {
      tasks.push_back((sender.get()->*what)(DeadlineOf(side_.load())));
    }
    co_return co_await ForAll(std::move(tasks));
  }

  Side& side_;
  const TwoProcessRun& run_;
  Watch watch_;
  std::vector<std::unique_ptr<PageSender>> senders_;
  Verdict verdict_;
  coro::Event heard_;
};

// ---- The receiver ----

class Receiver {
 public:
  Receiver(coro::EventLoop& loop, const TwoProcessRun& run, const Load& load)
      : loop_(loop), run_(run), own_(load) {}

  coro::Task<absl::Status> Serve(const coro::Descriptor& listener) {
    // Its sender is on its way where a launcher has started both; a person's may take its time.
    const coro::Time patience = run_.announce ? DeadlineOf(own_) : coro::kNever;
    CO_ASSIGN_OR_RETURN(const Caller sender, co_await AwaitSender(listener, run_.log, patience));
    const coro::Descriptor& peer = sender.connection;
    const absl::Status ready = co_await GetReady(peer, sender.hello);
    if (!ready.ok()) {
      co_await Refuse(peer, ready);
      co_return ready;
    }
    SayPages("expects");
    Verdict verdict;
    std::vector<coro::Task<absl::Status>> ends;
    ends.push_back(ReceiveAll());
    ends.push_back(SenderIsGone(peer));
    const absl::Status received = (co_await coro::WhenAny(std::move(ends))).second;
    verdict.error = std::string(received.message());
    verdict.correct = received.ok() && IsCorrect();
    for (const auto& receiver : receivers_) verdict.duplicates += receiver->duplicates();
    const absl::Status told = co_await SendFrame(peer, verdict.Serialize(), DeadlineOf(own_));
    CO_RETURN_IF_ERROR(received);
    CO_RETURN_IF_ERROR(told);
    // The sender has its answer, and closes first.
    std::array<std::byte, 1> nothing;
    const auto end = co_await coro::Read(peer, nothing, DeadlineOf(own_));
    static_cast<void>(end);
    if (!verdict.correct) co_return absl::DataLossError("receive: the data is wrong");
    SayPages("received");
    co_return absl::OkStatus();
  }

 private:
  coro::Task<absl::Status> GetReady(const coro::Descriptor& peer, const Hello& hello) {
    Load load = hello.load;
    load.threads = own_.threads;
    load.pin = own_.pin;
    load.policy = own_.policy;
    load.timeout = own_.timeout;
    if (MemoryOf(load) > kMostMemory / load.gpus) {
      co_return absl::InvalidArgumentError("the sender asks for more memory than there is");
    }
    seed_ = hello.seed;
    CO_ASSIGN_OR_RETURN(side_, Side::Open(loop_, run_, load));
    Ready ready;
    for (std::size_t gpu = 0; gpu < load.gpus; ++gpu) {
      const PeerDescriptor there = hello.engines[gpu];
      const absl::StatusOr<std::uint32_t> number = co_await side_->engines[gpu]->Connect(there);
      CO_RETURN_IF_ERROR(number.status());
      CO_ASSIGN_OR_RETURN(receivers_.emplace_back(),
                          PageReceiver::Expect(*side_->engines[gpu], side_->memories[gpu], load));
      ready.memories.push_back(side_->memories[gpu]->descriptor());
    }
    ready.engines = side_->Descriptors();
    co_return co_await SendFrame(peer, ready.Serialize(), DeadlineOf(own_));
  }

  void SayPages(absl::string_view label) const {
    const Load& load = side_->load();
    run_.log(label, absl::StrCat(FormatCount(load.total_pages(), "page"), ", ",
                                 FormatBytes(load.total_bytes())));
  }

  coro::Task<absl::Status> ReceiveAll() {
    std::vector<coro::Task<absl::Status>> tasks;
    for (const auto& receiver : receivers_) tasks.push_back(receiver->Receive(DeadlineOf(own_)));
    co_return co_await ForAll(std::move(tasks));
  }
  // A sender keeps its connection until it has its verdict. One whose machine is gone, or cut off,
  // closes nothing: ReceiveAll gives it up.
  static coro::Task<absl::Status> SenderIsGone(const coro::Descriptor& peer) {
    std::array<std::byte, 1> nothing;
    for (;;) {
      const absl::StatusOr<std::size_t> read = co_await coro::Read(peer, nothing, coro::kNever);
      if (!read.ok() || *read == 0) break;
    }
    co_return absl::UnavailableError("receive: the sender has ended before all pages came");
  }
  bool IsCorrect() const {
    for (std::size_t gpu = 0; gpu < receivers_.size(); ++gpu) {
      if (!receivers_[gpu]->IsComplete(seed_, gpu)) return false;
    }
    return true;
  }

  coro::EventLoop& loop_;
  const TwoProcessRun& run_;
  const Load own_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<Side> side_;
  std::vector<std::unique_ptr<PageReceiver>> receivers_;
};

}  // namespace

absl::StatusOr<BatchResult> RunSender(const TwoProcessRun& run, const FindReceiver& find_receiver,
                                      const Load& load) {
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  ASSIGN_OR_RETURN(const auto io, coro::EpollSelector::Open(loop));
  ASSIGN_OR_RETURN(const auto side, Side::Open(loop, run, load));
  ASSIGN_OR_RETURN(const coro::TcpAddress to, find_receiver());
  Sender sender(*side, run);
  return loop.Run(sender.Go(*io, to));
}

absl::Status RunReceiver(const TwoProcessRun& run, const coro::TcpAddress& at, const Load& load) {
  coro::SteadyClock clock;
  coro::EventLoop loop(clock);
  ASSIGN_OR_RETURN(const auto io, coro::EpollSelector::Open(loop));
  ASSIGN_OR_RETURN(const coro::Descriptor listener, coro::Listen(*io, at));
  ASSIGN_OR_RETURN(const coro::TcpAddress here, coro::LocalAddress(listener));
  run.log("address", here.ToString());
  if (run.announce) RETURN_IF_ERROR(run.announce(here));
  Receiver receiver(loop, run, load);
  return loop.Run(receiver.Serve(listener));
}

}  // namespace drydock::apps::batch
