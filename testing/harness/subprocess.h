// A program that a test starts, listens to and ends.
//
//   ASSERT_OK_AND_ASSIGN(auto server, harness::Subprocess::Start({path, "--clients=1"}));
//   ASSERT_OK_AND_ASSIGN(std::string line, server->WaitForLine("address"));
//   ...
//   ASSERT_OK_AND_ASSIGN(const harness::ProcessEnd end, server->Finish());
//   EXPECT_EQ(end.exit_code, 0) << end;
//
// Tests synchronise with what the program prints, never with time: every wait ends as soon as the
// output is there, and its limit is only against waiting for ever.

#ifndef DRYDOCK_TESTING_HARNESS_SUBPROCESS_H_
#define DRYDOCK_TESTING_HARNESS_SUBPROCESS_H_

#include <sys/types.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "drydock/coro/steady_clock.h"
#include "drydock/coro/time.h"

namespace drydock::harness {

enum class Stream { kOut = 0, kErr = 1 };

struct SubprocessOptions {
  std::map<std::string, std::string> environment;  // on top of this process's
  // Its three streams are a pseudo terminal: everything arrives as Stream::kOut, byte for byte as
  // it was printed.
  bool terminal = false;
  // Standard error goes where standard output goes: everything arrives as Stream::kOut, in order.
  bool merge_streams = false;
  // How long each wait may take. Generous: the machine may be busy with other tests.
  coro::Duration patience = std::chrono::seconds(120);
};

// How a program ended, and everything that it printed.
struct ProcessEnd {
  int exit_code = -1;  // -1: it was ended by a signal
  int signal = 0;
  std::string out;
  std::string err;

  // The last line of `out`.
  std::string LastLine() const;
};
std::ostream& operator<<(std::ostream& stream, const ProcessEnd& end);

// The lines of `text`, such as ProcessEnd::out, without empty ones.
std::vector<std::string> Lines(const std::string& text);

// Ownership: owns the process. Destruction kills it and whatever it started, and reaps it: nothing
// is left behind, not even when the test itself is killed (on Linux). Threads: one.
class Subprocess {
 public:
  // Starts command[0], a path, with its standard input empty. kInternal: it cannot be started. A
  // program that cannot be executed ends with exit code 127.
  static absl::StatusOr<std::unique_ptr<Subprocess>> Start(const std::vector<std::string>& command,
                                                           const SubprocessOptions& options = {});

  // Starts it, and waits for its end.
  static absl::StatusOr<ProcessEnd> Run(const std::vector<std::string>& command,
                                        const SubprocessOptions& options = {});

  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;
  ~Subprocess();

  pid_t pid() const { return pid_; }

  // The next whole line of `stream` that contains `text`; lines before it are skipped, for this
  // function only. kDeadlineExceeded: none came in time; kOutOfRange: the program ended without
  // one. Both messages have what was printed.
  absl::StatusOr<std::string> WaitForLine(absl::string_view text, Stream stream = Stream::kOut);

  // Waits until `text` was printed, in a whole line or not, after what was waited for before.
  // Errors as WaitForLine.
  absl::Status WaitForText(absl::string_view text, Stream stream = Stream::kOut);

  // Waits for the program's end. kDeadlineExceeded as WaitForLine.
  absl::StatusOr<ProcessEnd> Finish();

  // Sends a signal: SIGKILL, SIGSTOP, SIGCONT... REQUIRES: Finish was not called.
  void Signal(int number);

 private:
  struct Output {
    int descriptor = -1;  // -1: its end was read
    std::string text;
    std::size_t seen = 0;  // what WaitForLine and WaitForText are past
  };

  explicit Subprocess(const SubprocessOptions& options) : patience_(options.patience) {}

  Output& output(Stream stream) { return outputs_[static_cast<std::size_t>(stream)]; }
  // Reads what comes next from any stream. False when all have ended. kDeadlineExceeded.
  absl::StatusOr<bool> ReadMore(coro::Time deadline, absl::string_view waiting_for);
  static void ReadFrom(Output& output);
  std::string Printed() const;

  const coro::Duration patience_;
  coro::SteadyClock clock_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  std::array<Output, 2> outputs_;
};

// The program that the build put beside the test: its path is in the environment variable `name`
// (see `env` in BUILD). Fails the process if it is not set.
std::string ProgramPath(const char* name);

}  // namespace drydock::harness

#endif  // DRYDOCK_TESTING_HARNESS_SUBPROCESS_H_
