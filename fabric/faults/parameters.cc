#include "drydock/fabric/faults/parameters.h"

#include <array>
#include <chrono>

#include "absl/strings/ascii.h"

namespace drydock::fabric::faults {
namespace {

constexpr std::int64_t kDay = std::chrono::nanoseconds(std::chrono::hours(24)).count();
constexpr std::int64_t kMany = 1'000'000;

constexpr std::array<ParameterInfo, kParameterCount> kTable = {{
    {Parameter::kDelay, "delay_ns", 0, kDay},
    {Parameter::kJitter, "jitter_ns", 0, kDay},
    {Parameter::kUp, "up_ns", 1, kDay},
    {Parameter::kDown, "down_ns", 1, kDay},
    {Parameter::kAttempts, "attempts", 1, kMany},
    {Parameter::kAccept, "accept", 0, kMany},
    {Parameter::kEntries, "entries", 1, kMany},
    {Parameter::kBehind, "behind", 1, kMany},
    {Parameter::kBytes, "bytes", 0, std::int64_t{1} << 30},
    {Parameter::kCopies, "copies", 1, 16},
    {Parameter::kBits, "bits", 1, 64},
    {Parameter::kFactor, "factor", 2, kMany},
    {Parameter::kPlacedPercent, "placed_percent", 0, 100},
    {Parameter::kStatus, "status", 1, 18},
    {Parameter::kError, "error", 1, static_cast<std::int64_t>(ErrorCode::kOther)},
}};

constexpr bool RowsFollowTheEnum() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].parameter) != i) return false;
  }
  return true;
}
static_assert(RowsFollowTheEnum());

// Calls visit with the field that holds a parameter.
template <typename Values, typename Visitor>
void VisitField(Values& values, Parameter parameter, const Visitor& visit) {
  switch (parameter) {
    case Parameter::kDelay:
      return visit(values.delay);
    case Parameter::kJitter:
      return visit(values.jitter);
    case Parameter::kUp:
      return visit(values.up);
    case Parameter::kDown:
      return visit(values.down);
    case Parameter::kAttempts:
      return visit(values.attempts);
    case Parameter::kAccept:
      return visit(values.accept);
    case Parameter::kEntries:
      return visit(values.entries);
    case Parameter::kBehind:
      return visit(values.behind);
    case Parameter::kBytes:
      return visit(values.bytes);
    case Parameter::kCopies:
      return visit(values.copies);
    case Parameter::kBits:
      return visit(values.bits);
    case Parameter::kFactor:
      return visit(values.factor);
    case Parameter::kPlacedPercent:
      return visit(values.placed_percent);
    case Parameter::kStatus:
      return visit(values.status);
    case Parameter::kError:
      return visit(values.error);
  }
}

struct ToNumber {
  std::int64_t& number;
  void operator()(coro::Duration value) const { number = value.count(); }
  void operator()(std::int64_t value) const { number = value; }
  void operator()(ErrorCode value) const { number = static_cast<std::int64_t>(value); }
};

struct FromNumber {
  std::int64_t number;
  void operator()(coro::Duration& value) const { value = coro::Duration(number); }
  void operator()(std::int64_t& value) const { value = number; }
  void operator()(ErrorCode& value) const { value = static_cast<ErrorCode>(number); }
};

}  // namespace

std::span<const ParameterInfo> ParameterTable() { return kTable; }

const ParameterInfo& Describe(Parameter parameter) {
  return kTable[static_cast<std::size_t>(parameter)];
}

std::int64_t Get(const Parameters& parameters, Parameter parameter) {
  std::int64_t number = 0;
  VisitField(parameters, parameter, ToNumber{number});
  return number;
}

void Set(Parameters& parameters, Parameter parameter, std::int64_t value) {
  VisitField(parameters, parameter, FromNumber{value});
}

std::string NameInPlan(ErrorCode code) {
  std::string name;
  for (const char letter : Name(code)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (absl::ascii_isupper(byte) && !name.empty()) name += '_';
    name += absl::ascii_tolower(byte);
  }
  return name;
}

std::optional<ErrorCode> ErrorCodeFromName(std::string_view name) {
  for (const ErrorInfo& info : ErrorTable()) {
    if (info.code != ErrorCode::kOk && NameInPlan(info.code) == name) return info.code;
  }
  return std::nullopt;
}

}  // namespace drydock::fabric::faults
