#include "drydock/sim/explore/capsule_json.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/faults/json_reader.h"
#include "drydock/fabric/faults/plan_json.h"
#include "drydock/sim/explore/ranges.h"
#include "drydock/sim/explore/replace_file.h"
#include "drydock/sim/explore/strategy/strategy.h"
#include "nlohmann/json.hpp"

namespace drydock::sim::explore {
namespace {

using fabric::faults::FaultPlan;
using fabric::faults::FiringId;
using fabric::faults::Into;
using fabric::faults::JsonHandler;
using fabric::faults::JsonKeys;
using fabric::faults::JsonPlace;
using fabric::faults::ReadObject;
using nlohmann::json;

constexpr std::size_t kMostText = 4096;
// When it was written, a byte that is no text became three.
constexpr std::size_t kMostTextRead = 3 * kMostText;
// Of a list in a file that comes from anywhere.
constexpr std::size_t kMostNumbers = 1 << 20;
constexpr std::size_t kMostLastEvents = 1000;
constexpr std::size_t kMostMarks = 1000;

// ---- Writing ----

// By rule.
std::map<std::string, std::string> FiringsOf(const FaultPlan& plan, std::vector<FiringId> firings) {
  std::sort(firings.begin(), firings.end());
  std::map<std::string, std::vector<std::uint64_t>> numbers;
  for (const FiringId& id : firings) numbers[plan.rules[id.rule].name].push_back(id.number);
  std::map<std::string, std::string> texts;
  for (const auto& [name, list] : numbers) texts[name] = FormatRanges(list);
  return texts;
}

// "4096 93dff86a1246228d86c1471b17ffac6b".
std::vector<std::string> MarkTexts(const std::vector<Mark>& marks) {
  std::vector<std::string> texts;
  for (const Mark& mark : marks) {
    texts.push_back(absl::StrCat(mark.events, " ", mark.digest.ToHex()));
  }
  return texts;
}

nlohmann::ordered_json ToJson(const Program& program) {
  nlohmann::ordered_json object;
  object["words"] = program.words;
  if (program.nics != 0) object["nics"] = program.nics;
  object["findings"] = program.findings;
  if (!program.delays) object["delays"] = false;
  if (program.topology) object["topology"] = true;
  if (program.sysfs) object["sysfs"] = true;
  object["files"] = program.files;
  return object;
}

nlohmann::ordered_json ToJson(const Capsule& capsule) {
  const RunSpec& run = capsule.run;
  nlohmann::ordered_json object;
  object["drydock_capsule"] = Capsule::kVersion;
  if (capsule.program.has_value()) {
    object["program"] = ToJson(*capsule.program);
  } else {
    object["scenario"] = capsule.scenario;
    object["parameters"] = run.parameters;
  }
  object["profile"] = capsule.profile;
  object["seed"] = run.seed;
  object["limit_ns"] = run.limit.count();
  if (run.heal_after.has_value()) object["heal_after_ns"] = run.heal_after->count();
  if (run.strategy.schedule != nullptr) object["strategy"] = run.strategy.name;
  if (run.tight) object["tight"] = true;
  if (!run.figures.empty()) object["figures"] = FormatFigures(run.figures);
  object["faults"] = nlohmann::ordered_json::parse(fabric::faults::FormatFaultPlan(run.plan));
  if (run.firings.has_value()) object["firings"] = FiringsOf(run.plan, *run.firings);
  if (run.disturbed.has_value()) object["disturbed"] = FormatRanges(*run.disturbed);
  object["build"] = {{"compiler", capsule.build.compiler}, {"mode", capsule.build.mode}};
  object["verdict"] = std::string(Name(capsule.result.verdict));
  object["text"] = capsule.result.text.substr(0, kMostText);
  if (!capsule.result.check.empty()) object["check"] = capsule.result.check.substr(0, kMostText);
  object["digest"] = capsule.result.digest.ToHex();
  object["events"] = capsule.result.events;
  object["marks"] = MarkTexts(capsule.marks);
  object["last_events"] = capsule.last_events;
  return object;
}

// A program's message about a file's bytes may not be UTF-8.
std::string Dump(const nlohmann::ordered_json& object) {
  return object.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// ---- Reading ----

bool IsHexWord(absl::string_view text, std::uint64_t& word) {
  word = 0;
  for (const char digit : text) {
    const std::size_t value = absl::string_view("0123456789abcdef").find(digit);
    if (value == absl::string_view::npos) return false;
    word = word << 4 | value;
  }
  return true;
}

bool IsDigest(absl::string_view text, Digest& digest) {
  return text.size() == 32 && IsHexWord(text.substr(0, 16), digest.high) &&
         IsHexWord(text.substr(16), digest.low);
}

JsonHandler IntoDigest(Digest& target) {
  return [&target](const json& value, const JsonPlace& place) {
    std::string text;
    RETURN_IF_ERROR(Into(text)(value, place));
    return IsDigest(text, target) ? absl::OkStatus()
                                  : place.Refuse("is no digest: it takes 32 hexadecimal digits");
  };
}

JsonHandler IntoShortText(std::string& target, std::size_t most = kMostText) {
  return [&target, most](const json& value, const JsonPlace& place) {
    RETURN_IF_ERROR(Into(target)(value, place));
    if (target.size() <= most) return absl::OkStatus();
    return place.Refuse(absl::StrCat("has ", target.size(), " bytes: at most ", most));
  };
}

JsonHandler IntoPlan(FaultPlan& target) {
  return [&target](const json& value, const JsonPlace& place) {
    auto plan = fabric::faults::ParseFaultPlan(value.dump());
    if (!plan.ok()) return place.Refuse(absl::StrCat("is no plan: ", plan.status().message()));
    target = *std::move(plan);
    return absl::OkStatus();
  };
}

// Calls `each` for the keys and values of an object whose keys are not known before.
template <typename Each>
JsonHandler ForEachKey(Each each) {
  return [each](const json& value, const JsonPlace& place) {
    if (!value.is_object()) return place.Refuse("is no object");
    for (const auto& [key, inner] : value.items()) {
      RETURN_IF_ERROR(each(key, inner, place.Child(key)));
    }
    return absl::OkStatus();
  };
}

template <typename Each>
JsonHandler ForEachElement(std::size_t most, Each each) {
  return [most, each](const json& value, const JsonPlace& place) {
    if (!value.is_array()) return place.Refuse("is no list");
    if (value.size() > most) {
      return place.Refuse(absl::StrCat("has ", value.size(), " elements: at most ", most));
    }
    for (const json& inner : value) RETURN_IF_ERROR(each(inner, place));
    return absl::OkStatus();
  };
}

JsonHandler IntoNumbers(std::vector<std::uint64_t>& target, std::size_t most = kMostNumbers) {
  return [&target, most](const json& value, const JsonPlace& place) {
    std::string text;
    RETURN_IF_ERROR(Into(text)(value, place));
    auto numbers = ParseRanges(text, most);
    if (!numbers.ok()) return place.Refuse(absl::StrCat(": ", numbers.status().message()));
    target = *std::move(numbers);
    return absl::OkStatus();
  };
}

JsonHandler IntoParameters(Parameters& target) {
  return ForEachKey([&target](const std::string& key, const json& value, const JsonPlace& place) {
    return Into(target[key])(value, place);
  });
}

JsonHandler IntoFigures(Figures& target) {
  return [&target](const json& value, const JsonPlace& place) {
    std::string text;
    RETURN_IF_ERROR(Into(text)(value, place));
    auto figures = ParseFigures(text);
    if (!figures.ok()) return place.Refuse(absl::StrCat(": ", figures.status().message()));
    target = *std::move(figures);
    return absl::OkStatus();
  };
}

JsonHandler IntoMarks(std::vector<Mark>& target) {
  return ForEachElement(kMostMarks, [&target](const json& value, const JsonPlace& place) {
    std::string text;
    RETURN_IF_ERROR(Into(text)(value, place));
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(text, absl::MaxSplits(' ', 1));
    Mark mark;
    const bool valid = absl::SimpleAtoi(halves.first, &mark.events) &&
                       IsDigest(halves.second, mark.digest) &&
                       (target.empty() || mark.events > target.back().events);
    if (!valid) return place.Refuse("has an element that is no rising number and a digest");
    target.push_back(mark);
    return absl::OkStatus();
  });
}

JsonHandler IntoTexts(std::vector<std::string>& target) {
  return ForEachElement(kMostLastEvents, [&target](const json& value, const JsonPlace& place) {
    return IntoShortText(target.emplace_back())(value, place);
  });
}

// Words that a shell and a system call take: no byte ends one early.
JsonHandler IntoWords(std::vector<std::string>& target) {
  return ForEachElement(Program::kMostWords, [&target](const json& value, const JsonPlace& place) {
    RETURN_IF_ERROR(Into(target.emplace_back())(value, place));
    if (target.back().find('\0') == std::string::npos) return absl::OkStatus();
    return place.Refuse("has a word with a byte that is zero");
  });
}

JsonHandler IntoFindings(std::string& target) {
  return [&target](const json& value, const JsonPlace& place) {
    RETURN_IF_ERROR(Into(target)(value, place));
    if (target == "fail" || target == "report" || target == "off") return absl::OkStatus();
    return place.Refuse("is none of fail, report and off");
  };
}

JsonHandler IntoFiles(std::map<std::string, std::string>& target) {
  return ForEachKey([&target](const std::string& key, const json& value, const JsonPlace& place) {
    if (target.size() == Program::kMostFiles) return place.Refuse("is one of too many");
    return IntoShortText(target[key], 64)(value, place);
  });
}

JsonHandler IntoProgram(std::optional<Program>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    Program& program = target.emplace();
    RETURN_IF_ERROR(ReadObject(value, place,
                               {{"words", IntoWords(program.words)},
                                {"nics", Into(program.nics)},
                                {"findings", IntoFindings(program.findings)},
                                {"delays", Into(program.delays)},
                                {"topology", Into(program.topology)},
                                {"sysfs", Into(program.sysfs)},
                                {"files", IntoFiles(program.files)}}));
    return program.words.empty() ? place.Refuse("names no program") : absl::OkStatus();
  };
}

using FiringNumbers = std::map<std::string, std::vector<std::uint64_t>>;

JsonHandler IntoFirings(std::optional<FiringNumbers>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    target.emplace();
    std::size_t left = kMostNumbers;  // for all keys together: a few bytes may stand for many
    return ForEachKey([&](const std::string& key, const json& inner, const JsonPlace& at) {
      std::vector<std::uint64_t>& numbers = (*target)[key];
      RETURN_IF_ERROR(IntoNumbers(numbers, left)(inner, at));
      left -= numbers.size();
      return absl::OkStatus();
    })(value, place);
  };
}

// The rules of the firings, by their number in the plan.
absl::StatusOr<std::vector<FiringId>> Resolve(const FaultPlan& plan, const FiringNumbers& firings) {
  std::vector<FiringId> ids;
  for (const auto& firing : firings) {
    const std::string& name = firing.first;
    const std::vector<std::uint64_t>& numbers = firing.second;
    const auto rule = std::find_if(plan.rules.begin(), plan.rules.end(),
                                   [&](const auto& known) { return known.name == name; });
    if (rule == plan.rules.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("firings: the plan has no rule \"", name.substr(0, 64), "\""));
    }
    const auto index = static_cast<std::uint32_t>(rule - plan.rules.begin());
    for (const std::uint64_t number : numbers) ids.push_back({index, number});
    if (ids.size() > kMostNumbers) {
      return absl::InvalidArgumentError(
          absl::StrCat("firings: lists more than ", kMostNumbers, " numbers"));
    }
  }
  return ids;
}

