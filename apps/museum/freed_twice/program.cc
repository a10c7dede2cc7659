// Messages of two segments, each a request of its own, from a pool of buffers.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"messages", 60, 1, 128, "that are sent"},
    Parameter{"buffers", 48, 1, 48, "of the pool"},
};
constexpr std::size_t kSegment = 256;

// Where a message's first byte is; and how many of its segments are under way.
struct Buffer {
  std::uint64_t message = 0;
  std::size_t under_way = 0;
  bool failed = false;  // its second segment was not posted
};

class Sender {
 public:
  Sender(Pair& pair, std::size_t buffers, Twin twin)
      : pair_(pair), rail_(pair.a->rail()), twin_(twin), buffers_(buffers) {
    for (std::size_t i = 0; i < buffers; ++i) free_.push_back(i);
  }

  std::size_t under_way() const { return under_way_; }

  // False: no buffer, or no room for the first segment.
  bool Send(std::uint64_t message) {
    if (free_.empty()) return false;
    const std::size_t index = free_.back();
    Buffer& buffer = buffers_[index];
    FillKeyed(pair_.a->Bytes(2 * kSegment * index, 2 * kSegment), message);
    if (!Post(index, message, 0)) return false;
    free_.pop_back();
    buffer = Buffer{.message = message, .under_way = 1};
    if (Post(index, message, 1)) {
      ++buffer.under_way;
      return true;
    }
    // The second segment was refused: the message fails, and its buffer goes back.
    // WRONG: at once, and once more when the first segment completes.
    if (twin_ == Twin::kWrong) free_.push_back(index);
    buffer.failed = true;  // REPAIRED: only then
    return true;
  }

  // False: nothing was there.
  bool Progress() {
    bool heard = false;
    while (const auto completion = rail_.Read()) {
      heard = true;
      --under_way_;
      const auto index = static_cast<std::size_t>(*completion->context) / 2 % buffers_.size();
      Buffer& buffer = buffers_[index];
      if (buffer.under_way > 0 && --buffer.under_way > 0) continue;
      free_.push_back(index);
    }
    return heard;
  }

 private:
  bool Post(std::size_t index, std::uint64_t message, std::size_t segment) {
    const std::uint64_t context = 2 * (buffers_.size() * message + index) + segment;
    const std::size_t at = kSegment * (2 * index + segment);
    const auto error = rail_.endpoint->Write(
        fabric::WriteRequest{.source = rail_.Local(at, kSegment),
                             .target = pair_.b->rail().Remote(kSegment * (2 * message + segment)),
                             .peer = pair_.to_b,
                             .context = fabric::Context{context}});
    if (error == fabric::ErrorCode::kOk) ++under_way_;
    return error == fabric::ErrorCode::kOk;
  }

  Pair& pair_;
  Rail& rail_;
  const Twin twin_;
  std::vector<Buffer> buffers_;
  std::vector<std::size_t> free_;
  std::size_t under_way_ = 0;
};

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial, {}, {.memory_bytes = 256 << 10});
  if (!pair.ok()) return Outcome::Of(pair.status());
  // An odd number of other requests: the queue is full after the first segment of some message.
  Sender sender(*pair, trial.parameter("buffers"), twin);
  const std::size_t spare = 2 * kSegment * trial.parameter("buffers");
  const auto error = pair->a->rail().endpoint->Write(
      fabric::WriteRequest{.source = pair->a->rail().Local(spare, 64),
                           .target = pair->b->rail().Remote(0),
                           .peer = pair->to_b});
  if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  const std::uint64_t messages = trial.parameter("messages");
  for (std::uint64_t next = 1; next <= messages || sender.under_way() > 0;) {
    while (next <= messages && sender.Send(next)) ++next;
    if (!sender.Progress() && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& FreedTwice() {
  static const Exhibit exhibit = {
      .name = "freed-twice",
      .project = "ofiwg/libfabric",
      .origin = "commit a2267bf52",
      .kind = "lifetime",
      .cause = "the second segment is refused, and the buffer goes back to its pool twice",
      .verdict = sim::explore::Verdict::kFinding,
      .check = "buffer-race",
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
