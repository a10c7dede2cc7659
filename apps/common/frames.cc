#include "drydock/apps/common/frames.h"

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/apps/common/wire.h"
#include "drydock/coro/status_macros.h"

namespace drydock::apps {

coro::Task<absl::Status> SendFrame(const coro::Descriptor& to, std::vector<std::byte> message,
                                   coro::Time deadline) {
  if (message.size() > UINT32_MAX) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("send message: ", message.size(), " bytes are over 4 GiB"));
  }
  WireWriter writer;
  writer.Number(static_cast<std::uint32_t>(message.size()));
  const std::vector<std::byte> length = writer.Take();
  CO_RETURN_IF_ERROR(co_await coro::WriteAll(to, length, deadline));
  co_return co_await coro::WriteAll(to, message, deadline);
}

coro::Task<absl::StatusOr<std::vector<std::byte>>> ReceiveFrame(const coro::Descriptor& from,
                                                                std::size_t most_bytes,
                                                                coro::Time deadline) {
  std::array<std::byte, 4> header;
  CO_RETURN_IF_ERROR(co_await coro::ReadAll(from, header, deadline));
  WireReader reader(header);
  const auto length = reader.Number<std::uint32_t>();
  if (length > most_bytes) {
    co_return absl::InvalidArgumentError(absl::StrCat(
        "receive message: it has ", length, " bytes, and may have ", most_bytes, " at most"));
  }
  std::vector<std::byte> message(length);
  CO_RETURN_IF_ERROR(co_await coro::ReadAll(from, message, deadline));
  co_return message;
}

}  // namespace drydock::apps
