#include "drydock/sim/explore/results.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/coverage/report_json.h"
#include "drydock/fabric/faults/json_reader.h"
#include "drydock/sim/explore/replace_file.h"
#include "nlohmann/json.hpp"

namespace drydock::sim::explore {
namespace {

using fabric::coverage::PointKind;
using fabric::faults::Into;
using fabric::faults::IntoWord;
using fabric::faults::JsonHandler;
using fabric::faults::JsonPlace;
using fabric::faults::ReadObject;
using nlohmann::json;

constexpr absl::string_view kMagic = "drydock-results";
constexpr absl::string_view kVersion = "1";

// FNV-1a: detects files that are cut or edited, not malicious ones.
std::uint64_t Checksum(absl::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

// ---- Writing ----

json ToJson(const SeedResult& result) {
  return {{"seed", result.seed},
          {"verdict", std::string(Name(result.verdict))},
          {"text", result.text},
          {"check", result.check},
          {"digest", result.digest.ToHex()},
          {"events", result.events}};
}

json ToJson(const ExploreReport& report) {
  json counts = json::object();
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    counts[std::string(Name(static_cast<Verdict>(i)))] = report.counts[i];
  }
  json first = json::array();
  for (const auto& [verdict, result] : report.first) first.push_back(ToJson(result));
  json failures = json::array();
  for (const auto& [seed, result] : report.failures) failures.push_back(ToJson(result));
  json rules = json::array();
  for (const auto& [name, total] : report.rules) {
    rules.push_back({{"name", name},
                     {"seeds", total.seeds},
                     {"fired_seeds", total.fired_seeds},
                     {"eligible", total.eligible},
                     {"fired", total.fired},
                     {"most_fired", total.most_fired}});
  }
  return {{"seeds", report.seeds},
          {"events", report.events},
          {"counts", counts},
          {"first", first},
          {"failures", failures},
          {"rules", rules},
          {"coverage", ToJson(report.coverage)}};
}

// ---- Reading ----

template <typename Each>
JsonHandler ForEachObject(Each each) {
  return [each](const json& value, const JsonPlace& place) {
    if (!value.is_array()) return place.Refuse("is no list");
    for (const json& inner : value) RETURN_IF_ERROR(each(inner, place));
    return absl::OkStatus();
  };
}

JsonHandler IntoVerdict(Verdict& target) {
  return IntoWord<Verdict>(target, VerdictFromName, "which is no verdict");
}

JsonHandler IntoDigest(Digest& target) {
  return [&target](const json& value, const JsonPlace& place) {
    std::string text;
    RETURN_IF_ERROR(Into(text)(value, place));
    const bool read = text.size() == 32 && absl::SimpleHexAtoi(text.substr(0, 16), &target.high) &&
                      absl::SimpleHexAtoi(text.substr(16), &target.low);
    return read ? absl::OkStatus() : place.Refuse("is no digest");
  };
}

absl::StatusOr<SeedResult> ReadResult(const json& value, const JsonPlace& place) {
  SeedResult result;
  RETURN_IF_ERROR(ReadObject(value, place,
                             {{"seed", Into(result.seed)},
                              {"verdict", IntoVerdict(result.verdict)},
                              {"text", Into(result.text)},
                              {"check", Into(result.check)},
                              {"digest", IntoDigest(result.digest)},
                              {"events", Into(result.events)}}));
  return result;
}

template <typename Map, typename KeyOf>
JsonHandler IntoResults(Map& target, KeyOf key_of) {
  return ForEachObject([&target, key_of](const json& value, const JsonPlace& place) {
    ASSIGN_OR_RETURN(const SeedResult result, ReadResult(value, place));
    target.emplace(key_of(result), result);
    return absl::OkStatus();
  });
}

JsonHandler IntoCounts(ExploreReport& report) {
  return [&report](const json& value, const JsonPlace& place) {
    std::vector<std::string> names;
    fabric::faults::JsonKeys keys;
    for (std::size_t i = 0; i < kVerdictCount; ++i) {
      keys.emplace_back(Name(static_cast<Verdict>(i)), Into(report.counts[i]));
    }
    return ReadObject(value, place, keys);
  };
}

JsonHandler IntoRules(std::map<std::string, RuleTotal>& target) {
  return ForEachObject([&target](const json& value, const JsonPlace& place) {
    std::string name;
    RuleTotal total;
    RETURN_IF_ERROR(ReadObject(value, place,
                               {{"name", Into(name)},
                                {"seeds", Into(total.seeds)},
                                {"fired_seeds", Into(total.fired_seeds)},
                                {"eligible", Into(total.eligible)},
                                {"fired", Into(total.fired)},
                                {"most_fired", Into(total.most_fired)}}));
    target[name] = total;
    return absl::OkStatus();
  });
}

std::optional<PointKind> KindFromName(std::string_view name) {
  for (const PointKind kind : {PointKind::kAlways, PointKind::kSometimes, PointKind::kReachable}) {
    if (fabric::coverage::Name(kind) == name) return kind;
  }
  return std::nullopt;
}

JsonHandler IntoCoverage(fabric::coverage::Report& target) {
  const JsonHandler points = ForEachObject([&target](const json& value, const JsonPlace& place) {
    fabric::coverage::Point point;
    fabric::coverage::PointCount count;
    RETURN_IF_ERROR(ReadObject(
        value, place,
        {{"kind", IntoWord<PointKind>(point.kind, KindFromName, "which is no kind of point")},
         {"name", Into(point.name)},
         {"runs", Into(count.runs)},
         {"held", Into(count.held)},
         {"failed", Into(count.failed)}}));
    target.points[point] = count;
    return absl::OkStatus();
  });
  const JsonHandler cells = ForEachObject([&target](const json& value, const JsonPlace& place) {
    fabric::coverage::Cell cell;
    std::uint64_t count = 0;
    RETURN_IF_ERROR(ReadObject(value, place,
                               {{"operation", Into(cell.operation)},
                                {"outcome", Into(cell.outcome)},
                                {"nic", Into(cell.nic)},
                                {"count", Into(count)}}));
    target.cells[cell] = count;
    return absl::OkStatus();
  });
  return [points, cells](const json& value, const JsonPlace& place) {
    return ReadObject(value, place, {{"points", points}, {"cells", cells}});
  };
}

JsonHandler IntoReport(ExploreReport& report) {
  return [&report](const json& value, const JsonPlace& place) {
    const auto by_verdict = [](const SeedResult& result) { return result.verdict; };
    const auto by_seed = [](const SeedResult& result) { return result.seed; };
    return ReadObject(value, place,
                      {{"seeds", Into(report.seeds)},
                       {"events", Into(report.events)},
                       {"counts", IntoCounts(report)},
                       {"first", IntoResults(report.first, by_verdict)},
                       {"failures", IntoResults(report.failures, by_seed)},
                       {"rules", IntoRules(report.rules)},
                       {"coverage", IntoCoverage(report.coverage)}});
  };
}

JsonHandler IntoWords(SweepWords& target) {
  return [&target](const json& value, const JsonPlace& place) {
    if (!value.is_object()) return place.Refuse("is no object");
    for (const auto& [key, inner] : value.items()) {
      RETURN_IF_ERROR(Into(target[key])(inner, place.Child(key)));
    }
    return absl::OkStatus();
  };
}

absl::Status CheckNumbers(const Results& results) {
  const Shard& shard = results.shard;
  const bool fits = results.all.seeds > 0 &&
                    results.all.seeds - 1 <= UINT64_MAX - results.all.first &&
                    shard.index < shard.count && results.done <= results.part().seeds;
  return fits ? absl::OkStatus() : absl::InvalidArgumentError("has numbers that contradict");
}

// The body after the first line, if the line is right about it.
absl::StatusOr<absl::string_view> CheckedBody(absl::string_view text) {
  const std::size_t end = text.find('\n');
  const std::vector<std::string> words = absl::StrSplit(text.substr(0, end), ' ');
  if (end == absl::string_view::npos || words.size() != 4 || words[0] != kMagic) {
    return absl::InvalidArgumentError("is no file of results");
  }
  if (words[1] != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat("is of version ", words[1].substr(0, 16),
                                                   ": this program reads version ", kVersion));
  }
  const absl::string_view body = text.substr(end + 1);
  const std::string sum = absl::StrFormat("%016x", Checksum(body));
  if (words[2] != sum || words[3] != absl::StrCat(body.size())) {
    return absl::InvalidArgumentError("is cut or was changed: its checksum is wrong");
  }
  return body;
}

// ---- Files ----

absl::Status Refuse(const std::string& path, int error) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": cannot be written: ", std::strerror(error)));
}

}  // namespace

