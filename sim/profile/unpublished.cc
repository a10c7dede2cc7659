#include "drydock/sim/profile/unpublished.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "drydock/coro/status_macros.h"

namespace drydock::sim {
namespace {

using namespace std::chrono_literals;

template <coro::Duration Profile::*kField>
UnpublishedFigure Time(std::string_view name, coro::Duration least, coro::Duration most,
                       std::string_view reason) {
  return {name,
          true,
          least.count(),
          most.count(),
          reason,
          [](const Profile& profile) { return std::int64_t{(profile.*kField).count()}; },
          [](Profile& profile, std::int64_t value) { profile.*kField = coro::Duration(value); }};
}

template <std::uint32_t Profile::*kField>
UnpublishedFigure Number(std::string_view name, std::int64_t least, std::int64_t most,
                         std::string_view reason) {
  return {name,
          false,
          least,
          most,
          reason,
          [](const Profile& profile) { return std::int64_t{profile.*kField}; },
          [](Profile& profile, std::int64_t value) {
            profile.*kField = static_cast<std::uint32_t>(value);
          }};
}

std::vector<UnpublishedFigure> MakeFigures() {
  std::vector<UnpublishedFigure> figures = {
      Time<&Profile::unresponsive_timeout>(
          "unresponsive_timeout", 100ms, 60s,
          "InfiniBand NICs give up after 8 tries of 4.096 us * 2^timeout each: 0.5 s for timeout "
          "14, "
          "34 s for the 20 of NCCL_IB_TIMEOUT; the device may be faster or slower than these"),
      Time<&Profile::unreachable_timeout>(
          "unreachable_timeout", 100ms, 60s,
          "as unresponsive_timeout: nothing says that the device treats a new peer otherwise"),
      Time<&Profile::rnr_delay>(
          "rnr_delay", 10us, 655ms,
          "the times that InfiniBand's RNR NAK timer can say (IBTA, minimum RNR NAK timer field)"),
      Time<&Profile::retransmit_delay>(
          "retransmit_delay", 10us, 10ms,
          "microseconds and not milliseconds, says AWS (re:Invent 2022): from about one round trip "
          "to a few times the claim"),
      Number<&Profile::retransmit_one_in>(
          "retransmit_one_in", 32, 1 << 20,
          "from the losses of a network with much incast to those of one without"),
      Time<&Profile::duplicate_delay>(
          "duplicate_delay", 0us, 1ms,
          "a second copy is a retransmission that was not needed: as late as one may be"),
      Time<&Profile::split_placement_delay>(
          "split_placement_delay", 0us, 100us,
          "from one DMA write behind the other to what stalled PCIe credits were seen to cost"),
      Time<&Profile::ack_delay>("ack_delay", 0us, 50us,
                                "from an answer at once to one that is gathered with others"),
      Time<&Profile::path_spread>(
          "path_spread", 0us, 100us,
          "what waits in one switch's queue: 100 us are 1.2 MB at 100 Gbit/s"),
      Time<&Profile::dma_latency>(
          "dma_latency", 300ns, 3us,
          "PCIe reads take 0.4 to 1 us (Neugebauer and others, SIGCOMM 2018), over switches more"),
      Number<&Profile::engine_window>(
          "engine_window", 1, 128,
          "from one work request after the other to twice the shortest send queue at once"),
      {"cq_doorbell", false, 0, 1,
       "the driver takes a doorbell of a polled queue where the device gives one (amzn-drivers "
       "efa_com_cmd.c, db_valid): nothing says which do",
       [](const Profile& profile) { return std::int64_t{profile.device.cq_doorbell}; },
       [](Profile& profile, std::int64_t value) { profile.device.cq_doorbell = value != 0; }},
      Number<&Profile::refuses_mixed_immediates>("refuses_mixed_immediates", 0, 1,
                                                 "a completion without a receive, which crashed "
                                                 "peers (ofiwg/libfabric pull request 10657), "
                                                 "or a refusal (11876)"),
      Time<&Profile::congestion_target>(
          "congestion_target", 5us, 200us,
          "from a few packets of 100 Gbit/s to what path_spread says of one switch's queue, twice"),
      Time<&Profile::incast_queue>(
          "incast_queue", 50us, 5ms,
          "what one port may take of a switch's buffer: 0.6 to 60 MB at 100 Gbit/s"),
  };
  return figures;
}

const std::vector<UnpublishedFigure>& All() {
  static const auto& figures = *new std::vector<UnpublishedFigure>(MakeFigures());
  return figures;
}

const UnpublishedFigure* Find(absl::string_view name) {
  for (const UnpublishedFigure& figure : All()) {
    if (absl::string_view(figure.name.data(), figure.name.size()) == name) return &figure;
  }
  return nullptr;
}

absl::StatusOr<std::int64_t> ParseFigure(const UnpublishedFigure& figure, absl::string_view text) {
  std::int64_t value = 0;
  if (!figure.is_time) {
    if (absl::SimpleAtoi(text, &value)) return value;
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no whole number"));
  }
  absl::Duration duration;
  if (absl::ParseDuration(std::string(text), &duration) && duration != absl::InfiniteDuration()) {
    return absl::ToInt64Nanoseconds(duration);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no time such as 500us or 20ms"));
}

}  // namespace

std::span<const UnpublishedFigure> UnpublishedFigures() { return All(); }

absl::Status CheckFigures(const Figures& figures) {
  for (const auto& [name, value] : figures) {
    const UnpublishedFigure* const figure = Find(name);
    if (figure == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "figure ", name, " does not exist: ",
          absl::StrJoin(All(), ", ", [](std::string* out, const UnpublishedFigure& known) {
            out->append(known.name);
          })));
    }
    if (value < figure->least || value > figure->most) {
      return absl::InvalidArgumentError(absl::StrCat(
          "figure ", name, " is ", FormatFigure(*figure, value), ": it takes from ",
          FormatFigure(*figure, figure->least), " to ", FormatFigure(*figure, figure->most)));
    }
  }
  return absl::OkStatus();
}

Profile WithFigures(Profile profile, const Figures& figures) {
  for (const auto& [name, value] : figures) Find(name)->set(profile, value);
  return profile;
}

absl::StatusOr<Figures> ParseFigures(absl::string_view text) {
  Figures figures;
  if (text.empty()) return figures;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string name(halves.first);
    const UnpublishedFigure* const figure = Find(name);
    if (figure == nullptr) return CheckFigures({{name, 0}});
    ASSIGN_OR_RETURN(const std::int64_t value, ParseFigure(*figure, halves.second));
    if (!figures.emplace(name, value).second) {
      return absl::InvalidArgumentError(absl::StrCat("figure ", name, " is set twice"));
    }
  }
  RETURN_IF_ERROR(CheckFigures(figures));
  return figures;
}

std::string FormatFigures(const Figures& figures) {
  return absl::StrJoin(figures, ",", [](std::string* out, const auto& named) {
    absl::StrAppend(out, named.first, "=", FormatFigure(*Find(named.first), named.second));
  });
}

std::string FormatFigure(const UnpublishedFigure& figure, std::int64_t value) {
  if (!figure.is_time) return absl::StrCat(value);
  struct Unit {
    std::int64_t nanoseconds;
    const char* name;
  };
  for (const Unit unit : {Unit{1000000000, "s"}, Unit{1000000, "ms"}, Unit{1000, "us"}}) {
    if (value != 0 && value % unit.nanoseconds == 0) {
      return absl::StrCat(value / unit.nanoseconds, unit.name);
    }
  }
  return absl::StrCat(value, "ns");
}

}  // namespace drydock::sim
