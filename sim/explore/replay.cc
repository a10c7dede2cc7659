#include "drydock/sim/explore/replay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim::explore {
namespace {

// "the first 4096 events are the same": by the marks of both runs.
std::string SameUpTo(const Capsule& capsule, const RunTrace& trace) {
  std::uint64_t same = 0;
  for (const Mark& then : capsule.marks) {
    const auto end = trace.marks.begin() + static_cast<std::ptrdiff_t>(trace.mark_count);
    const auto now = std::find_if(trace.marks.begin(), end,
                                  [&](const Mark& mark) { return mark.events == then.events; });
    if (now == end) continue;
    if (now->digest != then.digest) {
      return absl::StrCat("they differ for the first time between event ", same, " and event ",
                          then.events);
    }
    same = then.events;
  }
  return same == 0 ? std::string("they have nothing in common")
                   : absl::StrCat("the first ", same, " events are the same");
}

std::string Difference(const Capsule& capsule, const Replay& replay) {
  const SeedResult& then = capsule.result;
  const SeedResult& now = replay.run.result;
  std::string text;
  if (replay.same_verdict) {
    absl::StrAppend(&text, "the verdict is the same, the run is not: ");
  } else {
    absl::StrAppend(&text, "it was ", std::string(Name(then.verdict)), ", and is ",
                    std::string(Name(now.verdict)), " now: ");
  }
  absl::StrAppend(&text, then.events, then.events == 1 ? " event then, " : " events then, ",
                  now.events, " now; ", SameUpTo(capsule, *replay.run.trace));
  if (capsule.run.firings.has_value()) {
    const std::uint64_t listed = capsule.run.firings->size();
    const std::uint64_t fired = replay.run.trace->firing_count;
    if (fired < listed) {
      absl::StrAppend(&text, "; ", listed - fired, " of ", listed,
                      listed == 1 ? " firing no longer " : " firings no longer ",
                      listed - fired == 1 ? "applies" : "apply");
    }
  }
  if (capsule.build != Build::This()) {
    const Build build = Build::This();
    absl::StrAppend(&text, "; recorded by ", capsule.build.compiler, " ", capsule.build.mode,
                    ", this is ", build.compiler, " ", build.mode);
  }
  return text;
}

}  // namespace

bool IsSameVerdict(const SeedResult& a, const SeedResult& b) {
  if (a.verdict != b.verdict) return false;
  // A capsule may be older than the name of its rule.
  const bool named = !a.check.empty() && !b.check.empty();
  if (named && a.check != b.check) return false;
  return a.verdict != Verdict::kCrash || a.text == b.text;
}

Replay Compare(const Capsule& capsule, TracedRun run) {
  Replay replay;
  replay.run = std::move(run);
  const SeedResult& now = replay.run.result;
  replay.same_verdict = IsSameVerdict(capsule.result, now);
  replay.same_digest = now.digest == capsule.result.digest && now.events == capsule.result.events;
  replay.what = replay.exact() ? "replayed bit for bit" : Difference(capsule, replay);
  return replay;
}

absl::StatusOr<Replay> ReplayCapsule(const Scenario& scenario, const Capsule& capsule,
                                     coro::Duration patience) {
  RETURN_IF_ERROR(CheckCapsule(capsule, scenario));
  ASSIGN_OR_RETURN(TracedRun run, RunIsolated(scenario, capsule.run, patience));
  return Compare(capsule, std::move(run));
}

}  // namespace drydock::sim::explore
