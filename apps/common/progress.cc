#include "drydock/apps/common/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"

namespace drydock::apps {
namespace {

using namespace std::chrono_literals;

constexpr coro::Duration kQuietTime = 1s;
constexpr coro::Duration kRedraw = 100ms;
constexpr std::uint64_t kBarWidth = 30;
constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

Progress::Progress(Work work, const coro::Clock& clock)
    : Progress(std::move(work), clock, stderr, isatty(STDERR_FILENO) == 1) {}

Progress::Progress(Work work, const coro::Clock& clock, std::FILE* out, bool terminal)
    : work_(std::move(work)),
      clock_(clock),
      out_(out),
      terminal_(terminal),
      start_(clock.Now()),
      last_drawn_(start_) {}

void Progress::Update(std::uint64_t done) {
  if (!terminal_) return;
  const coro::Time now = clock_.Now();
  if (now - start_ < kQuietTime || now - last_drawn_ < kRedraw) return;
  last_drawn_ = now;
  visible_ = true;
  done = std::min(done, work_.total);
  const std::uint64_t filled = work_.total == 0 ? 0 : kBarWidth * done / work_.total;
  std::string line =
      absl::StrCat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), "] ", done,
                   " of ", work_.total, " ", work_.what);
  if (done * work_.bytes_each > 0) {
    absl::StrAppend(&line, ", ", FormatRate(done * work_.bytes_each, now - start_));
  } else if (work_.rate) {
    absl::StrAppend(&line, ", ", done * 1000 / static_cast<std::uint64_t>((now - start_) / 1ms),
                    " ", work_.what, "/s");
  }
  std::fprintf(out_, "%s%s", kEraseLine, line.c_str());
  std::fflush(out_);
}

void Progress::Hide() {
  if (!visible_) return;
  visible_ = false;
  std::fputs(kEraseLine, out_);
  std::fflush(out_);
}

}  // namespace drydock::apps
