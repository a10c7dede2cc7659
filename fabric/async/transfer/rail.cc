#include "drydock/fabric/async/transfer/rail.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/transfer/immediate.h"

namespace drydock::fabric::async::transfer {
namespace {

// After kAgain: the first wait, and the longest, to which doubling leads.
constexpr coro::Duration kFirstWait = std::chrono::microseconds(1);
constexpr coro::Duration kMostWait = std::chrono::milliseconds(1);
// How often in its time-out an operation is looked at.
constexpr int kLooks = 4;
// Immediates that wait to be counted, before the completion queue is left unread.
constexpr std::size_t kArrivals = 4096;

// Of the write that asks for a sign of life: no number of an operation.
constexpr Context kQuestion{UINT64_MAX};

Context ContextOf(std::uint32_t generation, std::uint32_t number) {
  return static_cast<Context>(std::uint64_t{generation} << 32 | number);
}

// Errors that end the NIC and not only the operation.
bool EndsNic(ErrorCode error) {
  return error == ErrorCode::kCanceled || error == ErrorCode::kClosed ||
         error == ErrorCode::kDeviceFault;
}

// Only one thread writes a counter: no need to lock the bus.
void Count(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

Rail::Alarm::Alarm(Rail& owner, void (Rail::*function)())
    : TimerNode([](TimerNode& node) {
        auto& alarm = static_cast<Alarm&>(node);
        (alarm.rail.*alarm.call)();
      }),
      rail(owner),
      call(function) {}

// ---- Opening ----

absl::StatusOr<std::unique_ptr<Rail>> Rail::Open(Domain& domain, std::size_t index,
                                                 const RailOptions& options) {
  if (options.window == 0 || options.burst == 0 || options.burst > kMostBurst) {
    return absl::InvalidArgumentError(absl::StrCat("open NIC for transfers: a window of ",
                                                   options.window, " and bursts of ", options.burst,
                                                   "; it takes 1 or more, and 1 to ", kMostBurst));
  }
  ASSIGN_OR_RETURN(auto queue,
                   domain.OpenCompletionQueue({.depth = options.completion_queue_depth}));
  ASSIGN_OR_RETURN(auto peers, domain.OpenAddressVector());
  ASSIGN_OR_RETURN(auto endpoint, domain.OpenEndpoint({.send_queue = queue.get(),
                                                       .receive_queue = queue.get(),
                                                       .address_vector = peers.get()}));
  const std::size_t window = std::max<std::size_t>(
      1, std::min({options.window, endpoint->limits().send_queue_depth, queue->depth() / 2}));
  std::unique_ptr<Rail> rail(new Rail(domain, index, window, options));
  rail->queue_ = std::move(queue);
  rail->peers_ = std::move(peers);
  rail->endpoint_ = std::move(endpoint);
  rail->address_ = rail->endpoint_->address();
  return rail;
}

Rail::Rail(Domain& domain, std::size_t index, std::size_t window, const RailOptions& options)
    : nic_(domain.nic()),
      index_(index),
      window_(window),
      burst_(std::min(options.burst, window)),
      timeout_(options.operation_timeout),
      lost_after_(options.completion_timeout),
      // So that the next bursts are there when the window opens.
      commands_(window + 2 * burst_ + 1),
      // Each page may fail and each chunk ends once.
      reports_(2 * (window + 2 * burst_) + 4),
      arrivals_(kArrivals),
      works_(window + 2 * burst_),
      line_(std::bit_ceil(works_.size())),
      operations_(window),
      wait_(kFirstWait) {
  for (std::size_t i = window; i > 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
}

Rail::~Rail() { DD_CHECK(loop_ == nullptr, "a NIC dies while a loop works for it"); }

void Rail::Attach(coro::EventLoop& loop) {
  loop_ = &loop;
  loop.AddSelector(*this);
}

void Rail::Detach() {
  if (loop_ == nullptr) return;
  watch_.Cancel();
  try_again_.Cancel();
  std::exchange(loop_, nullptr)->RemoveSelector(*this);
}

void Rail::Tell(const Command& command) {
  DD_CHECK(commands_.TryPush(command), "a NIC is told more than it has said it can take");
}

void Rail::Say(const Report& report) {
  DD_CHECK(reports_.TryPush(report), "a NIC has more to say than it was told");
}

coro::Time Rail::Now() {
  // Not the loop's: that is the time at which the turn before this one ended.
  if (!std::exchange(now_is_read_, true)) now_ = loop_->clock().Now();
  return now_;
}

// ---- A turn ----

std::size_t Rail::Poll(std::size_t budget) {
  now_is_read_ = false;
  const std::size_t completions = ReadCompletions(budget);
  const std::size_t commands = TakeCommands();
  return completions + commands + PostBurst();
}

std::size_t Rail::ReadCompletions(std::size_t budget) {
  std::size_t handled = 0;
  while (handled < budget) {
    // An immediate that was read must be counted: one that is not taken stays in the queue.
    const std::size_t room = std::min({budget - handled, completions_.size(), arrivals_.room()});
    if (room == 0) break;
    const ReadResult result = queue_->Read({completions_.data(), room});
    for (std::size_t i = 0; i < result.count; ++i) Complete(completions_[i]);
    handled += result.count;
    if (result.error != ErrorCode::kOk) [[unlikely]]
      Count(counters_.overruns);
    if (result.count < room) break;
  }
  if (handled > 0 && refused_) {
    refused_ = false;
    try_again_.Cancel();
  }
  return handled;
}

void Rail::Complete(const Completion& completion) {
  if (completion.context.has_value()) [[likely]] {
    const auto context = static_cast<std::uint64_t>(*completion.context);
    const auto number = static_cast<std::uint32_t>(context);
    const bool known = number < operations_.size() && operations_[number].under_way &&
                       operations_[number].generation == context >> 32;
    if (known) [[likely]]
      return EndOperation(number, completion);
    if (*completion.context != kQuestion) return Count(counters_.stray);
    asked_.reset();  // however it has ended
    return Count(counters_.answers);
  }
  const bool arrived = completion.ok() && completion.kind == OperationKind::kRemoteWrite &&
                       completion.immediate.has_value();
  if (!arrived) [[unlikely]]
    return Count(counters_.stray);
  DD_CHECK(arrivals_.TryPush(*completion.immediate), "there was room for what was read");
}

void Rail::EndOperation(std::uint32_t number, const Completion& completion) {
  Operation& operation = operations_[number];
  operation.under_way = false;
  ++operation.generation;
  free_.push_back(number);
  Work& work = works_[operation.chunk];
  if (!completion.ok()) [[unlikely]] {
    const PagePlace place = work.chunk.plan->PlaceOf(operation.page, work.chunk.remote);
    const std::uint32_t peer = work.chunk.plan->TargetOf(operation.page).peer();
    paths_[peer][place.remote].failed = true;
    FailPage(work, operation.page, completion.error, completion.provider_error, true);
    if (EndsNic(completion.error)) Die(completion.error);
  } else if (work.chunk.again) [[unlikely]] {
    const PagePlace place = work.chunk.plan->PlaceOf(operation.page, work.chunk.remote);
    paths_[work.chunk.plan->TargetOf(operation.page).peer()][place.remote].failed = false;
  }
  EndPage(work);
}

std::size_t Rail::TakeCommands() {
  std::size_t taken = 0;
  for (Command command; commands_.TryPop(command); ++taken) {
    if (command.kind == Command::Kind::kIntroduce) {
      Introduce(*command.introduction);
      continue;
    }
    works_[command.chunk.id] = Work{command.chunk};
    line_[line_tail_++ & (line_.size() - 1)] = command.chunk.id;
  }
  return taken;
}

void Rail::Introduce(Introduction& introduction) {
  if (paths_.size() <= introduction.peer) paths_.resize(introduction.peer + 1);
  std::vector<Path>& paths = paths_[introduction.peer];
  paths.assign(introduction.addresses.size(), Path{});
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (introduction.addresses[i].empty()) continue;
    const absl::StatusOr<Peer> peer = peers_->Insert(introduction.addresses[i]);
    introduction.inserted[i] = peer.ok();
    if (peer.ok()) {
      paths[i].peer = *peer;
    } else if (introduction.status.ok()) {
      introduction.status = peer.status();
    }
  }
  Say({.kind = Report::Kind::kIntroduced, .introduction = &introduction});
}

// ---- Posting ----

std::size_t Rail::PostBurst() {
  std::size_t done = 0;
  while (dead_ && line_head_ != line_tail_) {
    HandBack(ErrorCode::kClosed, false);
    ++done;
  }
  if (refused_ || line_head_ == line_tail_ || free_.empty()) return done;
  const std::size_t count = Gather(std::min(burst_, free_.size()));
  if (count == 0) {  // the way that the next page was to take has failed
    HandBack(ErrorCode::kUnreachable, false);
    return done + 1;
  }
  const PostResult result = endpoint_->Write({requests_.data(), count});
  if (result.accepted > 0) Accept(result.accepted);
  done += result.accepted;
  if (result.error == ErrorCode::kOk) [[likely]] {
    wait_ = kFirstWait;
  } else if (result.error == ErrorCode::kAgain) {
    Count(counters_.again);
    refused_ = true;
    // Completions make room, and are read first; the timer is for room that no completion
    // announces.
    try_again_.Cancel();
    loop_->timers().Arm(try_again_, coro::After(Now(), wait_));
    wait_ = std::min(2 * wait_, kMostWait);
  } else {
    HandBack(result.error, true);
    if (EndsNic(result.error)) Die(result.error);
    ++done;
  }
  return done;
}

std::size_t Rail::Gather(std::size_t most) {
  std::size_t count = 0;
  for (std::size_t at = line_head_; at != line_tail_ && count < most; ++at) {
    const Work& work = works_[line_[at & (line_.size() - 1)]];
    const Plan& plan = *work.chunk.plan;
    std::byte* const source = plan.source->bytes().data();
    for (std::uint32_t i = work.posted; i < work.chunk.count && count < most; ++i) {
      const PagePlace place = plan.PlaceOf(work.chunk.first + i, work.chunk.remote);
      const RemoteMemory& target = *plan.targets[place.destination];
      const Path& path = paths_[target.peer()][place.remote];
      if (path.peer == kNoPeer || (path.failed && !work.chunk.again)) [[unlikely]]
        return count;
      const RemoteBuffer& base = target.base(place.remote);
      const std::uint32_t number = free_[free_.size() - 1 - count];
      WriteRequest& request = requests_[count++];
      request.source = {source + place.source_offset, place.bytes, plan.source->local_key(index_)};
      request.target = {base.address + place.target_offset, base.key};
      request.peer = path.peer;
      request.immediate = MakeImmediate(plan.transfer, place.sequence);
      request.context = ContextOf(operations_[number].generation, number);
    }
  }
  return count;
}

void Rail::Accept(std::size_t count) {
  Count(counters_.bursts);
  Count(counters_.pages, count);
  for (std::size_t i = 0; i < count; ++i) {
    Work& work = NextWork();
    Operation& operation = operations_[free_.back()];
    free_.pop_back();
    operation.chunk = work.chunk.id;
    operation.page = work.chunk.first + work.posted;
    operation.under_way = true;
    operation.posted = Now();
    Advance(work);
  }
  if (!watch_.armed()) ArmWatch(Now());
}

Rail::Work& Rail::NextWork() { return works_[line_[line_head_ & (line_.size() - 1)]]; }

void Rail::Advance(Work& work) {
  if (++work.posted == work.chunk.count) ++line_head_;
}

void Rail::HandBack(ErrorCode error, bool tried) {
  Work& work = NextWork();
  FailPage(work, work.chunk.first + work.posted, error, 0, tried);
  Advance(work);
  EndPage(work);
}

void Rail::EndPage(Work& work) {
  if (++work.ended < work.chunk.count) return;
  Say({.kind = Report::Kind::kEnded, .chunk = work.chunk.id});
}

void Rail::FailPage(const Work& work, std::uint32_t page, ErrorCode error,
                    std::int32_t provider_error, bool tried) {
  Say({.kind = Report::Kind::kPageFailed,
       .error = error,
       .tried = tried,
       .provider_error = provider_error,
       .chunk = work.chunk.id,
       .page = page});
}

void Rail::TryAgain() { refused_ = false; }

// ---- The end of a NIC ----

void Rail::Die(ErrorCode error) {
  if (std::exchange(dead_, true)) return;
  Say({.kind = Report::Kind::kDied, .error = error});
}

void Rail::Watch() {
  now_is_read_ = false;
  const coro::Time now = Now();
  const coro::Duration between = timeout_ / kLooks;
  // A program that was stopped could not look: that time does not count against the NIC.
  if (now - watch_due_ > between) Postpone(now - watch_due_);
  const Operation* oldest = nullptr;
  for (const Operation& operation : operations_) {
    const bool older = oldest == nullptr || operation.posted < oldest->posted;
    if (operation.under_way && older) oldest = &operation;
  }
  if (oldest == nullptr) return;
  const coro::Duration age = now - oldest->posted;
  // What may have come lies unread while nobody takes the arrivals.
  const bool unread = arrivals_.room() == 0;
  if (!unread && (age >= lost_after_ || (age >= timeout_ && IsSilent(*oldest)))) {
    Die(ErrorCode::kDeviceFault);
    return EndAll();
  }
  ArmWatch(now);
}

void Rail::ArmWatch(coro::Time now) {
  watch_due_ = coro::After(now, timeout_ / kLooks);
  loop_->timers().Arm(watch_, watch_due_);
}

void Rail::Postpone(coro::Duration gap) {
  for (Operation& operation : operations_) {
    if (operation.under_way) operation.posted += gap;
  }
  if (asked_.has_value()) *asked_ += gap;
}

bool Rail::IsSilent(const Operation& overdue) {
  if (asked_.has_value()) return Now() - *asked_ >= timeout_;
  if (self_ == kNoPeer) {
    const absl::StatusOr<Peer> self = peers_->Insert(address_);
    if (!self.ok()) return false;  // it cannot be asked: what is left is to wait
    self_ = *self;
  }
  const MemoryRef& memory = works_[overdue.chunk].chunk.plan->source;
  const WriteRequest question{.source = {memory->bytes().data(), 0, memory->local_key(index_)},
                              .target = memory->descriptor().nics[index_],
                              .peer = self_,
                              .context = kQuestion};
  const PostResult result = endpoint_->Write({&question, 1});
  if (result.accepted == 1) asked_ = Now();
  return EndsNic(result.error);
}

// Once the endpoint is closed nothing of it lands any more: its pages may go another way.
void Rail::EndAll() {
  // A failure to close leaves nothing to be done: the queue pair is gone either way.
  endpoint_->Close().IgnoreError();
  Completion canceled;
  canceled.error = ErrorCode::kCanceled;
  for (std::uint32_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].under_way) EndOperation(i, canceled);
  }
}

}  // namespace drydock::fabric::async::transfer