struct Optionals {
  std::uint64_t version = 0;
  std::optional<FiringNumbers> firings;
  std::optional<std::vector<std::uint64_t>> disturbed;
  std::optional<std::int64_t> heal_after_ns;
  std::int64_t limit_ns = 0;
  std::string strategy = "random";
};

JsonHandler IntoDisturbed(std::optional<std::vector<std::uint64_t>>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    if (target.has_value())
      return place.Refuse("is the old name of \"disturbed\", which is there, too");
    return IntoNumbers(target.emplace())(value, place);
  };
}

JsonHandler IntoHeal(std::optional<std::int64_t>& target) {
  return [&target](const json& value, const JsonPlace& place) {
    return Into(target.emplace(), 0, INT64_MAX)(value, place);
  };
}

JsonKeys KeysOf(Capsule& capsule, Optionals& rest) {
  Build& build = capsule.build;
  const JsonHandler into_build = [&build](const json& value, const JsonPlace& place) {
    return ReadObject(
        value, place,
        {{"compiler", IntoShortText(build.compiler)}, {"mode", IntoShortText(build.mode)}});
  };
  return {{"drydock_capsule", Into(rest.version)},
          {"scenario", IntoShortText(capsule.scenario, 256)},
          {"program", IntoProgram(capsule.program)},
          {"parameters", IntoParameters(capsule.run.parameters)},
          {"profile", IntoShortText(capsule.profile, 64)},
          {"seed", Into(capsule.run.seed)},
          {"limit_ns", Into(rest.limit_ns, 1, INT64_MAX)},
          {"heal_after_ns", IntoHeal(rest.heal_after_ns)},
          {"strategy", IntoShortText(rest.strategy, Capsule::kMostStrategy)},
          {"tight", Into(capsule.run.tight)},
          {"figures", IntoFigures(capsule.run.figures)},
          {"faults", IntoPlan(capsule.run.plan)},
          {"firings", IntoFirings(rest.firings)},
          {"disturbed", IntoDisturbed(rest.disturbed)},
          {"wild", IntoDisturbed(rest.disturbed)},  // its name in older capsules
          {"build", into_build},
          {"verdict", fabric::faults::IntoWord<Verdict>(capsule.result.verdict, VerdictFromName,
                                                        "which is no verdict")},
          {"text", IntoShortText(capsule.result.text, kMostTextRead)},
          {"check", IntoShortText(capsule.result.check, kMostTextRead)},
          {"digest", IntoDigest(capsule.result.digest)},
          {"events", Into(capsule.result.events)},
          {"marks", IntoMarks(capsule.marks)},
          {"last_events", IntoTexts(capsule.last_events)}};
}

