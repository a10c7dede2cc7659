#include "drydock/apps/common/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/apps/common/svg.h"

namespace drydock::apps {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 440;
constexpr Box kArea = {.x = 80, .y = 64, .width = 740, .height = 290};  // of the values
constexpr double kBottom = kArea.y + kArea.height;
constexpr double kLegendY = 420;
constexpr std::size_t kMostLabels = 16;

// Of DrawRows.
constexpr double kRowHeight = 20;
constexpr double kRowsLeft = 340;   // where bars begin, behind their labels
constexpr double kRowsWidth = 430;  // of the longest; its value follows

constexpr const char* kInk = "#1f2933";
constexpr const char* kFaint = "#d9e2ec";
// Apart for the colour-blind too (Okabe and Ito).
constexpr std::array<const char*, 6> kColours = {"#0072b2", "#e69f00", "#009e73",
                                                 "#cc79a7", "#d55e00", "#56b4e9"};

const char* ColourOf(std::size_t series) { return kColours[series % kColours.size()]; }

std::string Number(double value) { return absl::StrFormat("%.4g", value); }

// 1, 2 or 5 times a power of ten, so that about five of them make `most`.
double StepFor(double most) {
  const double power = std::pow(10, std::floor(std::log10(most / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor * 5 >= most * 0.999) return power * factor;
  }
  return power * 10;
}

void DrawTitle(const ChartText& text, Svg& svg) {
  svg.Text(kArea.x, 28, text.title, kArea.width, {.size_px = 16, .bold = true});
  svg.Text(kArea.x, 48, absl::StrCat(text.y_label, ", ", text.subtitle), kArea.width,
           {.size_px = 12, .colour = "#52606d"});
}

// The frame of a chart whose values go from 0 to a round number.
class Frame {
 public:
  Frame(const ChartText& text, double most) {
    if (!(most > 0)) most = 1;
    const double step = StepFor(most);
    top_ = std::ceil(most / step - 1e-9) * step;
    DrawTitle(text, svg_);
    svg_.Text(kArea.x + kArea.width / 2, kBottom + 44, text.x_label, kArea.width,
              {.size_px = 12, .anchor = "middle"});
    for (double value = 0; value <= top_ * 1.0001; value += step) {
      svg_.Line(kArea.x, Y(value), kArea.x + kArea.width, Y(value), kFaint, 1);
      svg_.Text(kArea.x - 8, Y(value) + 4, Number(value), 70, {.size_px = 11, .anchor = "end"});
    }
  }

  double Y(double value) const { return kBottom - value / top_ * kArea.height; }
  Svg& svg() { return svg_; }

  void Tick(double x, const std::string& label, double width) {
    svg_.Text(x, kBottom + 20, label, width, {.size_px = 11, .anchor = "middle"});
  }
  void Legend(std::size_t series, const std::string& name) {
    const double x = kArea.x + 180.0 * static_cast<double>(series % 4);
    const double y = kLegendY + 16.0 * std::floor(static_cast<double>(series) / 4);
    svg_.Rectangle({x, y - 9, 10, 10}, ColourOf(series), ColourOf(series), 2);
    svg_.Text(x + 16, y, name, 160, {.size_px = 12});
  }
  std::string Finish() {
    svg_.Line(kArea.x, kBottom, kArea.x + kArea.width, kBottom, kInk, 1);
    return svg_.Finish(kWidth, kHeight);
  }

 private:
  Svg svg_;
  double top_ = 1;
};

bool IsDrawn(const ChartPoint& point, bool log_x) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!log_x || point.x > 0);
}

// Of a chart, as its first tag says.
double HeightOf(const std::string& chart) {
  const std::string attribute = " height=\"";
  return std::atof(chart.c_str() + chart.find(attribute) + attribute.size());
}

// Where x values are between the ends of the axis.
struct Axis {
  double first = 0;
  double last = 0;
  bool log = false;

  double Place(double x) const { return log ? std::log2(x) : x; }
  double At(double x) const {
    const double span = Place(last) - Place(first);
    const double share = span > 0 ? (Place(x) - Place(first)) / span : 0.5;
    return kArea.x + 20 + share * (kArea.width - 40);
  }
};

}  // namespace

