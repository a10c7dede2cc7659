// Where programs get random bytes from: in virtual time they are a function of the seed.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "drydock/coro/keyed_random.h"

namespace {

// Of all that asks, in order.
std::uint64_t Draw() {
  static std::uint64_t seed = [] {
    const char* const text = std::getenv("DRYDOCK_EFA_SEED");
    return text == nullptr || text[0] == '\0' ? 1 : std::strtoull(text, nullptr, 10);
  }();
  static std::uint64_t drawn = 0;
  return drydock::coro::Combine(drydock::coro::Mix(seed), ++drawn);
}

void Fill(void* buffer, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = Draw();
    std::memcpy(static_cast<char*>(buffer) + i, &word, std::min(sizeof word, bytes - i));
  }
}

bool IsRandom(std::string_view path) { return path == "/dev/urandom" || path == "/dev/random"; }

// A file of random bytes, as many as a program could want for its seeds; -1 with an errno.
int OpenRandom(int flags) {
  const int file = memfd_create("random", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (file < 0) return -1;
  std::array<char, 1 << 16> bytes;
  Fill(bytes.data(), bytes.size());
  if (pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    close(file);
    errno = ENFILE;
    return -1;
  }
  return file;
}

int Open(int folder, const char* path, int flags, mode_t mode) {
  if (IsRandom(path)) return OpenRandom(flags);
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

}  // namespace

extern "C" {

ssize_t getrandom(void* buffer, std::size_t bytes, unsigned /*flags*/) {
  Fill(buffer, bytes);
  return static_cast<ssize_t>(bytes);
}

int getentropy(void* buffer, std::size_t bytes) {
  constexpr std::size_t kMost = 256;  // getentropy(3)
  if (bytes > kMost) {
    errno = EIO;
    return -1;
  }
  Fill(buffer, bytes);
  return 0;
}

std::uint32_t arc4random() { return static_cast<std::uint32_t>(Draw()); }
void arc4random_buf(void* buffer, std::size_t bytes) { Fill(buffer, bytes); }
std::uint32_t arc4random_uniform(std::uint32_t below) {
  return below < 2 ? 0 : static_cast<std::uint32_t>(Draw() % below);
}

// std::random_device of libstdc++, which asks the processor.
unsigned _ZNSt13random_device9_M_getvalEv(void* /*device*/) { return arc4random(); }

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return Open(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return Open(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));

// As open is called by programs that are built with _FORTIFY_SOURCE.
int __open_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }
int __open64_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }

}  // extern "C"
