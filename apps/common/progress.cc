#include "apps/common/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "apps/common/units.h"

namespace apps {
namespace {

using namespace std::chrono_literals;

constexpr coro::Duration kQuietTime = 1s;
constexpr coro::Duration kRedraw = 100ms;
constexpr std::uint64_t kBarWidth = 30;

}  // namespace

Progress::Progress(std::string what, std::uint64_t total, std::uint64_t bytes_each)
    : what_(std::move(what)),
      total_(total),
      bytes_each_(bytes_each),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(clock_.Now()),
      last_drawn_(start_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::Update(std::uint64_t done) {
  if (!terminal_) return;
  const coro::Time now = clock_.Now();
  if (now - start_ < kQuietTime || now - last_drawn_ < kRedraw) return;
  last_drawn_ = now;
  drawn_ = true;
  const std::uint64_t filled = total_ == 0 ? 0 : kBarWidth * done / total_;
  std::fprintf(stderr, "\r\033[K[%s%s] %llu of %llu %s, %s", std::string(filled, '#').c_str(),
               std::string(kBarWidth - filled, '.').c_str(), static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(total_), what_.c_str(),
               FormatRate(done * bytes_each_, now - start_).c_str());
}

}  // namespace apps
