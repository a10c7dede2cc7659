// Prints why a request of the program is refused: the program's own message is "Operation not
// supported", if it has one at all.

#ifndef DRYDOCK_SIM_VERBS_REFUSAL_H_
#define DRYDOCK_SIM_VERBS_REFUSAL_H_

#include <cstddef>
#include <mutex>
#include <string_view>

namespace drydock::sim::verbs {

// Prints `what` on standard error, the first time in this process, and returns `error`. `what`: the
// function, a colon, and the reason; the same text is the same kind. Thread-safe.
//
//   if (flags != 0) return Refuse("efadv_create_cq: unknown flags");    // EOPNOTSUPP
int Refuse(std::string_view what, int error);
int Refuse(std::string_view what);

// Prints a line on standard error, the first time in this process. Thread-safe.
void SayOnce(std::string_view line);

// Held over a fork by machine.cc: it is the last that a thread takes.
std::mutex& MutexOfRefusals();

// As Refuse, for functions that return an object: the error is in errno.
std::nullptr_t RefuseObject(std::string_view what, int error);
std::nullptr_t RefuseObject(std::string_view what);

}  // namespace drydock::sim::verbs

#endif  // DRYDOCK_SIM_VERBS_REFUSAL_H_
