#include "sim/verbs/trace.h"

#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sim::verbs {

std::string TraceFileOf(const std::string& file, int pid) {
  const std::size_t slash = file.rfind('/');
  const std::size_t dot = file.rfind('.');
  const bool extension =
      dot != std::string::npos && dot > (slash == std::string::npos ? 0 : slash + 1);
  if (!extension) return absl::StrCat(file, ".", pid);
  return absl::StrCat(file.substr(0, dot), ".", pid, file.substr(dot));
}

absl::StatusOr<std::unique_ptr<Trace>> Trace::Open(const std::string& file, World& world) {
  const std::string name = TraceFileOf(file, getpid());
  std::FILE* opened = std::fopen(name.c_str(), "we");
  if (opened == nullptr) {
    return absl::UnavailableError(absl::StrCat("trace ", name, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<Trace>(new Trace(opened, world));
}

Trace::Trace(std::FILE* file, World& world) : file_(file), world_(world), pid_(getpid()) {
  world_.log().set_listener(this);
}

Trace::~Trace() {
  world_.log().set_listener(nullptr);
  std::fputs(first_ ? "[]\n" : "\n]\n", file_);
  std::fclose(file_);
}

void Trace::OnLogged(const LoggedEvent& event) {
  const std::string_view name = Name(event.kind);
  std::fprintf(
      file_,
      "%s{\"name\":\"%.*s\",\"ph\":\"i\",\"s\":\"t\",\"ts\":%.3f,\"pid\":%d,\"tid\":%" PRIu32
      ",\"args\":{\"nic\":\"%s\",\"operation\":%" PRIu64 ",\"packet\":%" PRIu32
      ",\"bytes\":%" PRIu64 ",\"branch\":%u}}",
      first_ ? "[\n" : ",\n", static_cast<int>(name.size()), name.data(),
      static_cast<double>(event.time.count()) / 1000.0, pid_, event.actor,
      event.actor < world_.nic_count() ? world_.nic(event.actor).name().c_str() : "world",
      event.operation, event.packet, event.bytes, unsigned{event.branch});
  first_ = false;
}

}  // namespace sim::verbs