absl::Status RequireKeys(const json& value) {
  for (const char* key : {"drydock_capsule", "profile", "seed", "limit_ns", "faults", "build",
                          "verdict", "digest", "events"}) {
    if (!value.contains(key)) {
      return absl::InvalidArgumentError(absl::StrCat("lacks the key \"", key, "\""));
    }
  }
  if (value.contains("scenario") == value.contains("program")) {
    return absl::InvalidArgumentError("has to be of a scenario or of a program");
  }
  return absl::OkStatus();
}

}  // namespace

// ---- Text ----

bool FitsInFile(const Capsule& capsule) {
  return Dump(ToJson(capsule)).size() <= Capsule::kMostBytes;
}

std::string FormatCapsule(const Capsule& capsule) {
  nlohmann::ordered_json object = ToJson(capsule);
  std::string text = Dump(object);
  if (text.size() <= Capsule::kMostBytes || !capsule.run.firings.has_value()) return text;
  object.erase("firings");  // a part of them would be another run
  return Dump(object);
}

absl::StatusOr<Capsule> ParseCapsule(absl::string_view text) {
  if (text.size() > Capsule::kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", text.size(), " bytes: a capsule has at most ", Capsule::kMostBytes));
  }
  ASSIGN_OR_RETURN(const json value, fabric::faults::ParseStrictJson(text));
  Capsule capsule;
  Optionals rest;
  RETURN_IF_ERROR(ReadObject(value, {"capsule", ""}, KeysOf(capsule, rest)));
  RETURN_IF_ERROR(RequireKeys(value));
  if (rest.version != Capsule::kVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is of version ", rest.version, ": this program reads version ", Capsule::kVersion));
  }
  if (rest.firings.has_value()) {
    ASSIGN_OR_RETURN(capsule.run.firings, Resolve(capsule.run.plan, *rest.firings));
  }
  capsule.run.disturbed = std::move(rest.disturbed);
  capsule.run.limit = coro::Duration(rest.limit_ns);
  if (rest.heal_after_ns.has_value()) capsule.run.heal_after = coro::Duration(*rest.heal_after_ns);
  ASSIGN_OR_RETURN(capsule.run.strategy, ParseStrategy(rest.strategy));
  capsule.result.seed = capsule.run.seed;
  return capsule;
}

