#include "drydock/sim/verbs/refusal.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "drydock/sim/verbs/machine.h"
#include "drydock/sim/verbs/termination.h"

namespace drydock::sim::verbs {
namespace {

std::mutex of_refusals;

// Whether this is the first time. A program that asks for ever new things is not followed.
bool IsNew(std::string_view what) {
  const TerminationDelay termination_delay;
  const std::lock_guard lock(MutexOfRefusals());
  static auto& said = *new std::set<std::string, std::less<>>;
  constexpr std::size_t kMost = 100;
  return said.size() < kMost && said.emplace(what).second;
}

}  // namespace

std::mutex& MutexOfRefusals() { return of_refusals; }

void SayOnce(std::string_view line) {
  if (IsNew(line)) Say(std::string(line));
}

int Refuse(std::string_view what, int error) {
  const char* name = strerrorname_np(error);
  SayOnce(absl::StrCat(std::string(what), " (", name == nullptr ? "error" : name, ")"));
  return error;
}

int Refuse(std::string_view what) { return Refuse(what, EOPNOTSUPP); }

std::nullptr_t RefuseObject(std::string_view what, int error) {
  errno = Refuse(what, error);
  return nullptr;
}

std::nullptr_t RefuseObject(std::string_view what) { return RefuseObject(what, EOPNOTSUPP); }

}  // namespace drydock::sim::verbs
