#include "drydock/apps/efa_run/request.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "drydock/apps/common/program_command.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/virtual_time/virtual_time.h"

namespace drydock::apps {
namespace {

constexpr struct {
  const char* flag;
  const char* variable;
} kFlags[] = {{"--profile=", sim::verbs::kProfileVariable},
              {"--nics=", sim::verbs::kNicsVariable},
              {"--seed=", sim::verbs::kSeedVariable},
              {"--fabric=", sim::verbs::kFabricVariable},
              {"--zone=", sim::verbs::kZoneVariable},
              {"--delays=", sim::verbs::kDelaysVariable},
              {"--faults=", sim::verbs::kFaultsVariable},
              {"--trace=", sim::verbs::kTraceVariable},
              {"--limit=", sim::kLimitVariable},
              {"--findings=", sim::verbs::kFindingsVariable},
              {"--findings-file=", sim::verbs::kFindingsFileVariable},
              {"--network=", sim::verbs::kNetworkVariable},
              {"--key=", sim::verbs::kKeyVariable}};

absl::Status Bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

// A file or folder for efa-run itself. False: the word is no such flag. kInvalidArgument: it names
// none.
absl::StatusOr<bool> TakesFile(absl::string_view word, Request& request) {
  const struct {
    const char* flag;
    std::string& value;
  } own[] = {{"--capsule=", request.capsules},
             {"--replay=", request.replay},
             {"--shrink=", request.shrink},
             {"--out=", request.out},
             {"--picture=", request.picture}};
  for (const auto& each : own) {
    absl::string_view value = word;
    if (!absl::ConsumePrefix(&value, each.flag)) continue;
    if (value.empty()) return Bad(absl::StrCat(word, ": it takes a file or a folder"));
    each.value = std::string(value);
    return true;
  }
  return false;
}

absl::Status ReadPatience(absl::string_view value, Request& request) {
  std::uint32_t seconds = 0;
  if (!absl::SimpleAtoi(value, &seconds) || seconds == 0) {
    return Bad(absl::StrCat("--patience=", value, ": it takes a number of seconds"));
  }
  request.patience = std::chrono::seconds(seconds);
  return absl::OkStatus();
}

// False: there is no such flag.
bool TakesFlag(absl::string_view word, Request& request) {
  request.flags.emplace_back(word);
  const bool help = word == "--help" || word == "-h";
  bool known = help || word == "--quiet" || word == "--topology" || word == "--sysfs" ||
               word == "--virtual" || word == "--digest";
  request.is_virtual = request.is_virtual || word == "--virtual" || word == "--digest";
  if (word == "--digest") setenv(sim::verbs::kDigestVariable, "1", 1);
  request.topology = request.topology || word == "--topology";
  request.sysfs = request.sysfs || word == "--sysfs";
  if (word == "--findings") word = "--findings=report";
  request.quiet = request.quiet || word == "--quiet";
  request.help = request.help || help;
  for (const auto& flag : kFlags) {
    absl::string_view value = word;
    if (!absl::ConsumePrefix(&value, flag.flag)) continue;
    setenv(flag.variable, std::string(value).c_str(), 1);
    known = true;
  }
  return known;
}

// A flag that takes a value and has none: --profile, --profile=. For a run that is refused: asking
// changes the environment.
bool LacksValue(absl::string_view word) {
  const std::string flag = absl::StrCat(absl::StripSuffix(word, "="), "=");
  Request nobody;
  return flag.find('=') + 1 == flag.size() &&
         (TakesFlag(flag, nobody) || !TakesFile(flag, nobody).ok() || flag == "--seeds=" ||
          flag == "--patience=");
}

// An empty variable is as good as none.
void DropEmptyVariables() {
  const auto drop = [](const char* variable) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && value[0] == '\0') unsetenv(variable);
  };
  for (const auto& flag : kFlags) drop(flag.variable);
  drop(sim::verbs::kDigestVariable);
}

// A refusal of settings names variables; the program's user has given flags.
absl::Status InWordsOfFlags(const absl::Status& status, const Request& request) {
  std::string message(status.message());
  for (const auto& [flag, variable] : kFlags) {
    const auto begins = [&flag = flag](const std::string& word) {
      return absl::StartsWith(word, flag);
    };
    if (std::none_of(request.flags.begin(), request.flags.end(), begins)) continue;
    message = absl::StrReplaceAll(message, {{absl::StrCat(variable, "="), flag}});
  }
  return absl::Status(status.code(), message);
}

// A capsule has all that its run needs.
absl::Status CheckCapsuleFlags(const Request& request, bool has_program) {
  const bool of_file = !request.replay.empty() || !request.shrink.empty();
  if (!request.replay.empty() && !request.shrink.empty()) return Bad("--replay or --shrink");
  if (!of_file && !request.out.empty()) return Bad("--out is of a smaller capsule: with --shrink");
  if (!of_file && !request.picture.empty())
    return Bad("--picture is of a small run: with --shrink");
  if (!request.replay.empty() && !(request.out + request.picture).empty()) {
    return Bad("--out and --picture are of a smaller capsule: with --shrink");
  }
  if (!request.capsules.empty() && !request.seeds.has_value()) {
    return Bad("--capsule is of many runs: with --seeds, which takes one seed, too");
  }
  if (!of_file) return absl::OkStatus();
  for (const std::string& flag : request.flags) {
    if (flag != "--quiet")
      return Bad(absl::StrCat(flag, ": the capsule says how its program runs"));
  }
  if (has_program || request.seeds.has_value())
    return Bad("the capsule names its program and seed");
  return absl::OkStatus();
}

