#include "drydock/sim/explore/verdict.h"

namespace drydock::sim::explore {

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCorrect:
      return "correct";
    case Verdict::kCleanError:
      return "clean-error";
    case Verdict::kUnexplainedError:
      return "unexplained-error";
    case Verdict::kWrongData:
      return "wrong-data";
    case Verdict::kHang:
      return "hang";
    case Verdict::kFinding:
      return "finding";
    case Verdict::kNondeterministic:
      return "nondeterministic";
    case Verdict::kCrash:
      return "crash";
  }
  return "unknown";
}

std::optional<Verdict> VerdictFromName(std::string_view name) {
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    if (Name(static_cast<Verdict>(i)) == name) return static_cast<Verdict>(i);
  }
  return std::nullopt;
}

bool IsFailure(Verdict verdict) {
  return verdict != Verdict::kCorrect && verdict != Verdict::kCleanError;
}

}  // namespace drydock::sim::explore
