// The files of a system, read with suspicion: of this machine, or of a tree of folders that stands
// for one (a container's root, a copy of another machine's /sys and /proc, a test's).
//
// Links stay inside the tree, wherever they point. Files may be missing, huge, garbled, or no files
// at all; nothing here blocks, and nothing reads more than it was told to.

#ifndef DRYDOCK_APPS_DOCTOR_SYSTEM_FILES_H_
#define DRYDOCK_APPS_DOCTOR_SYSTEM_FILES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace drydock::apps::doctor {

// Paths are those inside the tree, and begin with a slash. Thread-safe.
class SystemFiles {
 public:
  static constexpr std::size_t kMaxText = 1 << 20;  // bytes
  static constexpr std::size_t kMaxNames = 4096;    // of a folder

  // "/" or empty: this machine.
  explicit SystemFiles(std::string root);

  bool is_this_machine() const { return root_.empty(); }

  // The path with every link followed. kNotFound: it leads nowhere; kPermissionDenied: a folder on
  // the way is closed; kFailedPrecondition: its links go in circles.
  absl::StatusOr<std::string> Resolve(absl::string_view path) const;

  // The content. Errors of Resolve; kPermissionDenied; kFailedPrecondition: no regular file, or it
  // cannot be read; kOutOfRange: longer than `max_bytes`.
  absl::StatusOr<std::string> Read(absl::string_view path, std::size_t max_bytes = kMaxText) const;

  // The first line, without blanks around it and fit to be shown (Printable). Empty where there is
  // none, for whatever reason.
  std::string FirstLine(absl::string_view path) const;

  // The file's only content as a number; none where it is anything else.
  std::optional<std::int64_t> Number(absl::string_view path) const;

  // Names in a folder, sorted, without "." and ".."; at most kMaxNames. None where there is no such
  // folder.
  std::vector<std::string> List(absl::string_view path) const;

  bool Exists(absl::string_view path) const { return Resolve(path).ok(); }

  // Opens it for reading and writing, as a program would, and closes it. kPermissionDenied,
  // kFailedPrecondition: it cannot be opened; the message has the system's words.
  absl::Status TryToOpen(absl::string_view path) const;

 private:
  std::string OnHost(absl::string_view resolved) const;

  std::string root_;  // without a slash at its end; empty: this machine
};

// The last part of a path.
std::string BaseName(absl::string_view path);

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_SYSTEM_FILES_H_
