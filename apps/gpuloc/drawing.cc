#include "drydock/apps/gpuloc/drawing.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/common/svg.h"
#include "drydock/apps/gpuloc/outline.h"
#include "drydock/gpu/topology/locality.h"

namespace drydock::apps::gpuloc {
namespace {

using gpu::topology::Bridge;
using gpu::topology::Device;
using gpu::topology::FormatCpuList;
using gpu::topology::Machine;

// All in pixels.
constexpr double kUnit = 256;  // a GPU, or four NICs
constexpr double kGap = 8;
constexpr double kPadding = 12;
constexpr double kGpuHeight = 50;
constexpr double kBarHeight = 22;
constexpr double kWire = 10;  // between a device and the bar of its switch
constexpr double kNicHeight = 44;
constexpr double kPanelHeader = 34;
constexpr double kHang = 14;     // between a panel's header and its cards
constexpr double kMaxUnits = 4;  // GPUs beside each other on a card
constexpr double kMaxRow = kMaxUnits * (kUnit + 2 * kPadding + kGap);  // cards beside each other
constexpr double kTitleHeight = 64;
constexpr double kLegendHeight = 40;

constexpr absl::string_view kWireColour = "#7b8794";
constexpr absl::string_view kBarColour = "#52606d";
constexpr absl::string_view kQuiet = "#616e7c";
constexpr absl::string_view kUnused = "#e4e7eb";

// Light enough for dark text, and told apart also without green and red.
constexpr absl::string_view kColours[] = {"#a6cee3", "#fdbf6f", "#b2df8a", "#cab2d6",
                                          "#fb9a99", "#ffed8a", "#8dd3c7", "#e0c2a2"};

absl::string_view ColourOf(std::size_t gpu) { return kColours[gpu % std::size(kColours)]; }

struct Size {
  double width = 0;
  double height = 0;
};

// What is on a card, sorted by how it is drawn.
struct Contents {
  std::vector<const Outline*> gpus;
  std::vector<const Outline*> nics;
  std::vector<const Outline*> cards;

  bool has_devices() const { return !gpus.empty() || !nics.empty(); }
};

Contents ContentsOf(const Outline& outline) {
  Contents contents;
  for (const Outline& child : outline.children) {
    (child.kind == Kind::kGpu   ? contents.gpus
     : child.kind == Kind::kNic ? contents.nics
                                : contents.cards)
        .push_back(&child);
  }
  return contents;
}

// A grid of equal boxes.
struct Grid {
  std::size_t columns = 1;
  std::size_t rows = 0;
  double box_width = 0;
};

Grid GridOf(std::size_t boxes, double most_columns, double width) {
  const auto columns = std::clamp(boxes, std::size_t{1}, static_cast<std::size_t>(most_columns));
  return {columns, (boxes + columns - 1) / columns,
          (width - kGap * static_cast<double>(columns - 1)) / static_cast<double>(columns)};
}

double Stacked(std::size_t rows, double height) {
  return rows == 0 ? 0 : static_cast<double>(rows) * (height + kGap) - kGap;
}

// GPUs, a bar, and NICs.
struct Block {
  double width = 0;
  Grid gpus;
  Grid nics;

  double gpus_height() const { return Stacked(gpus.rows, kGpuHeight); }
  double bar_top() const { return gpus.rows > 0 ? gpus_height() + kWire : 0; }
  double nics_top() const { return bar_top() + kBarHeight + (nics.rows > 0 ? kWire : 0); }
  double height() const { return nics_top() + Stacked(nics.rows, kNicHeight); }
};

Block BlockOf(const Contents& contents) {
  const double wanted = std::max(static_cast<double>(contents.gpus.size()),
                                 static_cast<double>((contents.nics.size() + 3) / 4));
  const double units = std::clamp(wanted, 1.0, kMaxUnits);
  Block block;
  block.width = units * (kUnit + kGap) - kGap;
  block.gpus = GridOf(contents.gpus.size(), units, block.width);
  block.nics = GridOf(contents.nics.size(), 4 * units, block.width);
  return block;
}

class Drawing {
 public:
  explicit Drawing(const MachineChoice& choice)
      : machine_(choice.machine), root_(OutlineOf(choice.machine)), source_(choice.source) {
    users_.resize(machine_.nics.size());
    const std::vector<std::vector<int>> pairs = PairNics(machine_);
    for (std::size_t gpu = 0; gpu < pairs.size(); ++gpu) {
      for (const int nic : pairs[gpu]) users_[nic].push_back(gpu);
    }
  }

  std::string Draw() {
    const std::vector<Outline> panels = Panels();
    double width = 2 * kUnit;
    for (const Outline& panel : panels) width = std::max(width, PanelSize(panel).width);
    DrawTitle(width);
    double y = kTitleHeight;
    for (const Outline& panel : panels) {
      const double height = PanelSize(panel).height;
      DrawPanel(panel, {kPadding, y, width, height});
      y += height + kPadding;
    }
    DrawLegend(y, width);
    return svg_.Finish(width + 2 * kPadding, y + kLegendHeight);
  }

