// Where a loop's reports go: messages for a person, where no caller can be told.
//
//   const coro::ReportTo log([&](const std::string& text) { log_file << text; });
//   return RunProgram();  // the loops that it makes report to the file
//
// EventLoop::set_reporter is for the reports of one loop.

#ifndef DRYDOCK_CORO_REPORT_H_
#define DRYDOCK_CORO_REPORT_H_

#include <functional>
#include <string>

namespace drydock::coro {

// Takes a report: a line or several, each with its end. Called on the thread that reports, also by
// destructors: it must not throw.
using Reporter = std::function<void(const std::string& text)>;

// To the thread's reporter; there is one while a ReportTo lives. Else to standard error.
void ReportToThread(const std::string& text);

// While it lives, takes the reports of the calling thread that no loop's own reporter takes. For a
// program whose loops are made by other code. They nest: the youngest takes all reports. Dies on
// the thread that made it, before older ones.
class ReportTo {
 public:
  explicit ReportTo(Reporter reporter);
  ReportTo(const ReportTo&) = delete;
  ReportTo& operator=(const ReportTo&) = delete;
  ~ReportTo();

 private:
  friend void ReportToThread(const std::string& text);

  const Reporter reporter_;
  const ReportTo* const older_;
};

}  // namespace drydock::coro

#endif  // DRYDOCK_CORO_REPORT_H_
