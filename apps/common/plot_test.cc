// Charts: well-formed SVG in which everything is where its value says. And CSV.

#include "drydock/apps/common/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "drydock/apps/common/csv.h"
#include "drydock/gpu/topology/xml.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gtest/gtest.h"

namespace drydock::apps {
namespace {

using ::drydock::testing_matchers::IsOk;

std::vector<gpu::topology::XmlElement> Elements(const std::string& svg, const char* name) {
  const auto all = gpu::topology::ParseXml(svg);
  EXPECT_THAT(all, IsOk());
  std::vector<gpu::topology::XmlElement> found;
  if (!all.ok()) return found;
  std::copy_if(all->begin(), all->end(), std::back_inserter(found),
               [name](const auto& element) { return element.name == name; });
  return found;
}

double Attribute(const gpu::topology::XmlElement& element, const char* name) {
  const std::string* value = element.Find(name);
  return value == nullptr ? std::nan("") : std::atof(value->c_str());
}

const ChartText kText = {"<title>", "predicted", "bytes", "Gbit/s"};

TEST(PlotTest, StackIsOneDocument) {
  const std::vector<std::string> labels = {"one"};
  const std::vector<BarSeries> bars = {{"some", {1}}};
  const std::string chart = DrawBars(kText, labels, bars);
  const std::vector<std::string> charts = {chart, DrawRows(kText, labels, std::vector<double>{1})};
  const auto images = Elements(StackCharts(charts), "svg");
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(Attribute(images[0], "height"),
            Attribute(images[1], "height") + Attribute(images[2], "height"));
  EXPECT_EQ(Attribute(images[1], "y"), 0);
  EXPECT_EQ(Attribute(images[2], "y"), Attribute(images[1], "height"));
}

TEST(PlotTest, TextsAreNotCutWithinACharacter) {
  for (const std::size_t before : {0, 1}) {
    std::string label(before, 'x');
    for (int i = 0; i < 200; ++i) label += "\u00e9";
    const std::vector<std::string> labels = {label};
    const std::string svg = DrawRows(kText, labels, std::vector<double>{1});
    const std::size_t dots = svg.find("..<");
    ASSERT_NE(dots, std::string::npos);
    EXPECT_EQ(svg.substr(dots - 2, 2), "\u00e9");
  }
}

TEST(PlotTest, BarsAreAsHighAsTheirValues) {
  const std::vector<std::string> labels = {"one & two", "three"};
  const std::vector<BarSeries> series = {{"published", {100, 50}}, {"predicted", {25, -1}}};
  // A background, three bars and two legends: what is negative is no bar.
  const auto boxes = Elements(DrawBars(kText, labels, series), "rect");
  ASSERT_EQ(boxes.size(), 6u);
  std::vector<double> heights;
  for (const auto& box : boxes) heights.push_back(Attribute(box, "height"));
  std::sort(heights.begin(), heights.end());
  // The background's height is in per cent; the legends' are 10.
  const double whole = 290;  // for the highest, which is a round number
  EXPECT_EQ(std::count(heights.begin(), heights.end(), whole), 1);
  EXPECT_EQ(std::count(heights.begin(), heights.end(), whole / 2), 1);
  EXPECT_EQ(std::count(heights.begin(), heights.end(), whole / 4), 1);
}

TEST(PlotTest, RowsAreAsLongAsTheirValuesAndSayThem) {
  std::vector<std::string> labels;
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) {
    labels.push_back("a row with a long name, number " + std::to_string(i));
    values.push_back(i == 0 ? 8000 : i == 1 ? 4000 : i == 2 ? -3 : i == 3 ? std::nan("") : 2.5);
  }
  const std::string svg = DrawRows(kText, labels, values);
  const auto bars = Elements(svg, "rect");
  ASSERT_EQ(bars.size(), 30u);  // a background, and a bar for each but what is no number
  EXPECT_EQ(Attribute(bars[1], "width"), 2 * Attribute(bars[2], "width"));
  EXPECT_EQ(Attribute(bars[3], "width"), 0);  // negative
  EXPECT_LT(Attribute(bars[1], "x") + Attribute(bars[1], "width"), 800) << "room for the value";
  for (const char* text : {">a row with a long name, number 29<", ">8000<", ">-3<", ">2.5<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  EXPECT_GE(Attribute(Elements(svg, "svg")[0], "height"),
            Attribute(bars.back(), "y") + Attribute(bars.back(), "height"));
}

TEST(PlotTest, LinesPassThroughTheirPoints) {
  LineSeries line{"p5", {{1, 10, "1 B"}, {4, 20, "4 B"}, {16, std::nan(""), ""}, {64, 40, ""}}};
  const std::string svg = DrawLines(kText, std::vector<LineSeries>{line}, true);
  const auto marks = Elements(svg, "rect");
  ASSERT_EQ(marks.size(), 5u);  // a background, three points, a legend
  const double first = Attribute(marks[1], "x");
  const double second = Attribute(marks[2], "x");
  const double last = Attribute(marks[3], "x");
  EXPECT_NEAR((last - first) / (second - first), 3, 0.01);  // six doublings, and two
  EXPECT_NEAR(Attribute(marks[1], "y") - Attribute(marks[2], "y"),
              (Attribute(marks[1], "y") - Attribute(marks[3], "y")) / 3, 0.11);
  EXPECT_EQ(Elements(svg, "polyline").size(), 1u);
}

TEST(PlotTest, NothingIsAChartToo) {
  EXPECT_EQ(Elements(DrawLines(kText, {}, true), "svg").size(), 1u);
  EXPECT_EQ(Elements(DrawBars(kText, {}, {}), "svg").size(), 1u);
  const std::vector<LineSeries> one = {{"alone", {{0, 0, ""}}}};
  EXPECT_EQ(Elements(DrawLines(kText, one, false), "rect").size(), 3u);
  EXPECT_EQ(Elements(DrawLines(kText, one, true), "rect").size(), 1u);
}

TEST(CsvTest, CellsAreQuotedWhereTheyMust) {
  EXPECT_EQ(FormatCsv({{"a", "b c", ""}, {"1,5", "say \"no\"", "two\nlines"}}),
            "a,b c,\n\"1,5\",\"say \"\"no\"\"\",\"two\nlines\"\n");
  EXPECT_EQ(FormatCsv({}), "");
}

}  // namespace
}  // namespace drydock::apps