std::string FormatResults(const Results& results) {
  const json object = {{"sweep", results.sweep},          {"first_seed", results.all.first},
                       {"seeds", results.all.seeds},      {"shard", results.shard.index},
                       {"shards", results.shard.count},   {"done", results.done},
                       {"report", ToJson(results.report)}};
  // A program's message about a file's bytes may not be UTF-8.
  const std::string body = object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  return absl::StrFormat("%s %s %016x %d\n", kMagic, kVersion, Checksum(body), body.size()) + body;
}

absl::StatusOr<Results> ParseResults(absl::string_view text) {
  ASSIGN_OR_RETURN(const absl::string_view body, CheckedBody(text));
  ASSIGN_OR_RETURN(const json value, fabric::faults::ParseStrictJson(body));
  Results results;
  RETURN_IF_ERROR(ReadObject(value, {"results", ""},
                             {{"sweep", IntoWords(results.sweep)},
                              {"first_seed", Into(results.all.first)},
                              {"seeds", Into(results.all.seeds)},
                              {"shard", Into(results.shard.index)},
                              {"shards", Into(results.shard.count)},
                              {"done", Into(results.done)},
                              {"report", IntoReport(results.report)}}));
  RETURN_IF_ERROR(CheckNumbers(results));
  return results;
}

absl::StatusOr<Results> ReadResults(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  // Whatever else it is, hours of somebody's work may be behind it.
  if (!std::filesystem::status_known(status)) return Refuse(path, error.value());
  if (!std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is no file of results"));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Refuse(path, errno);
  if (std::filesystem::file_size(path, error) > Results::kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is no file of results"));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  absl::StatusOr<Results> results = ParseResults(text);
  if (results.ok()) return results;
  return absl::Status(results.status().code(),
                      absl::StrCat(path, ": ", results.status().message()));
}

absl::Status WriteResults(const std::string& path, const Results& results) {
  // A scheduler may start a shard again before the process that had it is gone; a file that either
  // of the two leaves is right.
  const int error = ReplaceFile(path, FormatResults(results), /*forced=*/true);
  return error == 0 ? absl::OkStatus() : Refuse(path, error);
}

std::string DifferenceOf(const SweepWords& a, const SweepWords& b) {
  const auto word = [](const SweepWords& words, const std::string& key) {
    const auto found = words.find(key);
    if (found == words.end() || found->second.empty()) return std::string("none");
    return found->second.substr(0, found->second.find('\n'));
  };
  SweepWords all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [key, value] : all) {
    const auto in_a = a.find(key);
    const auto in_b = b.find(key);
    if (in_a != a.end() && in_b != b.end() && in_a->second == in_b->second) continue;
    return absl::StrCat(key, ": ", word(a, key), ", ", word(b, key));
  }
  return "";
}

}  // namespace drydock::sim::explore
