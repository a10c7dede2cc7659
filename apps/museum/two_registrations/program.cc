// A buffer that is longer than one registration may be, and a request across the seam.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 2> kParameters = {
    Parameter{"chunk_pages", 4, 1, 8, "of 4 KiB: the longest registration"},
    Parameter{"request_bytes", 2048, 1024, 2048, "of each request"},
};
constexpr std::size_t kBuffer = 64 << 10;

// The chunks of one buffer.
struct Chunks {
  std::size_t bytes = 0;  // of each
  std::vector<std::unique_ptr<fabric::MemoryRegion>> regions;

  fabric::MemoryRegion& At(std::size_t offset) { return *regions[offset / bytes]; }
  std::size_t LeftAt(std::size_t offset) const { return bytes - offset % bytes; }
};

absl::Status Register(Machine& machine, std::size_t chunk_bytes, Chunks& chunks) {
  chunks.bytes = chunk_bytes;
  for (std::size_t at = 0; at < kBuffer; at += chunk_bytes) {
    auto region = machine.rail().domain->RegisterMemory(
        {.data = machine.Bytes(at, 1).data(), .length_bytes = std::min(chunk_bytes, kBuffer - at)});
    if (!region.ok()) return region.status();
    chunks.regions.push_back(*std::move(region));
  }
  return absl::OkStatus();
}

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial, {.memory_bytes = kBuffer}, {.memory_bytes = kBuffer});
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  Chunks from;
  Chunks to;
  const std::size_t chunk = trial.parameter("chunk_pages") * 4096;
  for (const absl::Status& status :
       {Register(*pair->a, chunk, from), Register(*pair->b, chunk, to)}) {
    if (!status.ok()) return Outcome::Of(status);
  }
  FillKeyed(pair->a->Bytes(0, kBuffer), 1);
  // One request every 3 KiB: some lie across a seam.
  const std::size_t request = trial.parameter("request_bytes");
  std::uint64_t posted = 0;
  for (std::size_t begin = 0; begin + request <= kBuffer; begin += 3072) {
    for (std::size_t at = begin; at < begin + request;) {
      // WRONG: the whole request, by the keys of the chunks in which it begins.
      std::size_t length = begin + request - at;
      if (twin == Twin::kRepaired) {  // REPAIRED: cut at the seams of both ends
        length = std::min({length, from.LeftAt(at), to.LeftAt(at)});
      }
      fabric::RemoteBuffer target = to.At(at).remote();
      target.address += at % chunk;
      const auto error = sender.endpoint->Write(fabric::WriteRequest{
          .source = {pair->a->Bytes(at, length).data(), length, from.At(at).local_key()},
          .target = target,
          .peer = pair->to_b,
          .context = fabric::Context{posted++}});
      if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
      at += length;
    }
  }
  absl::Status status;
  for (std::uint64_t completed = 0; completed < posted;) {
    while (const auto completion = sender.Read()) {
      ++completed;
      if (!completion->ok() && status.ok()) status = Failed(sender, *completion, "write");
    }
    if (completed < posted && !LetTimePass(trial)) break;
  }
  return Outcome::Of(status);
}

}  // namespace

const Exhibit& TwoRegistrations() {
  static const Exhibit exhibit = {
      .name = "two-registrations",
      .project = "kvcache-ai/Mooncake",
      .origin = "issue 3501, pull request 3505",
      .kind = "registration",
      .cause = "a request crosses two registrations of one buffer, and names the first one's key",
      .verdict = sim::explore::Verdict::kUnexplainedError,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
