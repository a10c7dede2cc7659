#include "drydock/apps/doctor/plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <tuple>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "drydock/apps/common/units.h"
#include "drydock/apps/doctor/grants.h"

namespace drydock::apps::doctor {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
constexpr std::uint64_t kHugePage = 2 << 20;

// Products of numbers up to 2^32, three at a time, fit.
using Wide = absl::uint128;

std::string Text(Wide number) {
  if (number > Wide(UINT64_MAX)) return "more than 2^64";
  return absl::StrCat(static_cast<std::uint64_t>(number));
}

std::string Bytes(Wide number) {
  if (number > Wide(UINT64_MAX)) return "more than 16777216 TiB";
  return FormatBytes(static_cast<std::uint64_t>(number));
}

Wide Pages(Wide bytes, std::uint64_t page) { return (bytes + page - 1) / page; }

struct Budget {
  const Plan& plan;
  Wide processes;  // on each NIC, if they share the NICs evenly
  const sim::Profile& profile;
  Findings& findings;

  // One line: what is planned of what there is.
  void Line(absl::string_view check, absl::string_view what, Wide planned, Wide limit,
            absl::string_view consequence, absl::string_view fix, bool deadly = true) const {
    const std::string line = absl::StrCat(what, ": ", Text(planned), " of ", Text(limit));
    if (planned <= limit) {
      findings.Ok(check, line);
    } else if (deadly) {
      findings.Cannot(check, absl::StrCat(line, ": ", consequence), std::string(fix));
    } else {
      findings.Warning(check, absl::StrCat(line, ": ", consequence), std::string(fix));
    }
  }

  void Objects() const;
  void Queues() const;
  void Regions() const;
};

void Budget::Objects() const {
  const sim::DeviceAttributes& device = profile.device;
  Line("plan-queue-pairs", "endpoints on each NIC", processes, device.max_qp,
       "opening one more fails with ENOMEM", "fewer processes on each NIC");
  Line("plan-completion-queues", "completion queues on each NIC", processes, device.max_cq,
       "opening one more fails with ENOMEM", "fewer processes on each NIC");
  Line("plan-protection-domains", "domains on each NIC", processes, device.max_pd,
       "opening one more fails with ENOMEM", "fewer processes on each NIC");
  // One for each NIC of a peer, by each process: peers behind one NIC share it, so this is the
  // most.
  Line("plan-address-handles", "address handles on each NIC, at most", processes * plan.peers,
       device.max_ah,
       "inserting a peer may fail with ENOMEM; the figure is this profile's, and the "
       "device may have more",
       "insert peers when they are needed, remove them afterwards, or let fewer processes talk to "
       "all",
       /*deadly=*/false);
}

void Budget::Queues() const {
  const Wide under_way = Wide(plan.peers) * plan.in_flight;
  const std::size_t sends = profile.limits.send_queue_depth;
  Line("plan-send-queue", "writes under way on an endpoint", under_way, sends,
       "posts answer `again` until completions are read",
       "bound what is under way to the depth of the queue, as fabric/async does by itself",
       /*deadly=*/false);
  // Its own completions, as many as the send queue lets be under way, and an immediate of each
  // write that arrives.
  const Wide own = std::min(under_way, Wide(sends));
  const Wide entries = own + under_way;
  const std::size_t usual = profile.limits.completion_queue_depth;
  const std::string line =
      absl::StrCat("unread completions of an endpoint, at most: ", Text(entries), " of ", usual);
  if (entries <= Wide(usual)) {
    findings.Ok("plan-completions", line);
  } else if (entries <= Wide(profile.device.max_cq_depth)) {
    findings.Warning("plan-completions",
                     absl::StrCat(line, ", which is the default: entries that do not fit are lost"),
                     absl::StrCat("open the completion queue with ", Text(entries), " entries"));
  } else {
    findings.Cannot("plan-completions",
                    absl::StrCat(line, "; a queue has ", profile.device.max_cq_depth,
                                 " entries at most, and those that do not fit are lost"),
                    "let peers write less at a time (credits), or spread them over more endpoints");
  }
}

void Budget::Regions() const {
  const sim::DeviceAttributes& device = profile.device;
  Line("plan-memory-regions", "memory regions on each NIC", processes * plan.regions, device.max_mr,
       "registering one more fails with ENOMEM", "fewer and larger regions");
  if (plan.memory_bytes == 0) return;
  const Wide region_bytes = Pages(plan.memory_bytes, plan.regions);
  // Peers write to the memory themselves only where the device can.
  const std::uint64_t most_pages =
      device.rdma_write ? std::min(device.max_mr_pages, device.max_remote_write_pages)
                        : device.max_mr_pages;
  const bool small = Pages(region_bytes, device.page_bytes) <= Wide(most_pages);
  const bool huge = Pages(region_bytes, kHugePage) <= Wide(most_pages);
  Line("plan-region-pages",
       absl::StrCat("pages of 4 KiB in a region", device.rdma_write ? " that peers write to" : ""),
       Pages(region_bytes, device.page_bytes), most_pages, "the registration fails",
       huge && !small ? "more regions, or memory of huge pages of 2 MiB (MAP_HUGETLB)"
                      : "more and smaller regions");
  const Wide total = processes * plan.memory_bytes;
  const bool fits_huge = Pages(total, kHugePage) <= Wide(device.max_total_pages);
  Line("plan-pages", "pages of 4 KiB registered on each NIC", Pages(total, device.page_bytes),
       device.max_total_pages,
       "registrations fail; near 95 GiB on one instance type (libfabric issue 9739)",
       fits_huge ? "huge pages of 2 MiB (MAP_HUGETLB), or register less at a time"
                 : "register less at a time");
}

// Each registration pins its memory, and each is counted against the limit by itself.
void CheckLocked(const Plan& plan, std::uint64_t nics, const MachineFacts& machine,
                 Findings& findings) {
  const LockedMemory limit = ReadLockedMemory(machine);
  const Wide locked = Wide(plan.memory_bytes) * nics;
  if (plan.memory_bytes == 0 || !limit.known) return;
  const std::string line = absl::StrCat("locked memory of a process: ", Bytes(locked), " (",
                                        FormatBytes(plan.memory_bytes), " on ", nics,
                                        nics == 1 ? " NIC)" : " NICs, each counts)");
  if (limit.unlimited) {
    findings.Ok("plan-locked-memory", line + ", without a limit");
  } else if (locked <= Wide(limit.bytes)) {
    findings.Ok("plan-locked-memory", absl::StrCat(line, " of ", FormatBytes(limit.bytes)));
  } else {
    findings.Cannot("plan-locked-memory",
                    absl::StrCat(line, ", and the limit is ", FormatBytes(limit.bytes)),
                    LockedMemoryFix(machine));
  }
}

void CheckMemory(const Plan& plan, const MachineFacts& machine, Findings& findings) {
  const auto text = machine.files.Read("/proc/meminfo");
  if (plan.memory_bytes == 0 || !text.ok()) return;
  const std::string field = FieldOf(*text, "MemTotal");
  std::uint64_t kib = 0;
  absl::string_view number = field;
  absl::ConsumeSuffix(&number, " kB");
  if (!absl::SimpleAtoi(number, &kib) || kib > kMostBytes / 1024) return;
  const Wide planned = Wide(plan.memory_bytes) * plan.processes;
  const std::string line =
      absl::StrCat("memory of all processes: ", Bytes(planned), " of ", FormatBytes(kib * 1024));
  if (planned <= Wide(kib) * 1024) {
    findings.Ok("plan-memory", line);
  } else {
    findings.Cannot("plan-memory", line + ": this machine has less than is planned",
                    "plan for less, or for another instance type; memory of GPUs does not count");
  }
}

}  // namespace

