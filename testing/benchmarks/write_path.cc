#include "testing/benchmarks/write_path.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "coro/check.h"
#include "coro/status_macros.h"

namespace bench {
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

absl::Status VerifyPath(WritePath& path, const Buffers& buffers, const Shape& shape) {
  const std::size_t used = shape.bytes * shape.window;
  DD_CHECK(used <= buffers.length_bytes(), "a window that is longer than the buffers");
  for (std::size_t i = 0; i < used; ++i) {
    buffers.source()[i] = static_cast<std::byte>(i * 131 + i / 251 + shape.window);
  }
  std::memset(buffers.target(), 0, used);
  RETURN_IF_ERROR(path.Write(shape, shape.window));
  if (std::memcmp(buffers.source(), buffers.target(), used) == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path.name(), ": ", shape.window, " writes of ",
                                          shape.bytes, " B did not all arrive"));
}

}  // namespace bench
