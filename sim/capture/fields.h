// Strict reading of one JSON object's keys, of a file that may hold anything. The first mistake is
// kept, in one line; values that are read after it have no meaning.
//
//   Fields args(event["args"], "client.json: event 17 (post)");
//   operation.number = args.Number("op");
//   RETURN_IF_ERROR(args.status());

#ifndef DRYDOCK_SIM_CAPTURE_FIELDS_H_
#define DRYDOCK_SIM_CAPTURE_FIELDS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace drydock::sim::capture {

// The quotation of a text, which may hold anything, in a message.
std::string Shown(absl::string_view text);

// A view of `object`, which outlives it.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string place)
      : object_(object), place_(std::move(place)) {
    if (!object.is_object()) Refuse("is no object");
  }

  bool Has(const char* key) const { return object_.is_object() && object_.contains(key); }
  // A whole number, or "0x..." as 64-bit values are written.
  std::uint64_t Number(const char* key, std::uint64_t most = UINT64_MAX);
  std::uint64_t Number(const char* key, std::uint64_t most, std::uint64_t absent) {
    return Has(key) ? Number(key, most) : absent;
  }
  // Microseconds with three decimals, as nanoseconds: at most a day.
  std::int64_t Microseconds(const char* key);
  std::string Text(const char* key);
  bool Flag(const char* key, bool absent);
  // Null where it is not there, and where it is no list.
  const nlohmann::json* List(const char* key);
  const nlohmann::json* Object(const char* key);

  // Keeps the first refusal.
  void Refuse(absl::string_view why);
  void Refuse(const char* key, absl::string_view why);
  void Take(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }
  const absl::Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }
  const std::string& place() const { return place_; }

 private:
  const nlohmann::json* Find(const char* key);

  const nlohmann::json& object_;
  const std::string place_;
  absl::Status status_;
};

// A whole number, or text "0x..." of one.
bool ReadNumber(const nlohmann::json& value, std::uint64_t& number);

}  // namespace drydock::sim::capture

#endif  // DRYDOCK_SIM_CAPTURE_FIELDS_H_
