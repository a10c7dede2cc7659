// A target registers buffers of its GPU, each on a thread of a pool, and a peer writes to all of
// them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/gpu/device_memory.h"
#include "drydock/gpu/host_device/current_device.h"
#include "drydock/gpu/host_device/host_device.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"buffers", 8, 1, 64, "of the target's GPU"},
};
constexpr std::size_t kBytes = 64;
constexpr int kDevices = 2;  // of the target; the buffers are the first one's

struct Buffer {
  std::unique_ptr<gpu::DeviceMemory> memory;
  std::unique_ptr<fabric::MemoryRegion> region;  // null: registered on no NIC
};

// Which GPU the pool's thread that gets this buffer has used last; absent: none yet.
std::optional<int> UsedBefore(Trial& trial, std::uint64_t buffer) {
  const std::uint64_t drawn = coro::Below(coro::Combine(trial.seed(), buffer), kDevices + 1);
  if (drawn == kDevices) return std::nullopt;
  return static_cast<int>(drawn);
}

std::unique_ptr<fabric::MemoryRegion> Register(fabric::Domain& domain, gpu::Device& device,
                                               gpu::DeviceMemory& memory,
                                               std::optional<int> used_before, Twin twin) {
  std::unique_ptr<fabric::MemoryRegion> region;
  std::thread worker([&] {
    // WRONG: whatever is current on this thread.
    std::optional<int> use = used_before;
    if (twin == Twin::kRepaired) use = device.ordinal();  // REPAIRED: the device of the memory
    std::optional<gpu::CurrentHostDevice> current;
    if (use.has_value()) current.emplace(*use);
    auto registered = domain.RegisterMemory(gpu::RequestFor(device, memory, nullptr));
    if (registered.ok()) region = *std::move(registered);  // otherwise: a line in a log
  });
  worker.join();
  return region;
}

absl::StatusOr<std::vector<Buffer>> Start(Trial& trial, Machine& target, gpu::Device& device,
                                          Twin twin) {
  std::vector<Buffer> buffers;
  for (std::uint64_t i = 0; i < trial.parameter("buffers"); ++i) {
    Buffer& buffer = buffers.emplace_back();
    ASSIGN_OR_RETURN(buffer.memory, device.Allocate(kBytes));
    buffer.region =
        Register(*target.rail().domain, device, *buffer.memory, UsedBefore(trial, i), twin);
  }
  return buffers;
}

absl::Status Transfer(Trial& trial, Pair& pair, const std::vector<Buffer>& buffers) {
  Rail& sender = pair.a->rail();
  std::uint64_t posted = 0;
  for (const Buffer& buffer : buffers) {
    if (buffer.region == nullptr) {
      return absl::UnavailableError(absl::StrCat("transfer ", posted, ": session b is not alive"));
    }
    const auto error =
        sender.endpoint->Write(fabric::WriteRequest{.source = sender.Local(kBytes * posted, kBytes),
                                                    .target = buffer.region->remote(),
                                                    .peer = pair.to_b,
                                                    .context = fabric::Context{posted}});
    if (error != fabric::ErrorCode::kOk) return absl::InternalError("not posted");
    ++posted;
  }
  for (std::uint64_t done = 0; done < posted;) {
    const auto completion = sender.Read();
    if (completion.has_value() && !completion->ok()) return Failed(sender, *completion, "write");
    if (completion.has_value()) ++done;
    if (!completion.has_value() && !LetTimePass(trial)) break;
  }
  return absl::OkStatus();
}

Outcome Run(Trial& trial, Twin twin) {
  const std::unique_ptr<gpu::Device> device = gpu::OpenHostDevice({.needs_context = true});
  trial.world().AttachDevice(device->peer_memory());
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  const auto buffers = Start(trial, *pair->b, *device, twin);
  return Outcome::Of(buffers.ok() ? Transfer(trial, *pair, *buffers) : buffers.status());
}

}  // namespace

const Exhibit& NoContext() {
  static const Exhibit exhibit = {
      .name = "no-context",
      .project = "kvcache-ai/Mooncake",
      .origin = "pull request 3177",
      .kind = "GPU memory",
      .cause = "a GPU's memory is registered on a thread where its device is not current",
      .verdict = sim::explore::Verdict::kUnexplainedError,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
