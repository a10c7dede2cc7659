#include "drydock/gpu/topology/xml.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"

namespace drydock::gpu::topology {
namespace {

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

bool IsNameEnd(char c) { return IsSpace(c) || c == '=' || c == '>' || c == '/' || c == '<'; }

void AppendUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xc0, 0xe0, 0xf0};
  out.push_back(static_cast<char>(kLead[more] | (code >> (6 * more))));
  for (int i = more - 1; i >= 0; --i) {
    out.push_back(static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f)));
  }
}

// How many bytes of `text`, which is not empty, are its first character; 0: they are no UTF-8, or a
// character that XML 1.0 has not.
std::size_t CharacterBytes(absl::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return absl::ascii_iscntrl(lead) ? 0 : 1;
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // shorter ones have fewer bytes
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  const bool none = code == 0xfffe || code == 0xffff;
  return code < kLeast[bytes] || code > 0x10ffff || surrogate || none ? 0 : bytes;
}

// What it is instead, where the first bytes tell.
absl::string_view NoXml(absl::string_view text) {
  if (absl::StartsWith(text, "\x1f\x8b")) return "compressed by gzip: unpack it first (gunzip)";
  if (absl::StartsWith(text, "\xff\xfe") || absl::StartsWith(text, "\xfe\xff")) {
    return "written in UTF-16: wanted is UTF-8";
  }
  return "no XML";
}

