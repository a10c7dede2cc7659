#include "drydock/fabric/faults/json_reader.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/printable.h"

namespace drydock::fabric::faults {
namespace {

using nlohmann::json;

constexpr int kMostDepth = 16;

// Of a text in a message.
constexpr std::size_t kMostShown = 64;

// Notices what nlohmann's values can no longer tell: a key that came twice.
class StructureCheck {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kMostDepth && error_.empty()) error_ = "is nested too deeply";
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second && error_.empty()) {
        error_ =
            absl::StrCat("has the key \"", Printable(key, kMostShown), "\" twice in one object");
      }
    }
    return true;
  }

  const std::string& error() const { return error_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string error_;
};

std::string Quoted(const json& value) {
  if (value.is_array() || value.is_object()) return value.is_array() ? "a list" : "an object";
  return Printable(value.dump(-1, ' ', true, json::error_handler_t::replace), kMostShown);
}

absl::Status RefuseType(const json& value, const JsonPlace& place, absl::string_view wanted) {
  return place.Refuse(absl::StrCat("is ", Quoted(value), ": it takes ", wanted));
}

template <typename T>
JsonHandler List(std::vector<T>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    target.clear();
    if (!value.is_array()) {
      RETURN_IF_ERROR(Into(target.emplace_back())(value, place));
      return absl::OkStatus();
    }
    if (value.empty()) return place.Refuse("is an empty list: leave it out to match everything");
    for (const json& element : value) {
      RETURN_IF_ERROR(Into(target.emplace_back())(element, place));
    }
    return absl::OkStatus();
  };
}

}  // namespace

absl::Status JsonPlace::Refuse(absl::string_view why) const {
  return absl::InvalidArgumentError(
      absl::StrCat(label, label.empty() ? "" : ": ", path, path.empty() ? "" : " ", why));
}

JsonPlace JsonPlace::Child(absl::string_view key) const {
  return {label, absl::StrCat(path, path.empty() ? "" : ".", key)};
}

absl::StatusOr<json> ParseStrictJson(absl::string_view text) {
  StructureCheck check;
  json value;
  try {
    value = json::parse(text.begin(), text.end(), std::ref(check));
  } catch (const json::exception& error) {
    // Their words begin with "[json.exception.parse_error.101] parse error".
    absl::string_view why = error.what();
    why.remove_prefix(std::min(why.size(), why.find(']') + 2));
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", Printable(why, 200)));
  }
  if (!check.error().empty()) return absl::InvalidArgumentError("it " + check.error());
  return value;
}

absl::Status ReadObject(const json& value, const JsonPlace& place, const JsonKeys& keys) {
  if (!value.is_object()) return RefuseType(value, place, "an object");
  for (const auto& [key, member] : value.items()) {
    const JsonHandler* handler = nullptr;
    for (const auto& [name, candidate] : keys) {
      if (name == key) handler = &candidate;
    }
    const JsonPlace child = place.Child(Printable(key, kMostShown));
    if (handler == nullptr) return child.Refuse("is no key here");
    RETURN_IF_ERROR((*handler)(member, child));
  }
  return absl::OkStatus();
}

JsonHandler Into(std::uint64_t& target, std::uint64_t least, std::uint64_t most) {
  return [&target, least, most](const json& value, const JsonPlace& place) {
    const bool whole =
        value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (whole && value.get<std::uint64_t>() >= least && value.get<std::uint64_t>() <= most) {
      target = value.get<std::uint64_t>();
      return absl::OkStatus();
    }
    return RefuseType(value, place, absl::StrCat("a whole number from ", least, " to ", most));
  };
}

JsonHandler Into(std::int64_t& target, std::int64_t least, std::int64_t most) {
  return [&target, least, most](const json& value, const JsonPlace& place) {
    const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
    if (value.is_number_integer() && !huge && value.get<std::int64_t>() >= least &&
        value.get<std::int64_t>() <= most) {
      target = value.get<std::int64_t>();
      return absl::OkStatus();
    }
    return RefuseType(value, place, absl::StrCat("a whole number from ", least, " to ", most));
  };
}

JsonHandler Into(std::uint32_t& target) {
  return [&target](const json& value, const JsonPlace& place) {
    std::uint64_t number = 0;
    RETURN_IF_ERROR(Into(number, 0, UINT32_MAX)(value, place));
    target = static_cast<std::uint32_t>(number);
    return absl::OkStatus();
  };
}

JsonHandler Into(std::string& target) {
  return [&target](const json& value, const JsonPlace& place) {
    if (!value.is_string()) return RefuseType(value, place, "a text");
    target = value.get<std::string>();
    return absl::OkStatus();
  };
}

JsonHandler Into(bool& target) {
  return [&target](const json& value, const JsonPlace& place) {
    if (!value.is_boolean()) return RefuseType(value, place, "true or false");
    target = value.get<bool>();
    return absl::OkStatus();
  };
}

JsonHandler Into(double& target) {
  return [&target](const json& value, const JsonPlace& place) {
    if (!value.is_number()) return RefuseType(value, place, "a number");
    target = value.get<double>();
    return absl::OkStatus();
  };
}

JsonHandler IntoNanoseconds(coro::Duration& target) {
  return [&target](const json& value, const JsonPlace& place) {
    std::int64_t nanoseconds = 0;
    RETURN_IF_ERROR(Into(nanoseconds, 0, INT64_MAX)(value, place));
    target = coro::Duration(nanoseconds);
    return absl::OkStatus();
  };
}

JsonHandler IntoList(std::vector<std::uint32_t>& target) { return List(target); }
JsonHandler IntoList(std::vector<std::uint64_t>& target) { return List(target); }
JsonHandler IntoList(std::vector<std::string>& target) { return List(target); }

}  // namespace drydock::fabric::faults
