#include "drydock/fabric/trace/json_text.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace drydock::fabric::trace {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// How many bytes of `text` are its first character; 0: they are no UTF-8.
std::size_t CharacterBytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than need be, a surrogate, or past the last character.
  const unsigned char next = at(1);
  const bool bad = (lead == 0xe0 && next < 0xa0) || (lead == 0xed && next >= 0xa0) ||
                   (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next >= 0x90);
  return bad ? 0 : bytes;
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const char first = text[0];
    const std::size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      json += kReplacement;
    } else if (first == '"' || first == '\\') {
      json += {'\\', first};
    } else if (static_cast<unsigned char>(first) < 0x20 || first == 0x7f) {
      json += absl::StrFormat("\\u%04x", static_cast<unsigned>(first));
    } else {
      json += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return json + "\"";
}

std::string JsonHex(std::uint64_t number) { return absl::StrCat("\"0x", absl::Hex(number), "\""); }

std::string JsonList(Access access) {
  static constexpr std::pair<Access, std::string_view> kNames[] = {
      {Access::kSend, "\"send\""},
      {Access::kReceive, "\"receive\""},
      {Access::kWrite, "\"write\""},
      {Access::kRead, "\"read\""},
      {Access::kRemoteWrite, "\"remote write\""},
      {Access::kRemoteRead, "\"remote read\""}};
  std::string json;
  for (const auto& [right, name] : kNames) {
    if (!Allows(access, right)) continue;
    json += json.empty() ? "[" : ",";
    json += name;
  }
  return json.empty() ? "[]" : json + "]";
}

JsonMembers& JsonMembers::Raw(std::string_view name, std::string_view value) {
  text_ += text_.empty() ? "\"" : ",\"";
  text_ += name;
  text_ += "\":";
  text_ += value;
  return *this;
}

JsonMembers& JsonMembers::Members(std::string_view members) {
  if (!members.empty() && !text_.empty()) text_ += ",";
  text_ += members;
  return *this;
}

}  // namespace drydock::fabric::trace
