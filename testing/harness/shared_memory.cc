#include "drydock/testing/harness/shared_memory.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/match.h"

namespace drydock::harness {

void RemoveSharedMemoryOf(pid_t pid) {
  std::error_code ignored;
  const std::string prefix = std::to_string(pid) + "-";
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    if (absl::StartsWith(entry.path().filename().string(), prefix)) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

}  // namespace drydock::harness
