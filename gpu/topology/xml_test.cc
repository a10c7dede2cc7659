#include "drydock/gpu/topology/xml.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::gpu::topology {
namespace {

using ::drydock::testing_matchers::StatusIs;
using ::testing::HasSubstr;
using ::testing::Pointee;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Comments where hwloc's own reader refuses them: before the document type, and among elements.
TEST(XmlTest, ElementsKnowWhatIsAroundThem) {
  ASSERT_OK_AND_ASSIGN(const std::vector<XmlElement> elements, ParseXml("\xef\xbb\xbf"
                                                                        R"(<?xml version="1.0"?>
<!-- a licence
     of two lines, with a <tag> and a "quote -->

<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type='Machine' name = "a &amp; b&#x41;&#233;&unknown;">
    <!-- <object type="Package"> -->
    <info name="x" value=""/>
  </object >
  <support/>
</topology>
)"));
  ASSERT_EQ(elements.size(), 4u);
  EXPECT_EQ(elements[0].name, "topology");
  EXPECT_EQ(elements[0].parent, -1);
  EXPECT_EQ(elements[0].line, 6);
  EXPECT_EQ(elements[1].parent, 0);
  EXPECT_EQ(elements[1].line, 7);
  EXPECT_THAT(elements[1].Find("type"), Pointee(std::string("Machine")));
  EXPECT_THAT(elements[1].Find("name"), Pointee(std::string("a & bA\xc3\xa9&unknown;")));
  EXPECT_EQ(elements[1].Find("value"), nullptr);
  EXPECT_EQ(elements[2].parent, 1);
  EXPECT_THAT(elements[2].Find("value"), Pointee(std::string()));
  EXPECT_EQ(elements[3].name, "support");
  EXPECT_EQ(elements[3].parent, 0);
}

TEST(XmlTest, DamageIsRefusedWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1: no XML"},
      {"\n\njust text", "line 3: no XML"},
      {"\x7f"
       "ELF <a/>",
       "line 1: no XML"},
      {"<?xml version=\"1.0\"?>\n", "line 2: no element"},
      {"<a>\n<b>\n</a>", "line 3: </a> ends nothing that is open"},
      {"<a>\n<b/>\n", "line 3: <a> has no end"},
      {"<a/>\n<b/>", "line 2: a second root element"},
      {"<a>\n<!-- x", "line 2: a comment has no end"},
      {"<a>\n<b c></a>", "line 2: <b> has an attribute without a value"},
      {"<a>\n<b c=1></a>", "line 2: the value of c is not between quotes"},
      {"<a>\n<b c=\"1></a>", "line 2: the text ends inside <b>: it is cut off"},
      {"<a>\n<b c=\"1\" ", "line 2: the text ends inside <b>: it is cut off"},
      {"<a b=\"<c>\"/>", "line 1: the value of b has a <"},
      {"<a", "line 1: the text ends inside <a>: it is cut off"},
      {"<a b", "line 1: the text ends inside <a>: it is cut off"},
      {"<a b=", "line 1: the text ends inside <a>: it is cut off"},
      {"\x1f\x8b\x08", "line 1: compressed by gzip: unpack it first (gunzip)"},
      {"\xff\xfe<", "line 1: written in UTF-16: wanted is UTF-8"},
      {"<", "line 1: a tag without a name"},
      {"<a></a", "line 1: </a has no >"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ParseXml(text), StatusIs(kInvalid, message)) << text;
  }
}

TEST(XmlTest, DeepNestingIsRefused) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "<a>";
  EXPECT_THAT(ParseXml(text), StatusIs(kInvalid, HasSubstr("more than 256 deep")));
}

TEST(XmlTest, EscapedTextComesBack) {
  const std::string text = "<\"R&D\"> 'x'";
  ASSERT_OK_AND_ASSIGN(const std::vector<XmlElement> elements,
                       ParseXml(absl::StrCat("<a b=\"", EscapeXml(text), "\"/>")));
  EXPECT_THAT(elements[0].Find("b"), Pointee(text));
  EXPECT_EQ(EscapeXml("a\x1b[1m\n"), "a?[1m?");
}

// A reader refuses the whole file for one such byte.
TEST(XmlTest, EscapedTextIsWellFormed) {
  using namespace std::string_literals;
  const std::pair<std::string, std::string> cases[] = {
      {"\xc2\x80 \xc3\xa9 \xe2\x82\xac \xef\xbf\xbd \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",
       "\xc2\x80 \xc3\xa9 \xe2\x82\xac \xef\xbf\xbd \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"},
      {"a\0b\x7f"s, "a?b?"},
      {"\xff<\x80>", "?&lt;?&gt;"},
      {"caf\xe9", "caf?"},           // Latin-1
      {"\xe2\x82", "??"},            // cut off
      {"\xc3\"\xa9", "?&quot;?"},    // torn apart
      {"\xc0\xbc", "??"},            // '<', longer than need be
      {"\xe0\x80\xbc", "???"},       // the same
      {"\xf0\x80\x80\xbc", "????"},  // the same
      {"\xed\xa0\x80", "???"},       // a surrogate
      {"\xef\xbf\xbe\xef\xbf\xbf", "??????"},
      {"\xf4\x90\x80\x80", "????"},  // past the last character
      {"\xf8\x88\x80\x80\x80", "?????"},
  };
  for (const auto& [text, escaped] : cases) EXPECT_EQ(EscapeXml(text), escaped);
}

}  // namespace
}  // namespace drydock::gpu::topology
