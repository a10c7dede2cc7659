#include "drydock/sim/explore/corpus/testing/canaries.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/status_macros.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/fabric/async/immediate_counter.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"
#include "drydock/fabric/coverage/points.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/operation.h"
#include "drydock/sim/explore/nodes.h"

namespace drydock::sim::explore {
namespace {

using fabric::async::BufferRef;
using fabric::async::BufferSlice;
using fabric::async::Node;

constexpr std::size_t kBlocks = 8;
constexpr std::size_t kBlockBytes = 256;
constexpr int kMostTries = 6;

// What the upload of a block has been through.
struct Recovery {
  int failures = 0;
  bool old_buffer = false;   // its next try is from the buffer of the last one
  bool old_refused = false;  // such a try was refused
};

bool IsRefused(const fabric::Completion& completion) {
  return completion.error == fabric::ErrorCode::kInvalidArgument && completion.provider_error == 0;
}

// Whether the bug takes the block for written, its last try having failed.
bool IsTakenForWritten(std::optional<Bug> bug, const Recovery& before, int lost) {
  if (!bug.has_value()) return false;
  switch (*bug) {
    case Bug::kThirdTry:
      return before.failures == 2;
    case Bug::kOldBuffer:
      return before.old_buffer;
    case Bug::kOldRefused:
      return before.old_refused;
    case Bug::kLeak:
      return lost == 2;
    case Bug::kMoreLeaks:
      return lost == 4;
  }
  return false;
}

class Upload {
 public:
  Upload(Node& from, Node& to, std::optional<Bug> bug) : from_(from), to_(to), bug_(bug) {}

  coro::Task<absl::Status> Run() {
    CO_ASSIGN_OR_RETURN(const BufferRef target, to_.Allocate(kBlocks * kBlockBytes));
    for (std::size_t block = 0; block < kBlocks; ++block) {
      CO_RETURN_IF_ERROR(co_await WriteBlock(block, *target));
      const auto written = target->bytes().subspan(block * kBlockBytes, kBlockBytes);
      if (std::all_of(written.begin(), written.end(),
                      [&](std::byte byte) { return byte == ByteOf(block); })) {
        continue;
      }
      wrong_ = absl::StrCat("block ", block, " is not there");
      co_return absl::OkStatus();
    }
    co_return absl::OkStatus();
  }

  const std::string& wrong() const { return wrong_; }  // empty: nothing was

 private:
  static std::byte ByteOf(std::size_t block) { return static_cast<std::byte>(block + 1); }

  absl::StatusOr<BufferRef> NewBuffer(std::size_t block) {
    ASSIGN_OR_RETURN(const BufferRef buffer, from_.Allocate(kBlockBytes));
    std::fill(buffer->bytes().begin(), buffer->bytes().end(), ByteOf(block));
    return buffer;
  }

  coro::Task<absl::Status> WriteBlock(std::size_t block, fabric::async::RegisteredBuffer& target) {
    CO_ASSIGN_OR_RETURN(BufferRef source, NewBuffer(block));
    recovery_ = {};
    const fabric::RemoteBuffer remote = target.region().Remote(block * kBlockBytes);
    for (;;) {
      const auto immediate = static_cast<std::uint32_t>(0x100 + block * 16) +
                             static_cast<std::uint32_t>(recovery_.failures);
      fabric::async::ImmediateCounter arrived(to_.dispatcher(), immediate);
      fabric::async::OperationOptions options;
      options.immediate = immediate;
      options.deadline = GiveUpTime();
      const fabric::Completion written = co_await from_.endpoint().Write(
          BufferSlice(source, 0, kBlockBytes), remote, from_.peer(1), options);
      if (written.ok()) {
        const bool came = co_await arrived.Reached(1, GiveUpTime());
        co_return came ? absl::OkStatus() : absl::DeadlineExceededError("a block did not come");
      }
      if (IsTakenForWritten(bug_, recovery_, lost_)) co_return absl::OkStatus();
      if (recovery_.failures + 1 == kMostTries) {
        co_return from_.endpoint().ToStatus(written, "write a block");
      }
      Recover(written, block, source);
    }
  }

  void Recover(const fabric::Completion& failed, std::size_t block, BufferRef& source) {
    using fabric::coverage::Reachable;
    const bool again = recovery_.failures++ > 0;
    Reachable(again ? "upload: a try failed again" : "upload: a try failed");
    if (recovery_.old_buffer && IsRefused(failed)) {
      Reachable("upload: a try from the old buffer was refused");
      recovery_.old_refused = true;
    }
    recovery_.old_buffer = false;
    auto buffer = NewBuffer(block);
    if (buffer.ok()) {
      source = *std::move(buffer);
      return;
    }
    Reachable("upload: from the old buffer");
    recovery_.old_buffer = true;
    ++lost_;
  }

  static coro::Time GiveUpTime() {
    return coro::After(coro::EventLoop::Current().Now(), std::chrono::seconds(1));
  }

  Node& from_;
  Node& to_;
  const std::optional<Bug> bug_;
  Recovery recovery_;
  int lost_ = 0;  // how often no new buffer could be registered
  std::string wrong_;
};

}  // namespace

std::string_view Name(Bug bug) {
  switch (bug) {
    case Bug::kThirdTry:
      return "third-try";
    case Bug::kOldBuffer:
      return "old-buffer";
    case Bug::kOldRefused:
      return "old-refused";
    case Bug::kLeak:
      return "leak";
    case Bug::kMoreLeaks:
      return "more-leaks";
  }
  return "unknown";
}

Outcome Uploader::Run(Trial& trial) const {
  coro::EventLoop loop(trial.clock());
  auto nodes = OpenNodes(trial, loop, 2);
  if (!nodes.ok()) return Outcome::Of(nodes.status());
  Upload upload(*(*nodes)[0], *(*nodes)[1], bug_);
  const absl::Status status = loop.Run(upload.Run());
  return upload.wrong().empty() ? Outcome::Of(status) : Outcome::WrongData(upload.wrong());
}

}  // namespace drydock::sim::explore