absl::Status CheckFlags(const Request& request, bool has_patience) {
  const bool waits =
      request.seeds.has_value() || !request.replay.empty() || !request.shrink.empty();
  if (has_patience && !waits) {
    return Bad("--patience is for runs that are waited for: with --seeds, --replay or --shrink");
  }
  const auto has = [&request](absl::string_view name) {
    return std::any_of(request.flags.begin(), request.flags.end(),
                       [name](const std::string& flag) { return absl::StartsWith(flag, name); });
  };
  if (has("--limit=") && !request.is_virtual) {
    return Bad("--limit is of virtual time: with --virtual");
  }
  if (has("--key=") && std::getenv(sim::verbs::kNetworkVariable) == nullptr) {
    return Bad("--key is of a network of several computers: with --network");
  }
  const char* const digest = std::getenv(sim::verbs::kDigestVariable);
  if (request.seeds.has_value() && digest != nullptr && absl::string_view(digest) == "1") {
    return Bad("--digest is of one run: with --seed, not with --seeds");
  }
  return absl::OkStatus();
}

// Files that the library writes take memory of the program's: with them it would be another run
// than its replay, which has none.
absl::Status CheckRecorded(const Request& request) {
  if (request.capsules.empty()) return absl::OkStatus();
  if (!request.settings.trace.empty())
    return Bad("--trace: not with --capsule, which is replayed without");
  if (request.settings.findings_file.empty()) return absl::OkStatus();
  return Bad("--findings-file: not with --capsule, which is replayed without");
}

}  // namespace

absl::StatusOr<sim::verbs::Settings> SettingsOfEnvironment() {
  return sim::verbs::Settings::FromEnvironment(
      [](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

std::uint32_t LimitOfEnvironment() {
  std::uint32_t seconds = 3600;
  const char* text = std::getenv(sim::kLimitVariable);
  return text != nullptr && absl::SimpleAtoi(text, &seconds) ? seconds : 3600;
}

absl::StatusOr<Request> ParseRequest(int count, char** words) {
  Request request;
  request.self = words[0];
  int next = 1;
  bool has_patience = false;
  for (; next < count && absl::StartsWith(words[next], "-"); ++next) {
    const absl::string_view word = words[next];
    if (word == "--") {
      ++next;
      break;
    }
    if (absl::string_view value = word; absl::ConsumePrefix(&value, "--seeds=")) {
      ASSIGN_OR_RETURN(request.seeds, sim::verbs::ParseSeedRange(value));
      request.is_virtual = true;
      continue;
    }
    if (absl::string_view value = word; absl::ConsumePrefix(&value, "--patience=")) {
      RETURN_IF_ERROR(ReadPatience(value, request));
      has_patience = true;
      continue;
    }
    ASSIGN_OR_RETURN(const bool is_file, TakesFile(word, request));
    if (is_file) continue;
    const bool is_known = TakesFlag(word, request);
    if ((!is_known || absl::EndsWith(word, "=")) && LacksValue(word)) {
      const absl::string_view flag = absl::StripSuffix(word, "=");
      return Bad(absl::StrCat(flag, ": it takes a value, as ", flag, "=VALUE"));
    }
    if (!is_known) return Bad(absl::StrCat("unknown flag ", word, " (--help lists them)"));
  }
  if (request.help) return request;
  DropEmptyVariables();
  RETURN_IF_ERROR(CheckFlags(request, has_patience));
  RETURN_IF_ERROR(CheckCapsuleFlags(request, next < count));
  // A run among many that breaks a rule is one to be told of.
  if (request.seeds.has_value() && std::getenv(sim::verbs::kFindingsVariable) == nullptr) {
    request.flags.emplace_back("--findings=fail");
    setenv(sim::verbs::kFindingsVariable, "fail", 1);
  }
  setenv(sim::verbs::kFindingsVariable, "report", 0);
  if (!request.replay.empty() || !request.shrink.empty()) return request;
  if (next >= count) return Bad("no program to run (--help shows how)");
  request.program.assign(words + next, words + count);
  absl::StatusOr<sim::verbs::Settings> settings = SettingsOfEnvironment();
  if (!settings.ok()) return InWordsOfFlags(settings.status(), request);
  request.settings = *std::move(settings);
  RETURN_IF_ERROR(CheckRecorded(request));
  return request;
}

std::string CommandFor(const Request& request, std::uint64_t seed) {
  std::vector<std::string> words = {request.self, "--virtual", absl::StrCat("--seed=", seed)};
  for (const std::string& flag : request.flags) {
    if (flag != "--virtual" && !absl::StartsWith(flag, "--seed=")) words.push_back(flag);
  }
  if (absl::StartsWith(request.program[0], "-")) words.emplace_back("--");
  words.insert(words.end(), request.program.begin(), request.program.end());
  return AsShellWords(words);
}

}  // namespace drydock::apps
