// Writes JSON in pieces, to a stream: the whole of a trace is never in memory as JSON.

#ifndef DRYDOCK_FABRIC_TRACE_JSON_TEXT_H_
#define DRYDOCK_FABRIC_TRACE_JSON_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "drydock/fabric/memory.h"

namespace drydock::fabric::trace {

// Quoted and escaped. Bytes that are no UTF-8 come from peers and files, and become U+FFFD.
std::string JsonString(std::string_view text);

// "\"0x1f\"", with quotes: a number of 64 bits is more than JSON's readers keep.
std::string JsonHex(std::uint64_t number);

// "[\"send\",\"remote write\"]".
std::string JsonList(Access access);

// The members of an object, without its braces: "\"id\":3,\"name\":\"x\"".
class JsonMembers {
 public:
  JsonMembers& Text(std::string_view name, std::string_view value) {
    return Raw(name, JsonString(value));
  }
  JsonMembers& Hex(std::string_view name, std::uint64_t value) { return Raw(name, JsonHex(value)); }
  JsonMembers& Number(std::string_view name, std::int64_t value) {
    return Raw(name, std::to_string(value));
  }
  JsonMembers& Unsigned(std::string_view name, std::uint64_t value) {
    return Raw(name, std::to_string(value));
  }
  JsonMembers& Bool(std::string_view name, bool value) {
    return Raw(name, value ? "true" : "false");
  }
  // `value` is JSON.
  JsonMembers& Raw(std::string_view name, std::string_view value);
  // Members that are JSON already; may be empty.
  JsonMembers& Members(std::string_view members);

  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_JSON_TEXT_H_
