#include "drydock/apps/info/limit_table.h"

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/apps/common/units.h"

namespace drydock::apps::info {
namespace {

using fabric::Limits;

constexpr absl::string_view kNone = "none";  // there is no such operation
constexpr absl::string_view kNotTold = "not told";

template <auto kField>
constexpr std::uint64_t Field(const Limits& limits) {
  return limits.*kField;
}

constexpr std::array kTable = {
    LimitRow{"address_bytes", true, "varies", "an endpoint's address",
             Field<&Limits::address_bytes>},
    LimitRow{"send_queue_depth", false, kNone,
             "sends, writes and reads in flight per endpoint, until their completion is read",
             Field<&Limits::send_queue_depth>},
    LimitRow{"receive_queue_depth", false, kNone, "receives posted per endpoint",
             Field<&Limits::receive_queue_depth>},
    LimitRow{"completion_queue_depth", false, kNone,
             "entries of a completion queue that is opened without naming a depth",
             Field<&Limits::completion_queue_depth>},
    LimitRow{"max_message_bytes", true, kNone, "the longest send",
             Field<&Limits::max_message_bytes>},
    LimitRow{"max_rma_bytes", true, kNone, "the longest write or read",
             Field<&Limits::max_rma_bytes>},
    LimitRow{"inject_bytes", true, kNone, "the longest send whose bytes are taken during the post",
             Field<&Limits::inject_bytes>},
    LimitRow{"inject_rma_bytes", true, kNone,
             "the longest write whose bytes are taken during the post",
             Field<&Limits::inject_rma_bytes>},
    LimitRow{"multi_receive_bytes", true, kNone,
             "a buffer for several messages is given back when less than this is left",
             Field<&Limits::multi_receive_bytes>},
    LimitRow{"datagram_bytes", true, kNone, "the longest datagram, its prefix included",
             Field<&Limits::datagram_bytes>},
    LimitRow{"datagram_prefix_bytes", true, kNone,
             "at the start of each datagram buffer, kept for the device",
             Field<&Limits::datagram_prefix_bytes>},
    LimitRow{"send_segments", false, kNone, "pieces of local memory in one send",
             Field<&Limits::send_segments>},
    LimitRow{"receive_segments", false, kNone, "pieces of local memory in one receive",
             Field<&Limits::receive_segments>},
    LimitRow{"rma_segments", false, kNone, "pieces of local memory in one write or read",
             Field<&Limits::rma_segments>},
    LimitRow{"mtu_bytes", true, kNotTold, "payload of one packet", Field<&Limits::mtu_bytes>},
    LimitRow{"key_bytes", true, kNone, "a remote key", Field<&Limits::key_bytes>},
    LimitRow{"immediate_bytes", true, kNone, "an immediate on the wire; programs here use 4",
             Field<&Limits::immediate_bytes>},
    LimitRow{"max_endpoints", false, kNotTold, "endpoints per domain",
             Field<&Limits::max_endpoints>},
    LimitRow{"max_completion_queues", false, kNotTold, "completion queues per domain",
             Field<&Limits::max_completion_queues>},
    LimitRow{"max_memory_regions", false, kNotTold, "registered regions of memory per domain",
             Field<&Limits::max_memory_regions>},
};
static_assert(sizeof(Limits) == kTable.size() * sizeof(std::uint64_t), "one row for each field");

}  // namespace

std::span<const LimitRow> LimitTable() { return kTable; }

std::string FormatLimit(const LimitRow& row, const fabric::Limits& limits) {
  const std::uint64_t value = row.value(limits);
  if (value == Limits::kUnlimited) return "no limit";
  if (value == 0) return std::string(row.zero);
  if (!row.bytes) return absl::StrCat(value);
  // People compare these with sizes in their programs: a rounded figure alone would mislead.
  const std::string rounded = FormatBytes(value);
  return absl::StrContains(rounded, '.') ? absl::StrCat(value, " B (", rounded, ")") : rounded;
}

}  // namespace drydock::apps::info
