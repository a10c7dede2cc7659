#include "drydock/apps/common/svg.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drydock/gpu/topology/xml.h"

namespace drydock::apps {
namespace {

using gpu::topology::EscapeXml;

// Of a character, in parts of the font's size: sans-serif fonts are narrower on average.
constexpr double kCharacterWidth = 0.58;
constexpr double kBoldCharacterWidth = 0.66;

std::string Shortened(absl::string_view text, double width_px, const TextStyle& style) {
  const double character = style.size_px * (style.bold ? kBoldCharacterWidth : kCharacterWidth);
  const auto most = static_cast<std::size_t>(width_px / character);
  if (text.size() <= most || most < 3) return std::string(text);
  std::size_t end = most - 2;
  // Half a character of UTF-8 would make the whole image unreadable.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "..");
}

}  // namespace

void Svg::Rectangle(const Box& box, absl::string_view fill, absl::string_view border,
                    double radius) {
  absl::StrAppendFormat(&shapes_,
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" "
                        "fill=\"%s\" stroke=\"%s\"/>\n",
                        box.x, box.y, box.width, box.height, radius, fill, border);
}

void Svg::Line(double x1, double y1, double x2, double y2, absl::string_view colour, double width) {
  absl::StrAppendFormat(&shapes_,
                        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                        "stroke-width=\"%.1f\"/>\n",
                        x1, y1, x2, y2, colour, width);
}

void Svg::Text(double x, double y, absl::string_view text, double width_px,
               const TextStyle& style) {
  absl::StrAppendFormat(&shapes_,
                        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\"%s fill=\"%s\" "
                        "text-anchor=\"%s\">%s</text>\n",
                        x, y, style.size_px, style.bold ? " font-weight=\"bold\"" : "",
                        style.colour, style.anchor, EscapeXml(Shortened(text, width_px, style)));
}

void Svg::Polyline(std::span<const Point> points, absl::string_view colour, double width) {
  absl::StrAppend(&shapes_, "<polyline points=\"");
  for (const Point& point : points) absl::StrAppendFormat(&shapes_, "%.1f,%.1f ", point.x, point.y);
  absl::StrAppendFormat(&shapes_, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
                        colour, width);
}

void Svg::BeginGroup(absl::string_view tooltip) {
  absl::StrAppend(&shapes_, "<g><title>", EscapeXml(tooltip), "</title>\n");
}

void Svg::EndGroup() { absl::StrAppend(&shapes_, "</g>\n"); }

std::string Svg::Finish(double width, double height) const {
  return absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n",
      width, height, width, height, shapes_);
}

}  // namespace drydock::apps