absl::StatusOr<std::uint64_t> ParseSize(absl::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const absl::string_view digits = text.substr(0, end);
  std::string unit = end == absl::string_view::npos ? "" : absl::AsciiStrToUpper(text.substr(end));
  absl::StripAsciiWhitespace(&unit);
  absl::string_view letter = unit;
  if (!absl::ConsumeSuffix(&letter, "IB")) absl::ConsumeSuffix(&letter, "B");
  static constexpr absl::string_view kLetters = "KMGTP";
  const std::size_t power = letter.empty() ? 0 : kLetters.find(letter) + 1;
  double number = 0;
  const double scale =
      static_cast<double>(std::uint64_t{1} << (10 * std::min<std::size_t>(power, 5)));
  const bool known = letter.size() <= 1 && (letter.empty() || power > 0);
  if (!known || !absl::SimpleAtod(digits, &number) ||
      number * scale > static_cast<double>(kMostBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Printable(text, 40), "' is no size such as 512MiB, 64GiB or 1.5TiB"));
  }
  return static_cast<std::uint64_t>(number * scale);
}

absl::Status CheckPlanIsSane(const Plan& plan) {
  for (const auto& [name, value, least] : {std::tuple("--plan-processes", plan.processes, 1),
                                           {"--plan-nics", plan.nics, 0},
                                           {"--plan-peers", plan.peers, 0},
                                           {"--plan-in-flight", plan.in_flight, 1},
                                           {"--plan-regions", plan.regions, 1}}) {
    if (value < static_cast<std::uint64_t>(least) || value > kMost) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "=", value, " is not from ", least, " to 2^32"));
    }
  }
  return absl::OkStatus();
}

void CheckPlan(const Plan& plan, const sim::Profile& profile, const MachineFacts& machine,
               Findings& findings) {
  findings.Info("plan", absl::StrCat("against ", profile.description));
  if (!profile.device.rdma_write) {
    findings.Info("plan-writes",
                  "these NICs have no RDMA write: `efa-direct` has none either, and the fabric "
                  "`efa` makes a write of messages, each of which takes places in the queues");
  }
  const std::uint64_t there = profile.nics.size();
  const std::uint64_t nics = plan.nics == 0 ? there : plan.nics;
  if (nics > there) {
    findings.Cannot("plan-nics",
                    absl::StrCat(FormatCount(nics, "NIC"), nics == 1 ? " is" : " are",
                                 " planned, and ", there, " are there"),
                    "--plan-nics at most that many");
  }
  const Wide processes = (Wide(plan.processes) * std::min(nics, there) + there - 1) / there;
  const Budget budget{plan, processes, profile, findings};
  budget.Objects();
  if (plan.peers > 0) budget.Queues();
  budget.Regions();
  if (!machine.has_efa()) return;  // the run is for another machine
  CheckLocked(plan, std::min(nics, there), machine, findings);
  CheckMemory(plan, machine, findings);
}

}  // namespace drydock::apps::doctor
