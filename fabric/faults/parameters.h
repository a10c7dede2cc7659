// How much of a fault: its parameters, by name and by number.

#ifndef DRYDOCK_FABRIC_FAULTS_PARAMETERS_H_
#define DRYDOCK_FABRIC_FAULTS_PARAMETERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "drydock/coro/time.h"
#include "drydock/fabric/error.h"

namespace drydock::fabric::faults {

// The names of a rule's parameters. Which fault takes which: the catalogue (fault.h).
enum class Parameter : std::uint8_t {
  kDelay,          // delay_ns
  kJitter,         // jitter_ns: up to this much more, drawn for each event
  kUp,             // up_ns
  kDown,           // down_ns
  kAttempts,       // attempts
  kAccept,         // accept
  kEntries,        // entries
  kBehind,         // behind
  kBytes,          // bytes
  kCopies,         // copies
  kBits,           // bits
  kFactor,         // factor
  kPlacedPercent,  // placed_percent
  kStatus,         // status
  kError,          // error
};
inline constexpr std::size_t kParameterCount = static_cast<std::size_t>(Parameter::kError) + 1;

// The values. A fault reads only those that the catalogue gives it.
struct Parameters {
  coro::Duration delay{};
  coro::Duration jitter{};
  coro::Duration up{};
  coro::Duration down{};
  std::int64_t attempts = 0;
  std::int64_t accept = 0;
  std::int64_t entries = 0;
  std::int64_t behind = 0;
  std::int64_t bytes = 0;
  std::int64_t copies = 0;
  std::int64_t bits = 0;
  std::int64_t factor = 0;
  std::int64_t placed_percent = 0;  // of the operation's bytes that reach memory all the same
  std::int64_t status = 0;          // EFA's completion status
  ErrorCode error = ErrorCode::kOk;

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

struct ParameterInfo {
  Parameter parameter;
  std::string_view name;  // in a plan's text
  std::int64_t least;
  std::int64_t most;
};

// All of them, in the order of the enum. Static storage.
std::span<const ParameterInfo> ParameterTable();
const ParameterInfo& Describe(Parameter parameter);

// The value as a number: nanoseconds, a count, or the ErrorCode's.
std::int64_t Get(const Parameters& parameters, Parameter parameter);
void Set(Parameters& parameters, Parameter parameter, std::int64_t value);

// The codes that an `error` parameter can have, as a plan's text names them: snake_case. Absent: no
// such name, or no error.
std::optional<ErrorCode> ErrorCodeFromName(std::string_view name);
std::string NameInPlan(ErrorCode code);

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_PARAMETERS_H_
