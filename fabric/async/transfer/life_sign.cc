#include "drydock/fabric/async/transfer/life_sign.h"

#include <cstdint>

#include "absl/status/statusor.h"

namespace drydock::fabric::async::transfer {
namespace {

// The lower half of a question's context: no number of a page's operation. The upper half counts the
// questions, of which one may never be answered.
constexpr std::uint32_t kQuestion = UINT32_MAX;

}  // namespace

ErrorCode LifeSign::Ask(coro::Time now, const LocalBuffer& source, const RemoteBuffer& target) {
  if (self_ == kNoPeer) {
    const absl::StatusOr<Peer> self = peers_.Insert(endpoint_.address());
    if (!self.ok()) return ErrorCode::kOk;
    self_ = *self;
  }
  const WriteRequest question{.source = source,
                              .target = target,
                              .peer = self_,
                              .context = Context{std::uint64_t{questions_} << 32 | kQuestion}};
  const PostResult result = endpoint_.Write({&question, 1});
  if (result.accepted == 1) {
    asked_ = now;
    ++questions_;
  }
  return result.error;
}

bool LifeSign::TakeAnswer(Context context) {
  if (static_cast<std::uint32_t>(context) != kQuestion) return false;
  asked_.reset();
  return true;
}

}  // namespace drydock::fabric::async::transfer
