#include "drydock/testing/benchmarks/rma_bandwidth.h"

#include <algorithm>
#include <memory>
#include <span>

#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/error.h"
#include "drydock/fabric/opened_nic.h"

namespace drydock::bench {
namespace {

// One side, with memory for a window of writes. Members die in reverse order.
struct End {
  std::unique_ptr<std::byte[]> memory;
  std::unique_ptr<fabric::MemoryRegion> region;
  fabric::OpenedNic nic;
};

absl::StatusOr<End> OpenEnd(fabric::Fabric& fabric, std::size_t length_bytes) {
  End end;
  // Not initialised: what is never touched takes no memory.
  end.memory.reset(new std::byte[length_bytes]);
  ASSIGN_OR_RETURN(end.nic, fabric::OpenNic(fabric));
  ASSIGN_OR_RETURN(end.region, end.nic.domain->RegisterMemory(
                                   {.data = end.memory.get(), .length_bytes = length_bytes}));
  return end;
}

// Reads completions one by one until none of `in_flight` writes is left.
absl::Status Drain(fabric::CompletionQueue& queue, coro::Clock& clock, std::size_t& in_flight) {
  fabric::Completion completion;
  while (in_flight > 0) {
    const fabric::ReadResult read = queue.Read({&completion, 1});
    if (read.error != fabric::ErrorCode::kOk) {
      return fabric::ToStatus(read.error, "read completion queue");
    }
    if (read.count > 0) {
      if (!completion.ok()) {
        return fabric::ToStatus(completion.error, queue.ErrorText(completion));
      }
      --in_flight;
    } else if (!clock.WaitUntil(coro::kNever)) {
      return absl::DataLossError(absl::StrCat(in_flight, " writes never complete"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::size_t RmaBandwidthIterations(std::size_t bytes) {
  constexpr std::size_t kMedium = 64 << 10;
  constexpr std::size_t kLong = 1 << 20;
  return bytes >= kLong ? 200 : bytes >= kMedium ? 2000 : 20000;
}

absl::StatusOr<double> MeasureRmaBandwidth(fabric::Fabric& initiator, fabric::Fabric& target,
                                           coro::Clock& clock, const RmaBandwidthOptions& options) {
  ASSIGN_OR_RETURN(const End from, OpenEnd(initiator, options.bytes));
  ASSIGN_OR_RETURN(const End to, OpenEnd(target, options.bytes * options.window));
  std::fill_n(from.memory.get(), options.bytes, std::byte{0x5a});
  fabric::WriteRequest write;
  ASSIGN_OR_RETURN(write.peer, from.nic.peers->Insert(to.nic.endpoint->address()));
  RETURN_IF_ERROR(to.nic.peers->Insert(from.nic.endpoint->address()).status());
  write.source = from.region->Local();
  write.context = fabric::Context{1};
  // Each write of a window has a place of its own: no two of them race for a byte.
  const fabric::RemoteBuffer base = to.region->remote();

  std::size_t in_flight = 0;
  coro::Time start{};
  for (std::size_t i = 0; i < options.warm_up + options.iterations; ++i) {
    if (i == options.warm_up) start = clock.Now();
    write.target = base;
    write.target.address += i % options.window * options.bytes;
    const fabric::ErrorCode posted = from.nic.endpoint->Write(write);
    if (posted != fabric::ErrorCode::kOk) return fabric::ToStatus(posted, "post write");
    ++in_flight;
    if (in_flight == options.window) RETURN_IF_ERROR(Drain(*from.nic.queue, clock, in_flight));
  }
  RETURN_IF_ERROR(Drain(*from.nic.queue, clock, in_flight));
  return static_cast<double>((clock.Now() - start).count()) /
         static_cast<double>(options.iterations);
}

}  // namespace drydock::bench
