#include "drydock/fabric/async/transfer/rail.h"

#include <algorithm>
#include <optional>
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
  if (options.operation_timeout <= coro::Duration::zero() ||
      options.completion_timeout <= coro::Duration::zero()) {
    return absl::InvalidArgumentError("open NIC for transfers: a time-out is longer than nothing");
  }
  Objects objects;
  ASSIGN_OR_RETURN(objects.queue,
                   domain.OpenCompletionQueue({.depth = options.completion_queue_depth}));
  ASSIGN_OR_RETURN(objects.peers, domain.OpenAddressVector());
  ASSIGN_OR_RETURN(objects.endpoint, domain.OpenEndpoint({.send_queue = objects.queue.get(),
                                                          .receive_queue = objects.queue.get(),
                                                          .address_vector = objects.peers.get()}));
  // One place of the send queue is left for the question whether the NIC is there.
  const std::size_t places = objects.endpoint->limits().send_queue_depth;
  const std::size_t window =
      std::max<std::size_t>(1, std::min({options.window, places - 1, objects.queue->depth() / 2}));
  return std::unique_ptr<Rail>(new Rail(domain.nic(), index, std::move(objects), window, options));
}

Rail::Rail(const NicInfo& nic, std::size_t index, Objects objects, std::size_t window,
           const RailOptions& options)
    : nic_(nic),
      index_(index),
      window_(window),
      burst_(std::min(options.burst, window)),
      timeout_(options.operation_timeout),
      lost_after_(options.completion_timeout),
      queue_(std::move(objects.queue)),
      peers_(std::move(objects.peers)),
      endpoint_(std::move(objects.endpoint)),
      life_sign_(*endpoint_, *peers_),
      address_(endpoint_->address()),
      // So that the next bursts are there when the window opens.
      commands_(window + 2 * burst_ + 1),
      // Each page may fail and each chunk ends once.
      reports_(2 * (window + 2 * burst_) + 4),
      arrivals_(kArrivals),
      line_(window + 2 * burst_),
      operations_(window),
      wait_(kFirstWait) {}

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
    if (const ChunkPage* const page = operations_.End(*completion.context)) [[likely]]
      return EndPage(*page, completion);
    return Count(life_sign_.TakeAnswer(*completion.context) ? counters_.answers : counters_.stray);
  }
  const bool arrived = completion.ok() && completion.kind == OperationKind::kRemoteWrite &&
                       completion.immediate.has_value();
  if (!arrived) [[unlikely]]
    return Count(counters_.stray);
  DD_CHECK(arrivals_.TryPush(*completion.immediate), "there was room for what was read");
}

void Rail::EndPage(const ChunkPage& page, const Completion& completion) {
  const Chunk& chunk = line_.chunk(page.chunk);
  if (!completion.ok() || chunk.again) [[unlikely]] {
    const PagePlace place = chunk.plan->PlaceOf(page.page, chunk.remote);
    paths_.To(chunk.plan->TargetOf(page.page).peer(), place.remote).failed = !completion.ok();
  }
  if (!completion.ok()) [[unlikely]] {
    SayFailed(page, completion.error, completion.provider_error, /*tried=*/true);
    if (EndsNic(completion.error)) Die(completion.error);
  }
  SayEnded(page.chunk);
}

std::size_t Rail::TakeCommands() {
  std::size_t taken = 0;
  for (Command command; commands_.TryPop(command); ++taken) {
    if (command.kind == Command::Kind::kIntroduce) {
      paths_.Learn(*command.introduction, *peers_);
      Say({.kind = Report::Kind::kIntroduced, .introduction = command.introduction});
    } else {
      line_.Add(command.chunk);
    }
  }
  return taken;
}

// ---- Posting ----

