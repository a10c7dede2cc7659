// A drawing is for eyes; what can be tested is that it is an image, that nothing is outside of it,
// on top of something else or forgotten, and that colours say what belongs together.

#include "drydock/apps/gpuloc/drawing.h"

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/gpu/topology/xml.h"
#include "drydock/sim/profile/profile.h"
#include "drydock/sim/topology/topology_of.h"
#include "drydock/testing/matchers/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace drydock::apps::gpuloc {
namespace {

using ::drydock::gpu::topology::Machine;
using ::drydock::gpu::topology::ParseXml;
using ::drydock::gpu::topology::XmlElement;
using ::testing::HasSubstr;
using ::testing::SizeIs;

MachineChoice Profile(const std::string& name) {
  return {sim::TopologyOf(**sim::FindProfile(name)), absl::StrCat("profile ", name)};
}

struct Shape {
  double left, top, right, bottom;
  std::string fill;
};

double Number(const XmlElement& element, const char* attribute) {
  const std::string* text = element.Find(attribute);
  return text == nullptr ? 0 : std::atof(text->c_str());
}

Shape ShapeOf(const XmlElement& element) {
  const double x = Number(element, "x"), y = Number(element, "y");
  const std::string* fill = element.Find("fill");
  return {x, y, x + Number(element, "width"), y + Number(element, "height"),
          fill == nullptr ? "" : *fill};
}

// The rectangles of every device, in the order of the text: its box, then stripes on it.
std::map<std::string, std::vector<Shape>> Devices(const std::string& svg) {
  std::map<std::string, std::vector<Shape>> devices;
  // The reader here ignores text, so that tooltips are found in the SVG itself.
  for (std::size_t at = 0; (at = svg.find("<title>", at)) != std::string::npos; ++at) {
    const std::size_t end = svg.find("</title>", at);
    const std::string title = svg.substr(at + 7, end - at - 7);
    if (title.substr(0, 4) != "GPU " && title.substr(0, 4) != "NIC ") continue;
    const std::string inner = svg.substr(end + 8, svg.find("</g>", end) - end - 8);
    const auto elements = ParseXml(absl::StrCat("<g>", inner, "</g>"));
    if (!elements.ok()) continue;
    std::vector<Shape>& shapes = devices[title.substr(0, title.find(':'))];
    for (const XmlElement& element : *elements) {
      if (element.name == "rect") shapes.push_back(ShapeOf(element));
    }
  }
  return devices;
}

bool Overlap(const Shape& a, const Shape& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

void ExpectSound(const MachineChoice& choice) {
  SCOPED_TRACE(choice.source);
  const std::string svg = DrawSvg(choice);
  ASSERT_OK_AND_ASSIGN(const std::vector<XmlElement> elements, ParseXml(svg));
  EXPECT_EQ(elements[0].name, "svg");
  const Shape image = ShapeOf(elements[0]);
  for (const XmlElement& element : elements) {
    if (element.name != "rect" || element.Find("x") == nullptr) continue;
    const Shape shape = ShapeOf(element);
    EXPECT_TRUE(shape.left >= 0 && shape.top >= 0 && shape.right <= image.right &&
                shape.bottom <= image.bottom && shape.left < shape.right)
        << "line " << element.line;
  }
  const std::map<std::string, std::vector<Shape>> devices = Devices(svg);
  EXPECT_THAT(devices, SizeIs(choice.machine.gpus.size() + choice.machine.nics.size()));
  for (const auto& [name, shapes] : devices) {
    for (const auto& [other, other_shapes] : devices) {
      if (name != other) {
        EXPECT_FALSE(Overlap(shapes[0], other_shapes[0])) << name << other;
      }
    }
  }
}

TEST(DrawingTest, EveryProfileIsDrawnWhole) {
  for (const sim::Profile& profile : sim::Profiles()) ExpectSound(Profile(profile.name));
}

TEST(DrawingTest, MachinesThatLackSomethingAreDrawnToo) {
  ExpectSound({Machine(), "nothing"});
  MachineChoice choice = Profile("p5");
  for (auto& nic : choice.machine.nics) nic.bridge = nic.numa_node = -1;
  choice.source = "NICs of no known place";
  ExpectSound(choice);
  choice.machine.gpus.clear();
  choice.source = "no GPU";
  ExpectSound(choice);
}

// A switch below a switch, with devices on both, and more devices than fit a row.
TEST(DrawingTest, SwitchesBelowSwitchesAreInsideTheirCards) {
  MachineChoice choice = Profile("p5");
  Machine& machine = choice.machine;
  for (auto& bridge : machine.bridges) {
    if (bridge.parent >= 2) bridge.parent = 1;
  }
  for (std::size_t i = 0; i < 6; ++i) machine.gpus[i].bridge = 1;
  ExpectSound(choice);
}

TEST(DrawingTest, ANicHasTheColoursOfItsGpus) {
  std::map<std::string, std::vector<Shape>> p5 = Devices(DrawSvg(Profile("p5")));
  std::set<std::string> colours;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string colour = p5[absl::StrCat("GPU ", gpu)][0].fill;
    EXPECT_TRUE(colours.insert(colour).second) << colour;
    for (int nic = 4 * gpu; nic < 4 * gpu + 4; ++nic) {
      const std::vector<Shape>& shapes = p5[absl::StrCat("NIC ", nic)];
      ASSERT_THAT(shapes, SizeIs(2)) << nic;
      EXPECT_EQ(shapes[1].fill, colour) << nic;
    }
  }
  std::map<std::string, std::vector<Shape>> p4d = Devices(DrawSvg(Profile("p4d")));
  ASSERT_THAT(p4d["NIC 3"], SizeIs(3));
  EXPECT_EQ(p4d["NIC 3"][1].fill, p4d["GPU 6"][0].fill);
  EXPECT_EQ(p4d["NIC 3"][2].fill, p4d["GPU 7"][0].fill);
}

TEST(DrawingTest, NamesAreEscaped) {
  MachineChoice choice = Profile("small");
  choice.machine.gpus[0].name = "<R&D>";
  choice.machine.name = "\"<x>\"";
  ExpectSound(choice);
  EXPECT_THAT(DrawSvg(choice), HasSubstr("&lt;R&amp;D&gt;"));
}

}  // namespace
}  // namespace drydock::apps::gpuloc
