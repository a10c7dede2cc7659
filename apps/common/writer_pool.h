// The resources of a server's transfers: each has regions of data of its own, and, where the fabric
// makes that wise, an endpoint of its own.
//
// Why an endpoint: a peer that dies takes its answers with it. An EFA NIC notices and ends the
// writes to it, a TCP connection breaks; but libfabric's shm provider waits for ever, and looks at
// no later answer either (ofiwg/libfabric prov/shm/src/smr_progress.c): one dead client would end
// the server's work for all. An endpoint of its own can be closed, which ends its writes, and those
// of other clients are untouched. It serves one client: that provider (1.17) cannot write from an
// endpoint to a second peer that has the number of a first one. On EFA a client could not be
// written to by an endpoint that it does not know: there, and wherever it is not needed, the writes
// go out from the server's.

#ifndef DRYDOCK_APPS_COMMON_WRITER_POOL_H_
#define DRYDOCK_APPS_COMMON_WRITER_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/coro/task.h"
#include "drydock/coro/time.h"
#include "drydock/coro/wait_list.h"
#include "drydock/fabric/async/async_endpoint.h"
#include "drydock/fabric/async/node.h"
#include "drydock/fabric/async/registered_buffer.h"

namespace drydock::apps {

struct WriterPoolOptions {
  std::size_t regions = 1;  // of each writer
  std::size_t region_bytes = 0;
  std::size_t most = 8;  // writers
  // Makes a region, registered with the node's NIC.
  std::function<absl::StatusOr<fabric::async::BufferRef>(std::size_t length_bytes)> allocate;
};

struct Writer {
  std::vector<fabric::async::BufferRef> regions;
  // Null: it shares the node's. Opened when the writer is lent, and open until it is lent again:
  // its client may still be looking at it.
  std::unique_ptr<fabric::async::AsyncEndpoint> own;
};

// Lends writers, a bounded number at a time, and keeps them for the next. A writer whose memory a
// write that was given up may still read counts as taken until that write has ended: its client may
// only be slow. When all are taken, and such writers have endpoints of their own, the oldest is
// closed. So a peer that dies costs memory for a while, and peers that never stop dying cannot take
// more than the bound. Not thread-safe. Outlives its leases; dies before its node.
class WriterPool {
 public:
  class Lease {
   public:
    Lease(WriterPool& pool, Writer writer) : pool_(&pool), writer_(std::move(writer)) {}
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), writer_(std::move(other.writer_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->Return(std::move(writer_));
    }

    const fabric::async::BufferRef& region(std::size_t index) const {
      return writer_.regions[index];
    }
    fabric::async::AsyncEndpoint& endpoint() const {
      return writer_.own == nullptr ? pool_->node_.endpoint() : *writer_.own;
    }

   private:
    WriterPool* pool_;
    Writer writer_;
  };

  WriterPool(fabric::async::Node& node, WriterPoolOptions options);
  WriterPool(const WriterPool&) = delete;
  WriterPool& operator=(const WriterPool&) = delete;

  // Makes the first writer. Errors: those of opening and registration.
  absl::Status Prepare();

  // A writer; waits for one until `deadline` while all are lent. kResourceExhausted: none came back
  // in time, or writes that do not end hold them all; errors of opening and registration.
  coro::Task<absl::StatusOr<Lease>> Borrow(coro::Time deadline);

  // Writers that are held by writes that were given up.
  std::size_t CountStuck();

 private:
  absl::StatusOr<Writer> Make();
  void Return(Writer writer);
  // Takes back resources that no write holds any more.
  void Reclaim();
  // Makes room for one more writer, if that can be done without waiting.
  bool MakeRoom();
  // Waits until a writer may have come back; false: no time is left.
  coro::Task<bool> AwaitWriter(coro::Time deadline);
  // Makes sure that an idle writer is there, with an endpoint where it needs its own. Errors: those
  // of opening and registration.
  absl::Status MakeReady();

  fabric::async::Node& node_;
  const WriterPoolOptions options_;
  const bool own_endpoints_;
  std::vector<Writer> idle_;
  std::vector<Writer> stuck_;  // the oldest first
  std::size_t lent_ = 0;
  coro::WaitList returned_;
};

}  // namespace drydock::apps

#endif  // DRYDOCK_APPS_COMMON_WRITER_POOL_H_