std::string DrawLines(const ChartText& text, std::span<const LineSeries> series, bool log_x) {
  std::vector<ChartPoint> all;
  for (const LineSeries& line : series) {
    std::copy_if(line.points.begin(), line.points.end(), std::back_inserter(all),
                 [log_x](const ChartPoint& point) { return IsDrawn(point, log_x); });
  }
  std::sort(all.begin(), all.end(),
            [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  double most = 0;
  for (const ChartPoint& point : all) most = std::max(most, point.y);
  Frame frame(text, most);
  if (all.empty()) return frame.Finish();
  const Axis axis{all.front().x, all.back().x, log_x};
  all.erase(std::unique(all.begin(), all.end(),
                        [](const ChartPoint& a, const ChartPoint& b) { return a.x == b.x; }),
            all.end());
  const std::size_t every = (all.size() + kMostLabels - 1) / kMostLabels;
  for (std::size_t i = 0; i < all.size(); i += every) {
    frame.Tick(axis.At(all[i].x), all[i].label.empty() ? Number(all[i].x) : all[i].label, 70);
  }
  for (std::size_t s = 0; s < series.size(); ++s) {
    std::vector<Point> places;
    for (const ChartPoint& point : series[s].points) {
      if (IsDrawn(point, log_x)) places.push_back({axis.At(point.x), frame.Y(point.y)});
    }
    frame.svg().Polyline(places, ColourOf(s), 2);
    for (const ChartPoint& point : series[s].points) {
      if (!IsDrawn(point, log_x)) continue;
      frame.svg().BeginGroup(absl::StrCat(series[s].name, ", ",
                                          point.label.empty() ? Number(point.x) : point.label, ": ",
                                          Number(point.y), " ", text.y_label, ", ", text.subtitle));
      frame.svg().Rectangle({axis.At(point.x) - 3, frame.Y(point.y) - 3, 6, 6}, ColourOf(s),
                            ColourOf(s), 3);
      frame.svg().EndGroup();
    }
    frame.Legend(s, series[s].name);
  }
  return frame.Finish();
}

std::string DrawBars(const ChartText& text, std::span<const std::string> labels,
                     std::span<const BarSeries> series) {
  const auto is_drawn = [](double value) { return std::isfinite(value) && value >= 0; };
  double most = 0;
  for (const BarSeries& bars : series) {
    for (const double value : bars.values) most = is_drawn(value) ? std::max(most, value) : most;
  }
  Frame frame(text, most);
  const double group = kArea.width / static_cast<double>(std::max<std::size_t>(1, labels.size()));
  const double bar = group * 0.8 / static_cast<double>(std::max<std::size_t>(1, series.size()));
  for (std::size_t s = 0; s < series.size(); ++s) {
    const std::size_t count = std::min(labels.size(), series[s].values.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double value = series[s].values[i];
      if (!is_drawn(value)) continue;
      const double x =
          kArea.x + group * (static_cast<double>(i) + 0.1) + bar * static_cast<double>(s);
      frame.svg().BeginGroup(
          absl::StrCat(labels[i], ", ", series[s].name, ": ", Number(value), " ", text.y_label));
      frame.svg().Rectangle({x, frame.Y(value), bar * 0.95, kBottom - frame.Y(value)}, ColourOf(s),
                            ColourOf(s), 0);
      frame.svg().EndGroup();
    }
    frame.Legend(s, series[s].name);
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    frame.Tick(kArea.x + group * (static_cast<double>(i) + 0.5), labels[i], group);
  }
  return frame.Finish();
}

std::string DrawRows(const ChartText& text, std::span<const std::string> labels,
                     std::span<const double> values) {
  const std::size_t count = std::min(labels.size(), values.size());
  double most = 0;
  for (const double value : values) most = std::isfinite(value) ? std::max(most, value) : most;
  Svg svg;
  DrawTitle(text, svg);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = values[i];
    if (!std::isfinite(value)) continue;
    const double y = kArea.y + kRowHeight * static_cast<double>(i);
    const double length = value > 0 ? kRowsWidth * value / most : 0;
    svg.BeginGroup(absl::StrCat(labels[i], ": ", Number(value), " ", text.y_label));
    svg.Text(kRowsLeft - 8, y + 14, labels[i], kRowsLeft - 16, {.size_px = 11, .anchor = "end"});
    svg.Rectangle({kRowsLeft, y + 3, length, kRowHeight - 6}, ColourOf(0), ColourOf(0), 0);
    svg.Text(kRowsLeft + length + 6, y + 14, Number(value), 80, {.size_px = 11});
    svg.EndGroup();
  }
  const double bottom = kArea.y + kRowHeight * static_cast<double>(count);
  svg.Line(kRowsLeft, kArea.y, kRowsLeft, bottom, kInk, 1);
  return svg.Finish(kWidth, bottom + kRowHeight);
}

std::string StackCharts(std::span<const std::string> charts) {
  const std::string begin_tag = "<svg ";
  double height = 0;
  for (const std::string& chart : charts) height += HeightOf(chart);
  std::string stack = absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\">\n",
      kWidth, height, kWidth, height);
  double y = 0;
  for (const std::string& chart : charts) {
    // A document has the declaration in front of it only once.
    const std::size_t begin = chart.find(begin_tag) + begin_tag.size();
    absl::StrAppendFormat(&stack, "<svg y=\"%.0f\" %s", y, chart.substr(begin));
    y += HeightOf(chart);
  }
  return stack + "</svg>\n";
}

}  // namespace drydock::apps
