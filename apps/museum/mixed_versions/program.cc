// Two machines, one with older software: its immediates need a receive.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/fabric/capability.h"
#include "drydock/sim/profile/profile.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"writes", 4, 1, 32, "in each direction"},
};

// The default machine without unsolicited immediates.
const sim::Profile& Older() {
  static const sim::Profile profile = [] {
    sim::Profile older = **sim::FindProfile("small");
    older.name = "small-older";
    older.device.unsolicited_write_recv = false;
    return older;
  }();
  return profile;
}

// Each end writes to the other and counts what comes.
struct End {
  Rail& rail;
  Rail& other;
  fabric::Peer peer;
  std::uint64_t left;  // completions of writes, and immediates
};

absl::Status Begin(End& end, std::uint64_t writes, bool receives_needed) {
  for (std::uint64_t i = 0; i < writes; ++i) {
    if (receives_needed) {
      const auto error = end.rail.endpoint->Recv(fabric::RecvRequest{
          .buffer = end.rail.Local(32768 + 64 * i, 64), .context = fabric::Context{i}});
      if (error != fabric::ErrorCode::kOk) return absl::InternalError("not posted");
    }
    const auto error =
        end.rail.endpoint->Write(fabric::WriteRequest{.source = end.rail.Local(64 * i, 64),
                                                      .target = end.other.Remote(64 * i),
                                                      .peer = end.peer,
                                                      .immediate = 1,
                                                      .context = fabric::Context{i}});
    if (error != fabric::ErrorCode::kOk) return absl::InternalError("not posted");
  }
  end.left = 2 * writes;
  return absl::OkStatus();
}

bool NeedsReceives(const Rail& rail) {
  return !rail.domain->nic().capabilities.Has(fabric::Capability::kUnsolicitedImmediate);
}

// An endpoint in place of the end's: its receives take immediates, as the older machine's do.
absl::Status TakeImmediatesByReceives(Rail& rail) {
  fabric::EndpointOptions options;
  options.send_queue = options.receive_queue = rail.queue.get();
  options.address_vector = rail.peers.get();
  options.receives_take_immediates = true;
  auto opened = rail.domain->OpenEndpoint(options);
  if (!opened.ok()) return opened.status();
  rail.endpoint = *std::move(opened);
  return absl::OkStatus();
}

// What both can do: the device wants the same of both ends of a write.
absl::Status Agree(End& a, End& b) {
  for (End* end : {&a, &b}) {
    if (absl::Status status = TakeImmediatesByReceives(end->rail); !status.ok()) return status;
  }
  for (End* end : {&a, &b}) {
    const auto peer = end->rail.peers->Insert(end->other.endpoint->address());
    if (!peer.ok()) return peer.status();
    end->peer = *peer;
  }
  return absl::OkStatus();
}

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial, {}, {.profile = &Older()});
  if (!pair.ok()) return Outcome::Of(pair.status());
  End a{pair->a->rail(), pair->b->rail(), pair->to_b, 0};
  End b{pair->b->rail(), pair->a->rail(), pair->to_a, 0};
  const std::uint64_t writes = trial.parameter("writes");
  // WRONG: what rank 0 has found out of its own machine is taken for true of all.
  bool receives_needed = NeedsReceives(a.rail);
  if (twin == Twin::kRepaired && NeedsReceives(b.rail)) {  // REPAIRED: the older one decides
    if (const absl::Status status = Agree(a, b); !status.ok()) return Outcome::Of(status);
    receives_needed = true;
  }
  for (End* end : {&a, &b}) {
    const absl::Status status = Begin(*end, writes, receives_needed);
    if (!status.ok()) return Outcome::Of(status);
  }
  while (a.left > 0 || b.left > 0) {  // the first collective
    for (End* end : {&a, &b}) {
      while (end->rail.Read().has_value()) --end->left;
    }
    if ((a.left > 0 || b.left > 0) && !LetTimePass(trial)) break;
  }
  return Outcome::Of(absl::OkStatus());
}

}  // namespace

const Exhibit& MixedVersions() {
  static const Exhibit exhibit = {
      .name = "mixed-versions",
      .project = "whitecircle/halo",
      .origin = "pull request 11",
      .kind = "mixed versions",
      .cause =
          "machines with different software are taken for equal, and the first collective hangs",
      .verdict = sim::explore::Verdict::kHang,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
