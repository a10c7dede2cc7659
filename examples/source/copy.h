// The project's own RDMA code: copies a buffer to a peer in pages, each announced by an immediate.

#ifndef COPY_H_
#define COPY_H_

#include <cstddef>

#include "coro/scope.h"
#include "coro/status_macros.h"
#include "fabric/async/node.h"

inline coro::Task<absl::Status> CopyPage(fabric::async::Node& node, fabric::async::BufferSlice page,
                                         fabric::RemoteBuffer to) {
  const auto done = co_await node.endpoint().Write(page, to, node.peer(1), {.immediate = 7});
  co_return node.endpoint().ToStatus(done, "write page");
}

inline coro::Task<absl::Status> Copy(fabric::async::Node& node, fabric::async::BufferRef from,
                                     fabric::RemoteBuffer to) {
  constexpr std::size_t kPage = 4096;
  coro::Scope writes;
  for (std::size_t at = 0; at < from->bytes().size(); at += kPage, to.address += kPage) {
    writes.Spawn(CopyPage(node, fabric::async::BufferSlice(from, at, kPage), to));
  }
  co_return co_await writes.Join();
}

#endif  // COPY_H_
