#include "drydock/apps/common/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <utility>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/apps/common/callers_folder.h"
#include "drydock/apps/common/units.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/trace/flight_alarm.h"

namespace drydock::apps {
namespace {

bool IsOurs(const absl::CommandLineFlag& flag) {
  return absl::StrContains(flag.Filename(), "apps/") ||
         absl::StrContains(flag.Filename(), "testing/benchmarks/");
}

// The form of this flag's values; empty for a type that no program here uses.
absl::string_view Expectation(const absl::CommandLineFlag& flag) {
  if (flag.IsOfType<std::uint64_t>()) return ": it takes a whole number from 0 to 2^64-1";
  if (flag.IsOfType<ByteSize>()) return ": it takes a size, as 4096, 64KiB or 1.5MiB";
  if (flag.IsOfType<double>()) return ": it takes a number";
  if (flag.IsOfType<bool>()) return ": it takes true or false";
  return "";
}

// Its name, as our pages write it.
std::string Shown(const absl::CommandLineFlag& flag) {
  return absl::StrReplaceAll(flag.Name(), {{"_", "-"}});
}

absl::Status NotValid(const absl::CommandLineFlag& flag, absl::string_view value,
                      absl::string_view expectation) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", Shown(flag), "=", value, " is not valid", expectation));
}

absl::Status Set(absl::CommandLineFlag& flag, absl::string_view value) {
  std::string error;  // Abseil's words repeat the flag and the value
  if (flag.ParseFrom(value, &error)) return absl::OkStatus();
  return NotValid(flag, value, Expectation(flag));
}

// The same of a value that the command line has.
absl::Status SetGiven(absl::CommandLineFlag& flag, absl::string_view value) {
  if (!value.empty()) return Set(flag, value);
  const absl::string_view expectation = Expectation(flag);
  return NotValid(flag, value, expectation.empty() ? ": it takes a value" : expectation);
}

// --first-seed and --first_seed are the same flag.
absl::CommandLineFlag* Find(absl::string_view name) {
  absl::CommandLineFlag* flag = absl::FindCommandLineFlag(absl::StrReplaceAll(name, {{"-", "_"}}));
  return flag != nullptr && IsOurs(*flag) ? flag : nullptr;
}

absl::Status UnknownFlag(absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat("unknown flag --", name, " (--help lists them)"));
}

// Sets the flag of `argument` ("--x", "--x=1"); may take its value from the argument that follows.
// Returns how many arguments it used.
absl::StatusOr<int> ParseFlag(absl::string_view argument, const std::string* next) {
  const absl::string_view body = absl::StripPrefix(argument, "--");
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(body, absl::MaxSplits('=', 1));
  const bool has_value = absl::StrContains(body, '=');
  absl::CommandLineFlag* flag = Find(parts.first);
  if (flag == nullptr && !has_value && absl::StartsWith(body, "no")) {
    absl::CommandLineFlag* negated = Find(body.substr(2));
    if (negated == nullptr || !negated->IsOfType<bool>()) return UnknownFlag(body);
    RETURN_IF_ERROR(Set(*negated, "false"));
    return 1;
  }
  if (flag == nullptr) return UnknownFlag(parts.first);
  if (!has_value && flag->IsOfType<OptionalText>()) {
    RETURN_IF_ERROR(Set(*flag, ""));
    return 1;
  }
  if (has_value) {
    RETURN_IF_ERROR(SetGiven(*flag, parts.second));
    return 1;
  }
  if (flag->IsOfType<bool>()) {
    RETURN_IF_ERROR(Set(*flag, "true"));
    return 1;
  }
  if (next == nullptr) return absl::InvalidArgumentError(absl::StrCat(argument, " needs a value"));
  RETURN_IF_ERROR(SetGiven(*flag, *next));
  return 2;
}

// An OptionalText that stands alone has the same text as one that is not there.
bool IsGiven(const absl::CommandLineFlag& flag) {
  if (flag.IsOfType<OptionalText>()) return flag.TryGet<OptionalText>()->given;
  return flag.CurrentValue() != flag.DefaultValue();
}

// A long help text, broken into lines and indented.
std::string Wrapped(absl::string_view text, absl::string_view indent) {
  constexpr std::size_t kWidth = 96;
  std::vector<std::string> lines = {std::string(indent)};
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (lines.back().size() + word.size() + 1 > kWidth) lines.emplace_back(indent);
    absl::StrAppend(&lines.back(), lines.back().size() == indent.size() ? "" : " ", word);
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace

bool AbslParseFlag(absl::string_view text, OptionalText* value, std::string* error) {
  static_cast<void>(error);
  *value = {true, std::string(text)};
  return true;
}

std::string AbslUnparseFlag(const OptionalText& value) { return value.text; }

absl::StatusOr<std::vector<std::string>> ParseFlags(const std::vector<std::string>& arguments) {
  std::vector<std::string> positional;
  for (std::size_t i = 0; i < arguments.size();) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      positional.insert(positional.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                        arguments.end());
      break;
    }
    if (!absl::StartsWith(argument, "--")) {
      const bool one_dash = absl::StartsWith(argument, "-") && argument.size() > 1;
      if (one_dash && !absl::ascii_isdigit(static_cast<unsigned char>(argument[1]))) {
        return absl::InvalidArgumentError(
            absl::StrCat("unknown flag ", argument, " (flags begin with two dashes)"));
      }
      positional.push_back(argument);
      ++i;
      continue;
    }
    const std::string* next = i + 1 < arguments.size() ? &arguments[i + 1] : nullptr;
    ASSIGN_OR_RETURN(const int used, ParseFlag(argument, next));
    i += static_cast<std::size_t>(used);
  }
  return positional;
}