 private:
  // The NUMA nodes, and one for what belongs to none of them.
  std::vector<Outline> Panels() const {
    std::vector<Outline> panels;
    Outline rest;
    for (const Outline& child : root_.children) {
      (child.kind == Kind::kNumaNode ? panels : rest.children).push_back(child);
    }
    if (!rest.children.empty()) panels.push_back(std::move(rest));
    return panels;
  }

  // ---- Sizes ----

  // Cards from left to right, in as many rows as they need.
  template <typename Place>
  Size Flow(const std::vector<const Outline*>& cards, const Place& place) const {
    Size all;
    double x = 0, y = 0, row_height = 0;
    for (const Outline* card : cards) {
      const Size size = CardSize(*card);
      if (x > 0 && x + size.width > kMaxRow) {
        x = 0;
        y += row_height + kGap;
        row_height = 0;
      }
      place(*card, Box{x, y, size.width, size.height});
      all.width = std::max(all.width, x + size.width);
      row_height = std::max(row_height, size.height);
      x += size.width + kGap;
    }
    all.height = y + row_height;
    return all;
  }

  Size CardsSize(const Contents& contents) const {
    return Flow(contents.cards, [](const Outline&, const Box&) {});
  }

  // Devices, or a bar without any; then cards.
  Size SizeWithBlock(const Contents& contents) const {
    const Size cards = CardsSize(contents);
    const Block block = BlockOf(contents);
    return {std::max(block.width, cards.width),
            block.height() + (contents.cards.empty() ? 0 : kHang + cards.height)};
  }

  Size CardSize(const Outline& card) const {
    const Size size = SizeWithBlock(ContentsOf(card));
    return {size.width + 2 * kPadding, size.height + 2 * kPadding};
  }

  Size PanelSize(const Outline& panel) const {
    const Contents contents = ContentsOf(panel);
    const Size size = contents.has_devices() ? SizeWithBlock(contents) : CardsSize(contents);
    const double below = size.height > 0 ? kHang + size.height + kPadding : 0;
    return {std::max(size.width, 2 * kUnit) + 2 * kPadding, kPanelHeader + below};
  }

  // ---- Shapes ----

  void DrawTitle(double width) {
    svg_.Text(kPadding, 30, machine_.name.empty() ? source_ : machine_.name, width,
              {.size_px = 20, .bold = true});
    svg_.Text(kPadding, 50, absl::StrCat(SummaryOf(machine_), "; from ", source_), width,
              {.size_px = 12, .colour = kQuiet});
  }

  void DrawLegend(double y, double width) {
    const TextStyle style{.size_px = 11, .colour = kQuiet};
    svg_.Text(kPadding, y + 12,
              "A NIC has the colours of the GPUs that should use it; it is grey if none should.",
              width, style);
    svg_.Text(kPadding, y + 28, "GPUs and NICs are numbered by PCI address.", width, style);
  }

  void DrawPanel(const Outline& panel, const Box& box) {
    const bool is_node = panel.kind == Kind::kNumaNode;
    const std::string title = is_node ? TitleOf(machine_, panel) : "NUMA node not told";
    svg_.Rectangle(box, "#f5f7fa", "#cbd2d9", 10);
    svg_.Rectangle({box.x, box.y, box.width, kPanelHeader}, "#323f4b", "#323f4b", 10);
    svg_.Text(box.x + kPadding, box.y + 22, title, box.width - 2 * kPadding,
              {.size_px = 14, .bold = true, .colour = "#ffffff"});
    const Contents contents = ContentsOf(panel);
    const double x = box.x + kPadding;
    double y = box.y + kPanelHeader + kHang;
    if (contents.has_devices()) {
      const Block block = BlockOf(contents);
      DrawBlock(contents, block, "bridges not told", "", {x, y, block.width, block.height()});
      y += block.height() + kHang;
    }
    DrawHangers(contents.cards, x, y, y - kHang);
    DrawCards(contents.cards, x, y);
  }

  void DrawCards(const std::vector<const Outline*>& cards, double x, double y) {
    Flow(cards, [&](const Outline& card, const Box& box) {
      DrawCard(card, {x + box.x, y + box.y, box.width, box.height});
    });
  }

  // What the cards of the first row hang from: lines that begin at `from_y`.
  void DrawHangers(const std::vector<const Outline*>& cards, double x, double y, double from_y) {
    Flow(cards, [&](const Outline&, const Box& box) {
      const double middle = x + box.x + box.width / 2;
      if (box.y == 0) svg_.Line(middle, from_y, middle, y, kWireColour, 3);
    });
  }

  void DrawCard(const Outline& card, const Box& box) {
    const Bridge& bridge = machine_.bridges[card.index];
    const std::string title = bridge.is_switch() ? absl::StrCat("switch ", bridge.upstream_port)
                                                 : absl::StrCat("host bridge ", bridge.buses);
    const std::string link = bridge.upstream_gbytes_per_s > 0
                                 ? FormatGbytesPerSecond(bridge.upstream_gbytes_per_s)
                                 : std::string();
    svg_.BeginGroup(TitleOf(machine_, card));
    svg_.Rectangle(box, "#ffffff", "#cbd2d9", 8);
    const Contents contents = ContentsOf(card);
    const Block block = BlockOf(contents);
    const Box inside{box.x + kPadding, box.y + kPadding, box.width - 2 * kPadding, block.height()};
    const double cards_y = inside.y + inside.height + kHang;
    DrawHangers(contents.cards, inside.x, cards_y, inside.y + block.bar_top());
    DrawBlock(contents, block, title, link, inside);
    svg_.EndGroup();
    DrawCards(contents.cards, inside.x, cards_y);
  }

