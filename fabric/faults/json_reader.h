// Strict reading of JSON objects: every key must be known, and every value must have its type and
// range; anything else is refused in one line.
//
//   RETURN_IF_ERROR(ReadObject(json, {"rule 2 (storm)", "when.burst."},
//                              {{"len", Into(burst.length, 1)}, {"gap", Into(burst.gap)}}));

#ifndef DRYDOCK_FABRIC_FAULTS_JSON_READER_H_
#define DRYDOCK_FABRIC_FAULTS_JSON_READER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/time.h"
#include "nlohmann/json.hpp"

namespace drydock::fabric::faults {

// Where a value stands: "rule 2 (storm)", "when.burst.len".
struct JsonPlace {
  std::string label;
  std::string path;

  // kInvalidArgument: "rule 2 (storm): when.burst.len " and the reason.
  absl::Status Refuse(absl::string_view why) const;
  JsonPlace Child(absl::string_view key) const;
};

// Checks one value and stores it. The target must outlive the handler, and is unspecified after an
// error.
using JsonHandler =
    std::function<absl::Status(const nlohmann::json& value, const JsonPlace& place)>;
using JsonKeys = std::vector<std::pair<std::string_view, JsonHandler>>;

// The value of `text`, which has no key twice in one object and is not nested deeper than a plan
// is.
absl::StatusOr<nlohmann::json> ParseStrictJson(absl::string_view text);

// Calls the handler of each key. kInvalidArgument: not an object, or an unknown key.
absl::Status ReadObject(const nlohmann::json& value, const JsonPlace& place, const JsonKeys& keys);

// ---- Handlers: each writes a checked value to `target` ----

// A number between `least` and `most`, a text, or true or false, of the target's type.
JsonHandler Into(std::uint64_t& target, std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);
JsonHandler Into(std::int64_t& target, std::int64_t least, std::int64_t most);
JsonHandler Into(std::uint32_t& target);
JsonHandler Into(std::string& target);
JsonHandler Into(bool& target);
JsonHandler Into(double& target);
JsonHandler IntoNanoseconds(coro::Duration& target);

// One value or a list of them, which is not empty.
JsonHandler IntoList(std::vector<std::uint32_t>& target);
JsonHandler IntoList(std::vector<std::uint64_t>& target);
JsonHandler IntoList(std::vector<std::string>& target);

// The optional becomes the value that the inner handler writes.
template <typename T>
JsonHandler Into(std::optional<T>& target) {
  return [&target](const nlohmann::json& value, const JsonPlace& place) {
    T inner{};
    absl::Status status = Into(inner)(value, place);
    if (status.ok()) target = inner;
    return status;
  };
}

// A word of a list: `of` returns its value, or nothing for an unknown word.
template <typename T>
JsonHandler IntoWord(T& target, std::function<std::optional<T>(std::string_view)> of,
                     std::string expected) {
  return [&target, of = std::move(of), expected = std::move(expected)](const nlohmann::json& value,
                                                                       const JsonPlace& place) {
    std::string word;
    absl::Status status = Into(word)(value, place);
    if (!status.ok()) return status;
    const std::optional<T> found = of(word);
    if (!found.has_value()) return place.Refuse("is \"" + word + "\": " + expected);
    target = *found;
    return status;
  };
}

}  // namespace drydock::fabric::faults

#endif  // DRYDOCK_FABRIC_FAULTS_JSON_READER_H_