std::size_t Rail::PostBurst() {
  std::size_t done = 0;
  while (dead_ && !line_.empty()) {
    HandBack(ErrorCode::kClosed, false);
    ++done;
  }
  if (refused_ || line_.empty() || operations_.room() == 0) return done;
  const std::size_t count = Gather(std::min(burst_, operations_.room()));
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
  line_.Look([&](const Chunk& chunk, std::uint32_t first, std::uint32_t pages) {
    const Plan& plan = *chunk.plan;
    std::byte* const source = plan.source->bytes().data();
    const std::uint64_t local_key = plan.source->local_key(index_);
    const auto end = first + std::min<std::uint64_t>(pages, most - count);
    for (std::uint32_t page = first; page < end; ++page) {
      const PagePlace place = plan.PlaceOf(page, chunk.remote);
      const RemoteMemory& target = *plan.targets[place.destination];
      const Path& path = paths_.To(target.peer(), place.remote);
      if (path.peer == kNoPeer || (path.failed && !chunk.again)) [[unlikely]]
        return false;
      const RemoteBuffer& base = target.base(place.remote);
      WriteRequest& request = requests_[count];
      request.source = {source + place.source_offset, place.bytes, local_key};
      request.target = {base.address + place.target_offset, base.key};
      request.peer = path.peer;
      request.immediate = MakeImmediate(plan.transfer, place.sequence);
      request.context = operations_.NextContext(count);
      ++count;
    }
    return count < most;
  });
  return count;
}

void Rail::Accept(std::size_t count) {
  Count(counters_.bursts);
  Count(counters_.pages, count);
  for (std::size_t i = 0; i < count; ++i) operations_.Begin(line_.Take(), Now());
  if (!watch_.armed()) ArmWatch(Now());
}

void Rail::HandBack(ErrorCode error, bool tried) {
  const ChunkPage page = line_.Take();
  SayFailed(page, error, 0, tried);
  SayEnded(page.chunk);
}

void Rail::SayFailed(const ChunkPage& page, ErrorCode error, std::int32_t provider_error,
                     bool tried) {
  Say({.kind = Report::Kind::kPageFailed,
       .error = error,
       .tried = tried,
       .provider_error = provider_error,
       .chunk = page.chunk,
       .page = page.page});
}

void Rail::SayEnded(std::uint32_t chunk) {
  if (line_.EndPage(chunk)) Say({.kind = Report::Kind::kEnded, .chunk = chunk});
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
  if (now - watch_due_ > between) {
    operations_.Postpone(now - watch_due_);
    life_sign_.Postpone(now - watch_due_);
  }
  const auto oldest = operations_.Oldest();
  const coro::Duration age = oldest.has_value() ? now - oldest->since : coro::Duration::zero();
  if (age < timeout_) life_sign_.Forget();
  if (!oldest.has_value()) return;
  // What may have come lies unread while nobody takes the arrivals.
  const bool unread = arrivals_.room() == 0;
  if (!unread && (age >= lost_after_ || (age >= timeout_ && IsSilent(oldest->page)))) {
    Die(ErrorCode::kDeviceFault);
    return EndAll();
  }
  ArmWatch(now);
}

void Rail::ArmWatch(coro::Time now) {
  watch_due_ = coro::After(now, timeout_ / kLooks);
  loop_->timers().Arm(watch_, watch_due_);
}

bool Rail::IsSilent(const ChunkPage& overdue) {
  if (life_sign_.asked().has_value()) return Now() - *life_sign_.asked() >= timeout_;
  const MemoryRef& memory = line_.chunk(overdue.chunk).plan->source;
  return EndsNic(life_sign_.Ask(Now(), {memory->bytes().data(), 0, memory->local_key(index_)},
                                memory->descriptor().nics[index_]));
}

// Once the endpoint is closed nothing of it lands any more: its pages may go another way.
void Rail::EndAll() {
  // A failure to close leaves nothing to be done: the queue pair is gone either way.
  endpoint_->Close().IgnoreError();
  Completion canceled;
  canceled.error = ErrorCode::kCanceled;
  while (const ChunkPage* const page = operations_.EndAny()) EndPage(*page, canceled);
}

}  // namespace drydock::fabric::async::transfer
