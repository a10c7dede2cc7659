// The answer of a child process that queries a library, as text for its parent: lines of
// "key<tab>value<tab>value"; the key "error" is a failure in words.

#ifndef DRYDOCK_APPS_DOCTOR_PROBE_ANSWER_H_
#define DRYDOCK_APPS_DOCTOR_PROBE_ANSWER_H_

#include <dlfcn.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "drydock/apps/doctor/finding.h"

namespace drydock::apps::doctor {

inline std::string ErrorAnswer(absl::string_view words) {
  return absl::StrCat("error\t", Printable(words, 300));
}

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

inline std::string Text(const char* text) { return text == nullptr ? "" : Printable(text); }

// Calls `visit` with the fields of each line: four at least.
template <typename Visit>
absl::Status ReadAnswer(const std::string& answer, Visit visit) {
  for (const absl::string_view line : absl::StrSplit(answer, '\n')) {
    std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields[0] == "error") return absl::UnavailableError(fields.size() > 1 ? fields[1] : "");
    if (fields.size() < 4) fields.resize(4);
    visit(fields);
  }
  return absl::OkStatus();
}

// -1: it is no number.
inline int NumberIn(const std::string& text) {
  int number = 0;
  return absl::SimpleAtoi(text, &number) ? number : -1;
}

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_PROBE_ANSWER_H_
