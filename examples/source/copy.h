// The project's own RDMA code: copies a buffer to a peer in pages, each announced by an immediate.

#ifndef COPY_H_
#define COPY_H_

#include <cstddef>

#include "drydock/coro/scope.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/async/node.h"

inline drydock::coro::Task<absl::Status> CopyPage(drydock::fabric::async::Node& node,
                                                  drydock::fabric::async::BufferSlice page,
                                                  drydock::fabric::RemoteBuffer to) {
  const auto done = co_await node.endpoint().Write(page, to, node.peer(1), {.immediate = 7});
  co_return node.endpoint().ToStatus(done, "write page");
}

inline drydock::coro::Task<absl::Status> Copy(drydock::fabric::async::Node& node,
                                              drydock::fabric::async::BufferRef from,
                                              drydock::fabric::RemoteBuffer to) {
  constexpr std::size_t kPage = 4096;
  drydock::coro::Scope writes;
  for (std::size_t at = 0; at < from->bytes().size(); at += kPage, to.address += kPage) {
    writes.Spawn(CopyPage(node, drydock::fabric::async::BufferSlice(from, at, kPage), to));
  }
  co_return co_await writes.Join();
}

#endif  // COPY_H_
