#include "drydock/sim/capture/fields.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/fabric/printable.h"

namespace drydock::sim::capture {
namespace {

using nlohmann::json;

constexpr double kMostMicroseconds = 86400e6;

}  // namespace

std::string Shown(absl::string_view text) { return fabric::Printable(text, 64); }

bool ReadNumber(const json& value, std::uint64_t& number) {
  if (value.is_number_unsigned()) {
    number = value.get<std::uint64_t>();
    return true;
  }
  if (!value.is_string()) return false;
  const std::string& text = value.get_ref<const std::string&>();
  return text.size() > 2 && text[0] == '0' && text[1] == 'x' && absl::SimpleHexAtoi(text, &number);
}

void Fields::Refuse(absl::string_view why) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat(place_, ": ", why));
}

void Fields::Refuse(const char* key, absl::string_view why) {
  Refuse(absl::StrCat("\"", key, "\" ", why));
}

const json* Fields::Find(const char* key) {
  if (!Has(key)) {
    Refuse(key, "is missing");
    return nullptr;
  }
  return &object_[key];
}

std::uint64_t Fields::Number(const char* key, std::uint64_t most) {
  const json* value = Find(key);
  std::uint64_t number = 0;
  if (value == nullptr) return 0;
  if (!ReadNumber(*value, number)) {
    Refuse(key, "is no whole number");
  } else if (number > most) {
    Refuse(key, absl::StrCat("is ", number, ": at most ", most));
  }
  return status_.ok() ? number : 0;
}

std::int64_t Fields::Microseconds(const char* key) {
  const json* value = Find(key);
  if (value == nullptr) return 0;
  const double microseconds = value->is_number() ? value->get<double>() : -1;
  if (!(microseconds >= 0 && microseconds <= kMostMicroseconds)) {
    Refuse(key, "is no time in microseconds of a day at most");
    return 0;
  }
  return std::llround(microseconds * 1000);
}

std::string Fields::Text(const char* key) {
  const json* value = Find(key);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  Refuse(key, "is no text");
  return "";
}

bool Fields::Flag(const char* key, bool absent) {
  if (!Has(key)) return absent;
  const json* value = Find(key);
  if (value->is_boolean()) return value->get<bool>();
  Refuse(key, "is neither true nor false");
  return absent;
}

const json* Fields::List(const char* key) {
  if (!Has(key)) return nullptr;
  const json* value = Find(key);
  if (value->is_array()) return value;
  Refuse(key, "is no list");
  return nullptr;
}

const json* Fields::Object(const char* key) {
  if (!Has(key)) return nullptr;
  const json* value = Find(key);
  if (value->is_object()) return value;
  Refuse(key, "is no object");
  return nullptr;
}

}  // namespace drydock::sim::capture
