// What server and client tell while they work, one line at a time.

#ifndef APPS_WRITE_LOG_H_
#define APPS_WRITE_LOG_H_

#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"

namespace apps::write {

enum class Severity : std::uint8_t {
  kDetail,   // every region and every write, for who looks for a bug
  kEvent,    // what happened
  kProblem,  // what a person should look at; `label` is empty
};

// `label` is one word that says what the line is about: CONNECT, wrote.
using Log = std::function<void(Severity severity, absl::string_view label, absl::string_view text)>;

// Nobody listens.
inline void NoLog(Severity, absl::string_view, absl::string_view) {}

}  // namespace apps::write

#endif  // APPS_WRITE_LOG_H_
