#include "drydock/sim/world/run_twice.h"

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"

namespace drydock::sim {

void RunTwice::Watch(World& world) {
  ++runs_;
  DD_CHECK(runs_ <= 2, "a third run of two");
  world.log().set_listener(this);
}

void RunTwice::OnLogged(const LoggedEvent& event) {
  if (runs_ == 1) {
    first_.push_back(event);
    return;
  }
  const std::size_t index = next_++;
  if (difference_.has_value()) return;
  if (index >= first_.size()) {
    difference_ =
        absl::StrCat("event ", index, ": the first run had ended; the second: ", ToText(event));
  } else if (event != first_[index]) {
    difference_ = absl::StrCat("event ", index, ": the first run: ", ToText(first_[index]),
                               "; the second: ", ToText(event));
  }
}

std::optional<std::string> RunTwice::difference() const {
  if (difference_.has_value() || next_ == first_.size()) return difference_;
  return absl::StrCat("event ", next_,
                      ": the second run had ended; the first: ", ToText(first_[next_]));
}

}  // namespace drydock::sim
