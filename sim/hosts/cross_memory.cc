#include "drydock/sim/hosts/cross_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace drydock::sim {

bool ReadAcross(std::int32_t pid, std::uint64_t address, std::byte* target, std::size_t length) {
  while (length > 0) {
    iovec here{target, length};
    iovec there{reinterpret_cast<void*>(address), length};
    // Not by the C library's function: a sanitizer takes its accesses for the program's.
    const long read =
        syscall(SYS_process_vm_readv, static_cast<pid_t>(pid), &here, 1L, &there, 1L, 0L);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return false;
    const auto bytes = static_cast<std::size_t>(read);
    target += bytes;
    address += bytes;
    length -= bytes;
  }
  return true;
}

bool CanReadAcross(std::int32_t pid, std::uint64_t address, std::uint64_t word) {
  std::uint64_t found = 0;
  return pid > 0 && ReadAcross(pid, address, reinterpret_cast<std::byte*>(&found), sizeof(found)) &&
         found == word;
}

}  // namespace drydock::sim
