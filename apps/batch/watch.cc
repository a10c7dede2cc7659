#include "drydock/apps/batch/watch.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/coro/event_loop.h"
#include "drydock/coro/sleep.h"

namespace drydock::apps::batch {
namespace {

using namespace std::chrono_literals;
using fabric::async::transfer::Engine;
using fabric::async::transfer::NicStats;

constexpr coro::Duration kQuiet = 1s;  // work that takes less shows no line
constexpr coro::Duration kRedraw = 100ms;

std::uint64_t SumOf(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

// Eighths of a character's height.
std::string BarOf(double share) {
  constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kBars[std::clamp(static_cast<int>(share * 8 + 0.5), 0, 8)];
}

}  // namespace

std::optional<double> SteadyGbps(const Load& load, const BatchResult& result) {
  constexpr std::uint64_t kFewestWindows = 7;
  if (result.samples.empty() || load.pages < kFewestWindows * load.window) return std::nullopt;
  const auto total = static_cast<double>(SumOf(result.samples.back().bytes));
  const Sample* first = nullptr;
  const Sample* last = nullptr;
  for (const Sample& sample : result.samples) {
    const auto bytes = static_cast<double>(SumOf(sample.bytes));
    if (first == nullptr && bytes >= total * 0.25) first = &sample;
    if (bytes <= total * 0.9) last = &sample;
  }
  if (first == nullptr || last == nullptr || last <= first + 4) return std::nullopt;
  return Gbps(SumOf(last->bytes) - SumOf(first->bytes), last->at - first->at);
}

Watch::Watch(std::vector<Engine*> engines, const Load& load, double line_gbps, std::FILE* out,
             bool terminal)
    : engines_(std::move(engines)),
      load_(load),
      line_gbps_(line_gbps),
      out_(out),
      terminal_(terminal),
      opened_(wall_.Now()) {}

std::vector<std::uint64_t> Watch::BytesNow() const {
  std::vector<std::uint64_t> bytes;
  for (const Engine* engine : engines_) {
    for (std::size_t i = 0; i < engine->nic_count(); ++i) {
      const NicStats stats = engine->nic_stats(i);
      bytes.push_back(stats.bytes - std::min(stats.bytes, stats.bytes_under_way));
    }
  }
  for (std::size_t i = 0; i < before_.size(); ++i) bytes[i] -= before_[i];
  return bytes;
}

void Watch::Begin(coro::Time now) {
  before_.clear();
  before_ = BytesNow();
  begin_ = now;
}

void Watch::Take(coro::Time now) {
  samples_.push_back({.at = now - begin_, .bytes = BytesNow()});
  if (terminal_) Draw(samples_.back());
}

coro::Task<absl::Status> Watch::Run(coro::Duration interval) {
  while (true) {
    co_await coro::Sleep(interval);
    Take(coro::EventLoop::Current().Now());
    if (samples_.size() < kMostSamples) continue;
    for (std::size_t i = 0; 2 * i + 1 < samples_.size(); ++i) {
      samples_[i] = std::move(samples_[2 * i + 1]);
    }
    samples_.resize(samples_.size() / 2);
    interval *= 2;
  }
}

void Watch::Draw(const Sample& sample) {
  const coro::Time now = wall_.Now();
  if (now - opened_ < kQuiet || now - drawn_ < kRedraw || sample.bytes.empty()) return;
  drawn_ = now;
  const std::uint64_t bytes = SumOf(sample.bytes);
  const double gbps = Gbps(bytes, sample.at);
  const double line = line_gbps_ * static_cast<double>(sample.bytes.size());
  std::string text =
      absl::StrFormat("\r\033[K%3.0f %%  %.1f Gbit/s  %.3f Mpps",
                      100.0 * static_cast<double>(bytes) / static_cast<double>(load_.total_bytes()),
                      gbps, gbps * 1e3 / 8 / static_cast<double>(load_.page_bytes));
  if (line > 0) absl::StrAppendFormat(&text, "  %.1f %% of line rate", 100 * gbps / line);
  const double most =
      static_cast<double>(*std::max_element(sample.bytes.begin(), sample.bytes.end()));
  text += "  ";
  for (const std::uint64_t nic : sample.bytes) {
    text += BarOf(most > 0 ? static_cast<double>(nic) / most : 0);
  }
  std::fputs(text.c_str(), out_);
  std::fflush(out_);
  visible_ = true;
}

void Watch::Clear() {
  if (!visible_) return;
  std::fputs("\r\033[K", out_);
  std::fflush(out_);
  visible_ = false;
}

BatchResult Watch::End(coro::Time now) {
  Clear();
  samples_.push_back({.at = now - begin_, .bytes = BytesNow()});
  BatchResult result;
  result.took = now - begin_;
  for (const Engine* engine : engines_) {
    for (std::size_t i = 0; i < engine->nic_count(); ++i) {
      const NicStats stats = engine->nic_stats(i);
      result.nics.push_back({.name = stats.name,
                             .bytes = samples_.back().bytes[result.nics.size()],
                             .doorbells = stats.doorbells,
                             .refused_posts = stats.refused_posts,
                             .alive = stats.alive});
    }
    result.reissued += engine->reissued_pages();
  }
  result.samples = std::move(samples_);
  return result;
}

}  // namespace drydock::apps::batch
