// The operations of a port (port.h) by stores into the memory of peers, where a device reaches it:
// over NVLink or PCIe, without a NIC. For the same kernels beside those that use NICs.
//
// Stronger than a NIC's: a signal comes after all stores that its scope fenced before it.

#ifndef GPU_GDA_DEVICE_COPIES_PORT_H_
#define GPU_GDA_DEVICE_COPIES_PORT_H_

#include <cstdint>
#include <type_traits>

#include "gpu/gda/device/payload.h"
#include "gpu/gda/device/port.h"
#include "gpu/gda/device/views.h"
#include "gpu/gda/device_ops.h"

namespace gpu::gda {

struct CopiesView {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t queues = 1;
  std::uint64_t timeout_ns = 0;
  unsigned char* local = nullptr;  // = windows[rank]
  PortError* error = nullptr;
  unsigned char* windows[kMaxRanks] = {};  // as this device sees them
  PortState* states[kMaxRanks] = {};       // counts are all that is used
};
static_assert(std::is_trivially_copyable_v<CopiesView>);

// As Port. Pieces are whole words of 4 bytes.
class CopiesPort {
 public:
  using Request = Port<Sharing::kExclusive>::Request;

  DD_HOST_DEVICE CopiesPort(const CopiesView& view, std::uint32_t) : view_(view) {}
  DD_HOST_DEVICE void Save() const {}

  template <typename Scope>
  DD_HOST_DEVICE Outcome PutSignal(Scope& scope, const Piece& piece, std::uint32_t signal,
                                   Bells bells = Bells::kNow) {
    return PostEach(scope, 1, bells, [&](std::uint32_t) {
      return Request{PortOperation::kPutSignal, piece, signal};
    });
  }
  template <typename Scope, typename Requests>
  DD_HOST_DEVICE Outcome PostEach(Scope& scope, std::uint32_t count, Bells,
                                  const Requests& request) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const Request one = request(i);
      const Piece& piece = one.piece;
      scope.Sync();
      auto* const to = reinterpret_cast<std::uint32_t*>(view_.windows[piece.peer] + piece.remote);
      const auto* const from = reinterpret_cast<const std::uint32_t*>(view_.local + piece.local);
      for (std::uint32_t word = scope.rank(); word < piece.bytes / 4; word += scope.size()) {
        StorePayload(to + word, LoadPayload(from + word));
      }
      SystemFence();
      scope.Sync();
      if (scope.rank() == 0 && one.operation != PortOperation::kPut) {
        FetchAddSystem(&view_.states[piece.peer]->counts[view_.rank][one.signal], 1);
      }
    }
    return Outcome::kOk;
  }
  template <typename Scope>
  DD_HOST_DEVICE Outcome Flush(Scope&) {
    return Outcome::kOk;
  }
  template <typename Scope>
  DD_HOST_DEVICE Outcome Quiet(Scope&) {
    return Outcome::kOk;
  }
  template <typename Scope>
  DD_HOST_DEVICE Outcome MakeVisible(Scope&) {
    return Outcome::kOk;
  }

  template <typename Scope>
  DD_HOST_DEVICE Outcome WaitSignal(Scope& scope, std::uint32_t source, std::uint32_t signal,
                                    std::uint32_t least) {
    Outcome outcome = Outcome::kOk;
    scope.Sync();
    if (scope.rank() == 0) {
      Patience patience(view_.timeout_ns);
      while (static_cast<std::int32_t>(
                 LoadShared(&view_.states[view_.rank]->counts[source][signal]) - least) < 0) {
        if (!patience.Over()) continue;
        outcome = Outcome::kTimedOut;
        *view_.error = {outcome, PortOperation::kWait, 0, 0, source};
        break;
      }
    }
    return static_cast<Outcome>(scope.Broadcast(static_cast<std::uint32_t>(outcome)));
  }
  DD_HOST_DEVICE void ResetSignal(std::uint32_t source, std::uint32_t signal, std::uint32_t seen) {
    FetchAddSystem(&view_.states[view_.rank]->counts[source][signal], 0 - seen);
  }
  template <typename Scope>
  DD_HOST_DEVICE Outcome Barrier(Scope& scope, const RankTeam& team) {
    std::uint32_t round = 0;
    if (scope.rank() == 0) {
      round = FetchAdd(&view_.states[view_.rank]->rounds[team.signal], 1) + 1;
    }
    round = scope.Broadcast(round);
    Outcome outcome = PostEach(scope, team.size, Bells::kNow, [&](std::uint32_t i) {
      return Request{PortOperation::kSignal, {.peer = team.At(i)}, team.signal};
    });
    for (std::uint32_t i = 0; i < team.size && outcome == Outcome::kOk; ++i) {
      outcome = WaitSignal(scope, team.At(i), team.signal, round);
    }
    return outcome;
  }

 private:
  const CopiesView& view_;
};

}  // namespace gpu::gda

#endif  // GPU_GDA_DEVICE_COPIES_PORT_H_