std::vector<std::string> FlagsGiven() {
  std::vector<std::string> given;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (IsOurs(*flag) && IsGiven(*flag)) given.push_back(Shown(*flag));
  }
  std::sort(given.begin(), given.end());
  return given;
}

absl::Status RefuseFlags(std::initializer_list<absl::string_view> flags, absl::string_view why) {
  for (const std::string& given : FlagsGiven()) {
    if (std::find(flags.begin(), flags.end(), given) == flags.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--", given, " ", why));
  }
  return absl::OkStatus();
}

absl::Status AcceptFlags(absl::string_view what, const std::vector<std::string>& accepted) {
  for (const std::string& given : FlagsGiven()) {
    if (std::find(accepted.begin(), accepted.end(), given) != accepted.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " takes no --", given));
  }
  return absl::OkStatus();
}

std::string HelpText(const Usage& usage) {
  std::string text = absl::StrCat(usage.name, ": ", usage.summary, "\n\n");
  for (absl::string_view line : absl::StrSplit(usage.synopsis, '\n')) {
    absl::StrAppend(&text, "  ", usage.name, line.empty() ? "" : " ", line, "\n");
  }
  absl::StrAppend(&text, "\nFlags:\n");
  std::vector<absl::CommandLineFlag*> flags;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (IsOurs(*flag)) flags.push_back(flag);
  }
  std::sort(flags.begin(), flags.end(),
            [](const auto* a, const auto* b) { return a->Name() < b->Name(); });
  for (const absl::CommandLineFlag* flag : flags) {
    const std::string value = flag->DefaultValue();
    absl::StrAppend(&text, "  --", Shown(*flag),
                    value.empty() ? "" : absl::StrCat(" (default ", value, ")"), "\n",
                    Wrapped(flag->Help(), "      "), "\n");
  }
  if (!usage.examples.empty()) absl::StrAppend(&text, "\nExamples:\n", usage.examples, "\n");
  return text;
}

namespace {

// What a program says when it gets no memory; set before its first allocation fails.
std::string& OutOfMemory() {
  static auto& line = *new std::string;
  return line;
}

[[noreturn]] void EndWithoutMemory() {
  const std::string& line = OutOfMemory();
  const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(written);
  fabric::trace::TellFiles();
  _exit(kExitFailed);
}

}  // namespace

std::vector<std::string> ParseCommandLineOrExit(int argc, char** argv, const Usage& usage) {
  OutOfMemory() = absl::StrCat(usage.name, ": this takes more memory than there is\n");
  std::set_new_handler(EndWithoutMemory);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::fputs(HelpText(usage).c_str(), stdout);
      std::exit(EndWith(usage.name, kExitOk));
    }
  }
  absl::StatusOr<std::vector<std::string>> positional = ParseFlags(arguments);
  if (!positional.ok()) std::exit(ReportError(usage.name, positional.status()));
  const absl::Status gone = GoToCallersFolder();
  if (!gone.ok()) std::exit(ReportError(usage.name, gone));
  return *std::move(positional);
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnimplemented:
      return kExitBadInput;
    default:
      return kExitFailed;
  }
}

int ReportError(absl::string_view program, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", std::string(program).c_str(),
               std::string(status.message()).c_str());
  return ExitCodeOf(status);
}

int EndWith(absl::string_view program, int exit_code) {
  const bool streamed = static_cast<bool>(std::cout.flush());
  // What was printed before may have been lost already: a long text is written as it comes.
  const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (streamed && printed) return exit_code;
  const int lost =
      ReportError(program, absl::UnavailableError("standard output cannot be written"));
  return exit_code == kExitOk ? lost : exit_code;
}

int EndWith(absl::string_view program, const absl::StatusOr<int>& exit_code) {
  return EndWith(program, exit_code.ok() ? *exit_code : ReportError(program, exit_code.status()));
}

int PrintMain(int argc, char** argv, const Usage& usage, const MakeText& make_text) {
  const absl::StatusOr<std::string> text = make_text(ParseCommandLineOrExit(argc, argv, usage));
  if (!text.ok()) return ReportError(usage.name, text.status());
  std::cout << *text;
  return EndWith(usage.name, kExitOk);
}

}  // namespace drydock::apps