// What stands between & and ;. False: not a reference that is known.
bool AppendReference(absl::string_view name, std::string& out) {
  constexpr std::pair<absl::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, character] : kNamed) {
    if (name == known) {
      out.push_back(character);
      return true;
    }
  }
  std::uint32_t code = 0;
  const bool hex = absl::StartsWith(name, "#x");
  if (!absl::StartsWith(name, "#") || !(hex ? absl::SimpleHexAtoi(name.substr(2), &code)
                                            : absl::SimpleAtoi(name.substr(1), &code))) {
    return false;
  }
  if (code == 0 || code > 0x10ffff) return false;
  AppendUtf8(code, out);
  return true;
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<XmlElement>> Run() {
    if (absl::StartsWith(text_, kByteOrderMark)) at_ += kByteOrderMark.size();
    SkipSpace();
    if (!absl::StartsWith(rest(), "<")) return Error(NoXml(text_));
    for (std::size_t tag; (tag = text_.find('<', at_)) != absl::string_view::npos;) {
      Advance(tag);
      RETURN_IF_ERROR(ReadMarkup());
    }
    Advance(text_.size());
    if (elements_.empty()) return Error("no element");
    if (!open_.empty())
      return Error(absl::StrCat("<", elements_[open_.back()].name, "> has no end"));
    return std::move(elements_);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": ", what));
  }

  absl::string_view rest() const { return text_.substr(at_); }

  void Advance(std::size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + to, '\n'));
    at_ = to;
  }

  absl::Status SkipPast(absl::string_view end, absl::string_view what) {
    const std::size_t found = text_.find(end, at_);
    if (found == absl::string_view::npos) return Error(absl::StrCat(what, " has no end"));
    Advance(found + end.size());
    return absl::OkStatus();
  }

  void SkipSpace() {
    std::size_t to = at_;
    while (to < text_.size() && IsSpace(text_[to])) ++to;
    Advance(to);
  }

  // At a '<'.
  absl::Status ReadMarkup() {
    if (absl::StartsWith(rest(), "<!--")) return SkipPast("-->", "a comment");
    if (absl::StartsWith(rest(), "<![CDATA[")) return SkipPast("]]>", "a CDATA section");
    if (absl::StartsWith(rest(), "<!")) return SkipPast(">", "a declaration");
    if (absl::StartsWith(rest(), "<?")) return SkipPast("?>", "a declaration");
    if (absl::StartsWith(rest(), "</")) return ReadEndTag();
    return ReadStartTag();
  }

  absl::string_view ReadName() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !IsNameEnd(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  absl::Status ReadEndTag() {
    at_ += 2;
    const absl::string_view name = ReadName();
    SkipSpace();
    if (!absl::StartsWith(rest(), ">")) return Error(absl::StrCat("</", name, " has no >"));
    if (open_.empty() || elements_[open_.back()].name != name) {
      return Error(absl::StrCat("</", name, "> ends nothing that is open"));
    }
    open_.pop_back();
    ++at_;
    return absl::OkStatus();
  }

  absl::Status ReadStartTag() {
    if (open_.empty() && !elements_.empty()) return Error("a second root element");
    XmlElement element;
    element.parent = open_.empty() ? -1 : open_.back();
    element.line = line_;
    ++at_;
    element.name = std::string(ReadName());
    if (element.name.empty()) return Error("a tag without a name");
    for (SkipSpace(); !absl::StartsWith(rest(), ">") && !absl::StartsWith(rest(), "/>");
         SkipSpace()) {
      RETURN_IF_ERROR(ReadAttribute(element));
    }
    const bool empty = absl::StartsWith(rest(), "/>");
    at_ += empty ? 2 : 1;
    if (!empty) open_.push_back(static_cast<int>(elements_.size()));
    if (open_.size() > kMaxXmlDepth) {
      return Error(absl::StrCat("elements are nested more than ", kMaxXmlDepth, " deep"));
    }
    elements_.push_back(std::move(element));
    return absl::OkStatus();
  }

  absl::Status ReadAttribute(XmlElement& element) {
    const auto cut_off = [&] {
      return Error(absl::StrCat("the text ends inside <", element.name, ">: it is cut off"));
    };
    const std::string name(ReadName());
    SkipSpace();
    if (at_ == text_.size()) return cut_off();
    if (name.empty() || !absl::StartsWith(rest(), "=")) {
      return Error(absl::StrCat("<", element.name, "> has an attribute without a value"));
    }
    ++at_;
    SkipSpace();
    if (at_ == text_.size()) return cut_off();
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') {
      return Error(absl::StrCat("the value of ", name, " is not between quotes"));
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == absl::string_view::npos) return cut_off();
    const absl::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    if (absl::StrContains(value, "<")) {
      return Error(absl::StrCat("the value of ", name, " has a <"));
    }
    element.attributes.emplace_back(name, Decoded(value));
    Advance(end + 1);
    return absl::OkStatus();
  }

  // With references replaced; one that is not known stays as it is.
  static std::string Decoded(absl::string_view value) {
    std::string out;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const absl::string_view reference =
          value[i] == '&' ? value.substr(i, kMaxReference) : absl::string_view();
      const std::size_t end = reference.find(';');
      if (end != absl::string_view::npos && AppendReference(reference.substr(1, end - 1), out)) {
        i += end;
      } else {
        out.push_back(value[i]);
      }
    }
    return out;
  }

  static constexpr std::size_t kMaxReference = 12;  // characters, more than any has

  const absl::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<XmlElement> elements_;
  std::vector<int> open_;  // indices of the elements around this place
};

}  // namespace

const std::string* XmlElement::Find(absl::string_view attribute) const {
  for (const auto& [known, value] : attributes) {
    if (known == attribute) return &value;
  }
  return nullptr;
}

absl::StatusOr<std::vector<XmlElement>> ParseXml(absl::string_view text) {
  return Parser(text).Run();
}

std::string EscapeXml(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    switch (text[0]) {
      case '&':
        absl::StrAppend(&out, "&amp;");
        break;
      case '<':
        absl::StrAppend(&out, "&lt;");
        break;
      case '>':
        absl::StrAppend(&out, "&gt;");
        break;
      case '"':
        absl::StrAppend(&out, "&quot;");
        break;
      default:
        absl::StrAppend(&out, bytes == 0 ? "?" : text.substr(0, bytes));
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

}  // namespace drydock::gpu::topology
