// Command lines the way every program here reads them: flags of Abseil's registry (ABSL_FLAG), one
// clear line and exit status 2 for bad input, and a --help that shows only the program's own flags.
//
// Abseil's own parser exits with 1, and shows flags of the library; we use only its registry and
// its types.

#ifndef DRYDOCK_APPS_COMMON_COMMAND_LINE_H_
#define DRYDOCK_APPS_COMMON_COMMAND_LINE_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::apps {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // it ran, and the result is bad
inline constexpr int kExitBadInput = 2;  // it could not run as asked

// The text of --help besides the flags.
struct Usage {
  std::string name;      // write
  std::string summary;   // one sentence
  std::string synopsis;  // one line per way to call it, without the program's name
  std::string examples;  // a few lines that can be pasted
};

// The type of a flag that may stand alone: --metrics, --metrics=all. It never takes the argument
// that follows.
struct OptionalText {
  bool given = false;
  std::string text;  // empty when it stands alone
};
bool AbslParseFlag(absl::string_view text, OptionalText* value, std::string* error);
std::string AbslUnparseFlag(const OptionalText& value);

// Sets flags from `arguments` (without the program's name): --name=value, --name value, --flag,
// --noflag; "--" ends the flags. Returns the positional arguments. kInvalidArgument: an unknown
// flag, a value that its type refuses, or one dash where two belong; an empty value, too, which
// mostly comes from a shell's variable that is not set: --trace=$FILE would be as good as no flag.
absl::StatusOr<std::vector<std::string>> ParseFlags(const std::vector<std::string>& arguments);

// Our flags that have another value than their default, as pages write them ("page-size"), sorted;
// an OptionalText, too, that stands alone.
std::vector<std::string> FlagsGiven();

// kInvalidArgument when one of `flags` is given: "--vary goes with --search only" for that `why`.
absl::Status RefuseFlags(std::initializer_list<absl::string_view> flags, absl::string_view why);
// kInvalidArgument when one of our flags is given that is not in `accepted`: "--steps takes no
// --window" for `what` --steps.
absl::Status AcceptFlags(absl::string_view what, const std::vector<std::string>& accepted);

// The text of --help: summary, synopsis, every flag that is defined under apps/ with its default,
// examples.
std::string HelpText(const Usage& usage);

// For main(): parses, answers --help (exits with 0), refuses bad flags (one line on standard error,
// exits with 2), and goes where the caller of `bazel run` is (callers_folder.h). From then on a
// program that gets no memory ends with a line, and kExitFailed.
std::vector<std::string> ParseCommandLineOrExit(int argc, char** argv, const Usage& usage);

// kExitBadInput for kInvalidArgument, kNotFound and kUnimplemented, kExitFailed for other errors.
int ExitCodeOf(const absl::Status& status);
// Prints "<program>: <message>" on standard error and returns the exit status for it.
int ReportError(absl::string_view program, const absl::Status& status);

// The exit status of a program: `exit_code`. When standard output did not take the result (a full
// disk), a line on standard error says so, and kExitOk becomes kExitFailed.
int EndWith(absl::string_view program, int exit_code);
// The same of a run, whose error is reported.
int EndWith(absl::string_view program, const absl::StatusOr<int>& exit_code);

// Makes a program's output from its positional arguments and its flags.
using MakeText = std::function<absl::StatusOr<std::string>(const std::vector<std::string>&)>;

// main() of a program that does nothing but print.
int PrintMain(int argc, char** argv, const Usage& usage, const MakeText& make_text);

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_COMMAND_LINE_H_