  // The bar is as wide as the box.
  void DrawBlock(const Contents& contents, const Block& block, absl::string_view title,
                 absl::string_view link, const Box& inside) {
    const double x = inside.x, y = inside.y, width = inside.width;
    const double bar = y + block.bar_top();
    ForEachBox(contents.gpus, block.gpus, kGpuHeight, x, y, [&](int gpu, const Box& box) {
      const double middle = box.x + box.width / 2;
      svg_.Line(middle, box.y + box.height, middle, bar, kWireColour, 2);
      DrawGpu(gpu, box);
    });
    ForEachBox(contents.nics, block.nics, kNicHeight, x, y + block.nics_top(),
               [&](int nic, const Box& box) {
                 const double middle = box.x + box.width / 2;
                 svg_.Line(middle, bar, middle, box.y, kWireColour, 2);
                 DrawNic(nic, box);
               });
    svg_.Rectangle({x, bar, width, kBarHeight}, kBarColour, kBarColour, 4);
    svg_.Text(x + 8, bar + 15, title, width - 16, {.size_px = 11, .colour = "#ffffff"});
    svg_.Text(x + width - 8, bar + 15, link, width,
              {.size_px = 11, .colour = "#ffffff", .anchor = "end"});
  }

  // From the last to the first, so that a wire to a lower row is behind the upper row's boxes.
  template <typename DrawOne>
  void ForEachBox(const std::vector<const Outline*>& devices, const Grid& grid, double height,
                  double x, double y, const DrawOne& draw) {
    for (std::size_t i = devices.size(); i-- > 0;) {
      const double column = static_cast<double>(i % grid.columns);
      const double row = static_cast<double>(i / grid.columns);
      draw(devices[i]->index, Box{x + column * (grid.box_width + kGap), y + row * (height + kGap),
                                  grid.box_width, height});
    }
  }

  void DrawGpu(int index, const Box& box) {
    const Device& gpu = machine_.gpus[index];
    svg_.BeginGroup(Tooltip("GPU", index, gpu));
    svg_.Rectangle(box, ColourOf(static_cast<std::size_t>(index)), kBarColour, 6);
    const double right = box.x + box.width - 10;
    svg_.Text(box.x + 10, box.y + 21, absl::StrCat("GPU ", index), 80,
              {.size_px = 13, .bold = true});
    svg_.Text(right, box.y + 21, gpu.pci_address, box.width - 80, {.size_px = 11, .anchor = "end"});
    svg_.Text(box.x + 10, box.y + 39, gpu.name, box.width - 20, {.size_px = 11});
    svg_.EndGroup();
  }

  // One stripe of colour for each GPU that should use it.
  void DrawNic(int index, const Box& box) {
    const Device& nic = machine_.nics[index];
    const std::vector<std::size_t>& users = users_[index];
    svg_.BeginGroup(Tooltip("NIC", index, nic));
    svg_.Rectangle(box, kUnused, kBarColour, 4);
    const double stripe =
        (box.width - 2) / static_cast<double>(std::max<std::size_t>(1, users.size()));
    for (std::size_t i = 0; i < users.size(); ++i) {
      const double x = box.x + 1 + static_cast<double>(i) * stripe;
      svg_.Rectangle({x, box.y + 1, stripe, box.height - 2}, ColourOf(users[i]), "none", 3);
    }
    const double middle = box.x + box.width / 2;
    svg_.Text(middle, box.y + 19, absl::StrCat("NIC ", index), box.width,
              {.size_px = 12, .bold = true, .anchor = "middle"});
    svg_.Text(middle, box.y + 34, nic.name, box.width, {.size_px = 9, .anchor = "middle"});
    svg_.EndGroup();
  }

  std::string Tooltip(absl::string_view kind, int index, const Device& device) const {
    std::string text = absl::StrCat(kind, " ", index, ": ", device.name, ", ", device.pci_address,
                                    ", ", device.vendor_device_id);
    if (device.pcie_gbytes_per_s > 0) {
      absl::StrAppend(&text, ", ", FormatGbytesPerSecond(device.pcie_gbytes_per_s));
    }
    return absl::StrCat(text, ", nearest CPUs ", FormatCpuList(NearestCpus(machine_, device)));
  }

  const Machine& machine_;
  const Outline root_;
  const std::string source_;
  std::vector<std::vector<std::size_t>> users_;  // by NIC: the GPUs that should use it
  Svg svg_;
};

}  // namespace

std::string DrawSvg(const MachineChoice& choice) { return Drawing(choice).Draw(); }

}  // namespace drydock::apps::gpuloc
