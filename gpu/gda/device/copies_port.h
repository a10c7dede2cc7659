// The operations of a port (port.h) by stores into the memory of peers, where a device reaches it:
// over NVLink or PCIe, without a NIC. For the same kernels beside those that use NICs.
//
// Stronger than a NIC's: a signal comes after all stores that its scope fenced before it.

#ifndef DRYDOCK_GPU_GDA_DEVICE_COPIES_PORT_H_
#define DRYDOCK_GPU_GDA_DEVICE_COPIES_PORT_H_

#include <cstdint>
#include <type_traits>

#include "drydock/gpu/gda/device/payload.h"
#include "drydock/gpu/gda/device/port.h"
#include "drydock/gpu/gda/device/views.h"
#include "drydock/gpu/gda/queue/device_ops.h"

namespace drydock::gpu::gda {

struct CopiesView {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
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
    scope.Sync();
    for (std::uint32_t i = 0; i < count; ++i) CopyPiece(scope, request(i).piece);
    SystemFence();  // of each thread's own stores, before any signal
    scope.Sync();
    for (std::uint32_t i = scope.rank(); i < count; i += scope.size()) {
      const Request one = request(i);
      if (one.operation == PortOperation::kPut) continue;
      FetchAddSystem(&view_.states[one.piece.peer]->counts[view_.rank][one.signal], 1);
    }
    scope.Sync();
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
  template <typename Scope>
  DD_HOST_DEVICE void CopyPiece(Scope& scope, const Piece& piece) {
    unsigned char* const to = view_.windows[piece.peer] + piece.remote;
    const unsigned char* const from = view_.local + piece.local;
#if defined(__CUDA_ARCH__)
    if ((piece.remote | piece.local | piece.bytes) % sizeof(uint4) == 0) {
      constexpr std::uint32_t kLoads = 8;  // under way at once
      const std::uint32_t count = piece.bytes / sizeof(uint4);
      for (std::uint32_t begin = scope.rank(); begin < count; begin += kLoads * scope.size()) {
        uint4 values[kLoads];
        GDA_UNROLL for (std::uint32_t j = 0; j < kLoads; ++j) {
          const std::uint32_t i = begin + j * scope.size();
          if (i < count) values[j] = reinterpret_cast<const uint4*>(from)[i];
        }
        GDA_UNROLL for (std::uint32_t j = 0; j < kLoads; ++j) {
          const std::uint32_t i = begin + j * scope.size();
          if (i < count) reinterpret_cast<uint4*>(to)[i] = values[j];
        }
      }
      return;
    }
#endif
    for (std::uint32_t i = scope.rank(); i < piece.bytes / 4; i += scope.size()) {
      StorePayload(reinterpret_cast<std::uint32_t*>(to) + i,
                   LoadPayload(reinterpret_cast<const std::uint32_t*>(from) + i));
    }
  }

  const CopiesView& view_;
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_DEVICE_COPIES_PORT_H_