// ---- Files ----

absl::StatusOr<Capsule> ReadCapsule(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  // One byte more than may be there.
  std::string text(Capsule::kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  absl::StatusOr<Capsule> capsule = ParseCapsule(text);
  if (!capsule.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", capsule.status().message()));
  }
  return capsule;
}

absl::Status WriteCapsule(const std::string& path, const Capsule& capsule) {
  const std::string text = FormatCapsule(capsule);
  if (text.size() > Capsule::kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the capsule would have ", text.size(),
                                                   " bytes: at most ", Capsule::kMostBytes));
  }
  // A reader of the file finds all of it or the file before it. A device is not replaced.
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::symlink_status(path, error);
  const bool is_replaced = !std::filesystem::exists(there) || is_regular_file(there);
  int failed = 0;
  if (is_replaced) {
    failed = ReplaceFile(path, text, /*forced=*/false);
  } else {
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) failed = errno == 0 ? EIO : errno;
  }
  if (failed == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": cannot be written: ", std::strerror(failed)));
}

absl::StatusOr<std::string> WriteNewCapsule(const std::string& name, const Capsule& capsule) {
  const std::string text = FormatCapsule(capsule);
  for (int i = 1;; ++i) {
    std::string path = absl::StrCat(name, i == 1 ? "" : absl::StrCat("-", i), ".capsule");
    // The name is another process's, or ours from here on.
    const int taken = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (taken < 0 && errno == EEXIST) {
      std::ifstream file(path, std::ios::binary);
      if (file && std::string(std::istreambuf_iterator<char>(file), {}) == text) return path;
      continue;
    }
    if (taken >= 0) close(taken);
    const absl::Status written = WriteCapsule(path, capsule);
    if (written.ok()) return path;
    if (taken >= 0) unlink(path.c_str());
    return written;
  }
}

}  // namespace drydock::sim::explore
