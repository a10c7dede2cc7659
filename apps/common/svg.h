// The few shapes that drawings and charts are made of, as SVG.

#ifndef DRYDOCK_APPS_COMMON_SVG_H_
#define DRYDOCK_APPS_COMMON_SVG_H_

#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace drydock::apps {

// In pixels, from the left and from the top.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

struct Point {
  double x = 0;
  double y = 0;
};

struct TextStyle {
  int size_px = 12;
  bool bold = false;
  absl::string_view colour = "#1f2933";
  absl::string_view anchor = "start";  // start, middle, end: the part of the text at x
};

// Collects shapes; later ones are above earlier ones. Texts are escaped.
class Svg {
 public:
  void Rectangle(const Box& box, absl::string_view fill, absl::string_view border, double radius);
  void Line(double x1, double y1, double x2, double y2, absl::string_view colour, double width);
  // From point to point.
  void Polyline(std::span<const Point> points, absl::string_view colour, double width);
  // Its baseline is at y. A text that is longer than `width_px` by a rough guess ends with dots.
  void Text(double x, double y, absl::string_view text, double width_px, const TextStyle& style);

  // Shapes up to EndGroup show this when the mouse is on them.
  void BeginGroup(absl::string_view tooltip);
  void EndGroup();

  // The image, of this size.
  std::string Finish(double width, double height) const;

 private:
  std::string shapes_;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_SVG_H_
