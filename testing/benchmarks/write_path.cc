#include "drydock/testing/benchmarks/write_path.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "drydock/coro/check.h"
#include "drydock/coro/status_macros.h"

namespace drydock::bench {
namespace {

constexpr std::size_t kPage = 4096;

std::byte* Allocate(std::size_t length_bytes) {
  auto* bytes = static_cast<std::byte*>(::operator new[](length_bytes, std::align_val_t{kPage}));
  std::memset(bytes, 0, length_bytes);
  return bytes;
}

}  // namespace

void Buffers::Free::operator()(std::byte* bytes) const {
  ::operator delete[](bytes, std::align_val_t{kPage});
}

Buffers::Buffers(std::size_t length_bytes)
    : length_bytes_(length_bytes),
      source_(Allocate(length_bytes)),
      target_(Allocate(length_bytes)) {}

absl::Status VerifyWrites(const std::string& name, const Buffers& buffers, const Shape& shape,
                          const std::function<absl::Status()>& write) {
  const std::size_t used = shape.bytes * shape.window;
  DD_CHECK(used <= buffers.length_bytes(), "a window that is longer than the buffers");
  const auto pattern = [&](std::size_t i) {
    return static_cast<std::byte>(i * 131 + i / 251 + shape.window);
  };
  for (std::size_t i = 0; i < used; ++i) buffers.source()[i] = pattern(i);
  std::memset(buffers.target(), 0, used);
  RETURN_IF_ERROR(write());
  // Not with the source: a path that writes to and fro has written there, too.
  std::size_t same = 0;
  while (same < used && buffers.target()[same] == pattern(same)) ++same;
  if (same == used) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(name, ": ", shape.window, " writes of ", shape.bytes, " B did not all arrive"));
}

absl::Status VerifyPath(WritePath& path, const Buffers& buffers, const Shape& shape) {
  return VerifyWrites(path.name(), buffers, shape, [&] { return path.Write(shape, shape.window); });
}

}  // namespace drydock::bench
