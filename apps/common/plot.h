// Charts, as SVG that a browser shows and a page can include.
//
//   Gbit/s                                     Gbit/s
//     100 ┤        ╭────── p5                    100 ┤      ▇▇ published
//      50 ┤    ╭───╯                              50 ┤ ▇▇▒▒ ▇▇▒▒ predicted
//       0 ┼────┬────┬────┬                         0 ┼──┬────┬──
//         64  4096   1M  bytes                        first second
//
// Pure functions. Texts are escaped; values that are not finite are left out.

#ifndef DRYDOCK_APPS_COMMON_PLOT_H_
#define DRYDOCK_APPS_COMMON_PLOT_H_

#include <span>
#include <string>
#include <vector>

namespace drydock::apps {

struct ChartText {
  std::string title;
  std::string subtitle;  // what kind of figures these are: "predicted", "simulated", "measured"
  std::string x_label;
  std::string y_label;
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string label;  // below the axis, and in the tooltip; empty: the number
};

struct LineSeries {
  std::string name;
  std::vector<ChartPoint> points;  // by x
};

// Lines over one axis. `log_x`: each doubling of x is as wide as the last; points with an x of 0 or
// less are left out then.
std::string DrawLines(const ChartText& text, std::span<const LineSeries> series, bool log_x);

// A series of bars: one beside those of the other series for each label.
struct BarSeries {
  std::string name;
  std::vector<double> values;  // as many as labels
};

// Groups of bars, one for each label.
std::string DrawBars(const ChartText& text, std::span<const std::string> labels,
                     std::span<const BarSeries> series);

// One bar for each label, from left to right, with its value behind it: any number of labels can be
// read, and so can a bar that is next to nothing beside the longest one.
std::string DrawRows(const ChartText& text, std::span<const std::string> labels,
                     std::span<const double> values);

// Charts of the functions above, one below the other in one image.
std::string StackCharts(std::span<const std::string> charts);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_PLOT_H_
