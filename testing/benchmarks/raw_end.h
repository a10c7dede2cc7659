// An endpoint on libfabric's own calls as an End (write_end.h), with nothing in between.

#ifndef DRYDOCK_TESTING_BENCHMARKS_RAW_END_H_
#define DRYDOCK_TESTING_BENCHMARKS_RAW_END_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "drydock/fabric/libfabric/spin_pause.h"
#include "drydock/testing/benchmarks/write_end.h"

namespace drydock::bench {

struct CloseFid {
  template <typename Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, CloseFid>;

// Its members that polls and posts write begin a cache line: two threads may have one each.
class alignas(64) RawEnd {
 public:
  // The attributes are those that our backend uses, but for the format of completions: ours leaves
  // room for tags, which a program that sends none would not ask for. What that costs is part of
  // the layer. `info` is of the interface to open. `pauses`: after a poll that found nothing, as
  // our backend does on shm. Errors: the library's.
  static absl::StatusOr<std::unique_ptr<RawEnd>> Open(fi_info& info, std::byte* memory,
                                                      std::size_t length_bytes, bool pauses);

  // From now on Post writes to `peer`, whose interface is of the same `info`.
  absl::Status WriteTo(const RawEnd& peer);

  BurstOutcome Post(const Burst& burst) {
    for (std::size_t i = 0; i < burst.count; ++i) {
      const std::size_t slot = burst.first + i;
      const std::size_t offset = burst.offset_bytes + slot * burst.bytes;
      iovec source{memory_ + offset, burst.bytes};
      fi_rma_iov target{target_address_ + offset, burst.bytes, target_key_};
      const fi_msg_rma message{&source, &descriptor_, 1, peer_, &target, 1, &contexts_[slot], slot};
      const std::uint64_t more = i + 1 < burst.count ? FI_MORE : 0;
      const ssize_t result = fi_writemsg(endpoint_.get(), &message, FI_REMOTE_CQ_DATA | more);
      if (result != 0) [[unlikely]]
        return Refused(i, static_cast<int>(result));
    }
    return {burst.count};
  }
  [[gnu::always_inline]] bool Poll(Found& sent, Found& arrived) {
    std::array<fi_cq_data_entry, kMostInBurst> entries;  // filled by the library
    const ssize_t got = fi_cq_read(queue_.get(), entries.data(), entries.size());
    if (got <= 0) {
      if (got != 0 && got != -FI_EAGAIN) [[unlikely]]
        return FailRead(static_cast<int>(got));
      if (pauses_) fabric::libfabric::SpinPause();
      return true;
    }
    for (ssize_t i = 0; i < got; ++i) {
      const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
      if (!Count(entry, sent, arrived)) [[unlikely]]
        return FailKind(entry.flags);
    }
    return true;
  }
  absl::Status error() const { return error_; }

 private:
  RawEnd() = default;

  // False: it is of another kind than a write.
  bool Count(const fi_cq_data_entry& entry, Found& sent, Found& arrived) const {
    if ((entry.flags & FI_REMOTE_CQ_DATA) != 0) {
      ++arrived.completions;
      arrived.names += entry.data;
      arrived.bytes += entry.len;
      return true;
    }
    if ((entry.flags & FI_WRITE) == 0) [[unlikely]]
      return false;
    ++sent.completions;
    sent.names +=
        static_cast<std::size_t>(static_cast<fi_context2*>(entry.op_context) - contexts_.data());
    return true;
  }
  BurstOutcome Refused(std::size_t posted, int result);
  // Note why. Return false.
  bool FailRead(int result);
  bool FailKind(std::uint64_t flags);

  // In the order in which they open; they die in reverse.
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_cq> queue_;
  Owned<fid_av> peers_;
  Owned<fid_mr> region_;
  Owned<fid_ep> endpoint_;
  bool pauses_ = false;
  std::byte* memory_ = nullptr;
  std::uint64_t address_ = 0;  // of the memory, as peers name it
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  void* descriptor_ = nullptr;
  std::uint64_t target_key_ = 0;
  std::uint64_t target_address_ = 0;
  std::array<fi_context2, kMostSlots> contexts_;
  absl::Status error_;
};

}  // namespace drydock::bench

#endif  // DRYDOCK_TESTING_BENCHMARKS_RAW_END_H_
