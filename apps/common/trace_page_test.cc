// The contents of the page. apps/common/trace_page (page_test) tests the page in a browser.

#include "drydock/apps/common/trace_page.h"

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// From where the trace begins to the next tag, which must be the end of its place.
std::string TraceIn(const std::string& page) {
  constexpr absl::string_view kBegin = "<script type=\"application/json\" id=\"trace\">";
  const std::size_t begin = page.find(kBegin.data());
  if (begin == std::string::npos) return "no place for a trace";
  const std::size_t from = begin + kBegin.size();
  const std::size_t to = page.find('<', from);
  EXPECT_EQ(page.substr(to, 9), "</script>");
  return page.substr(from, to - from);
}

TEST(TracePageTest, TraceStandsInThePageAsItIs) {
  const std::string trace = R"({"traceEvents":[{"name":"write \"a\" & >b"}]})";
  EXPECT_EQ(TraceIn(TracePage(trace)), trace);
}

TEST(TracePageTest, NoTagOfTheTraceEndsItsPlace) {
  EXPECT_EQ(TraceIn(TracePage(R"(["</script><script>alert(1)</script>","<!--","<"])")),
            R"(["\u003c/script>\u003cscript>alert(1)\u003c/script>","\u003c!--","\u003c"])");
}

TEST(TracePageTest, PlacesOfThePageAreNotTakenFromTheTrace) {
  const std::string trace = R"(["@TRACE@ @STYLE@ @SCRIPT@"])";
  EXPECT_EQ(TraceIn(TracePage(trace)), trace);
}

TEST(TracePageTest, PageIsWholeAndNamesNothingElsewhere) {
  const std::string page = TracePage("");
  EXPECT_EQ(TraceIn(page), "");
  for (const char* place : {"@TRACE@", "@STYLE@", "@SCRIPT@", "http:", "https:", "src=", "@import",
                            "url(", "innerHTML", "outerHTML", "document.write", "eval("}) {
    EXPECT_THAT(page, Not(HasSubstr(place))) << place;
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("function readModel("));
}

}  // namespace
}  // namespace drydock::apps
