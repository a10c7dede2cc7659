#include "drydock/fabric/async/testing/fake_nic.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace drydock::fabric::async {

using std::chrono::nanoseconds;

class FakeNic::Queue final : public CompletionQueue {
 public:
  explicit Queue(FakeNic& nic) : nic_(nic) {}

  ReadResult Read(std::span<Completion> entries) override { return {nic_.Read(entries)}; }
  std::string ErrorText(const Completion&) override { return "as drawn"; }
  std::size_t depth() const override { return 64; }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  FakeNic& nic_;
};

class FakeNic::Port final : public Endpoint {
 public:
  using Endpoint::Write;

  explicit Port(FakeNic& nic) : nic_(nic) {}

  PostResult Send(std::span<const SendRequest>) override { return {0, ErrorCode::kUnsupported}; }
  PostResult Recv(std::span<const RecvRequest>) override { return {0, ErrorCode::kUnsupported}; }
  PostResult Write(std::span<const WriteRequest> requests) override {
    if (closed_) return {0, ErrorCode::kClosed};
    return nic_.Post(requests);
  }
  PostResult Read(std::span<const ReadRequest>) override { return {0, ErrorCode::kUnsupported}; }
  const Limits& limits() const override { return limits_; }
  Address address() const override { return {}; }
  absl::Status Close() override {
    if (!std::exchange(closed_, true)) nic_.ForgetAll();
    return absl::OkStatus();
  }

 private:
  FakeNic& nic_;
  Limits limits_;
  bool closed_ = false;
};

class FakeNic::Region final : public MemoryRegion {
 public:
  Region(FakeNic& nic, std::byte* data) : nic_(nic), data_(data) {}
  ~Region() override { nic_.BufferGone(data_); }

  std::byte* data() const override { return data_; }
  std::size_t length_bytes() const override { return 1; }
  Access access() const override { return Access::kAll; }
  std::uint64_t local_key() const override { return 1; }
  RemoteBuffer remote() const override { return {}; }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  FakeNic& nic_;
  std::byte* data_;
};

std::unique_ptr<CompletionQueue> FakeNic::OpenQueue() { return std::make_unique<Queue>(*this); }

std::unique_ptr<Endpoint> FakeNic::OpenEndpoint() { return std::make_unique<Port>(*this); }

BufferRef FakeNic::MakeBuffer() {
  auto bytes = std::make_unique<std::byte[]>(1);
  auto region = std::make_unique<Region>(*this, bytes.get());
  return BufferRef(std::make_unique<RegisteredBuffer>(std::move(bytes), std::move(region)));
}

bool FakeNic::WaitUntil(coro::Time deadline) {
  coro::Time next = deadline;
  for (const Operation& operation : operations_) next = std::min(next, operation.done);
  if (!repeats_.empty()) return true;
  if (next == coro::kNever) return false;
  now_ = std::max(now_, next);
  return true;
}

ErrorCode FakeNic::DrawError() {
  if (Draw(8) != 0) return ErrorCode::kOk;
  constexpr ErrorCode kErrors[] = {ErrorCode::kRemoteAccess, ErrorCode::kPeerUnresponsive,
                                   ErrorCode::kCanceled};
  return kErrors[Draw(std::size(kErrors))];
}

PostResult FakeNic::Post(std::span<const WriteRequest> requests) {
  PostResult result;
  for (const WriteRequest& request : requests) {
    if (operations_.size() >= 4 || Draw(8) == 0) {
      result.error = ErrorCode::kAgain;
      return result;
    }
    if (Draw(32) == 0) Flush();
    const nanoseconds delay(Draw(4) == 0 ? Draw(100000) : Draw(2000));
    const ErrorCode error = DrawError();
    operations_.push_back(
        {coro::After(now_, delay), *request.context, request.source.data, error, Draw(8) == 0});
    ++result.accepted;
  }
  return result;
}

std::size_t FakeNic::Read(std::span<Completion> entries) {
  std::size_t count = 0;
  const auto report = [&](Context context, ErrorCode error) {
    Completion& completion = entries[count++];
    completion = Completion{};
    completion.context = context;
    completion.kind = OperationKind::kWrite;
    completion.error = error;
  };
  while (count < entries.size() && !repeats_.empty()) {
    report(repeats_.back(), ErrorCode::kOk);
    repeats_.pop_back();
  }
  while (count < entries.size()) {
    std::vector<std::size_t> due;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].done <= now_) due.push_back(i);
    }
    if (due.empty()) break;
    const std::size_t chosen = due[Draw(due.size())];
    const Operation done = operations_[chosen];
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(chosen));
    report(done.context, done.error);
    if (done.again) repeats_.push_back(done.context);
  }
  return count;
}

// The connection breaks: every operation in flight ends now, and the next operation has a new
// connection.
void FakeNic::Flush() {
  for (Operation& operation : operations_) {
    operation.done = now_;
    operation.error = ErrorCode::kCanceled;
  }
}

void FakeNic::BufferGone(const std::byte* buffer) {
  for (const Operation& operation : operations_) {
    if (operation.buffer == buffer) ++violations_;
  }
}

}  // namespace drydock::fabric::async
