#include "drydock/gpu/gda/host_launcher.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/gpu/gda/device/kernels.h"
#include "drydock/gpu/gda/host_team.h"
#include "drydock/gpu/host_device/host_memory.h"

namespace drydock::gpu::gda {
namespace {

constexpr unsigned kMostThreads = 256;

void RunKernel(Kernel kernel, const void* arguments, HostTeam& team) {
  switch (kernel) {
    case Kernel::kPut:
      return PutBody(*static_cast<const PutArguments*>(arguments), team);
    case Kernel::kWriteLoop:
      return WriteLoopBody(*static_cast<const LoopArguments*>(arguments), team);
    case Kernel::kTeamWrites:
      return TeamWritesBody(*static_cast<const LoopArguments*>(arguments), team);
    case Kernel::kBlockWrites:
      return BlockWritesBody(*static_cast<const BlockArguments*>(arguments), team);
    case Kernel::kFillBytes:
      return FillBytesBody(*static_cast<const BytesArguments*>(arguments), team);
    case Kernel::kCountWrong:
      return CountWrongBody(*static_cast<const BytesArguments*>(arguments), team);
    case Kernel::kBareLoop:
      return BareLoopBody(*static_cast<const LoopArguments*>(arguments), team);
    case Kernel::kPortPuts:
      return PortPutsBody(*static_cast<const PortPutsArguments*>(arguments), team);
    case Kernel::kPingPong:
      return PingPongBody(*static_cast<const PingPongArguments*>(arguments), team);
    case Kernel::kMoeDispatch:
      return MoeDispatchBody(*static_cast<const MoeArguments*>(arguments), team);
    case Kernel::kMoeCombine:
      return MoeCombineBody(*static_cast<const MoeArguments*>(arguments), team);
    case Kernel::kMoeDispatchCopies:
      return MoeDispatchBody(*static_cast<const MoeCopiesArguments*>(arguments), team);
    case Kernel::kMoeCombineCopies:
      return MoeCombineBody(*static_cast<const MoeCopiesArguments*>(arguments), team);
  }
}

class HostLauncher final : public Launcher {
 public:
  explicit HostLauncher(std::uint64_t stores_seed) : stores_seed_(stores_seed) {}
  ~HostLauncher() override { Wait().IgnoreError(); }

  absl::StatusOr<void*> Map(const void* host, std::size_t, MappedMemory) override {
    return const_cast<void*>(host);
  }
  void Unmap() override {}
  absl::StatusOr<SharedMemory> AllocateShared(std::size_t length) override {
    void* const memory = Allocate(length);
    return SharedMemory{memory, memory};
  }
  absl::StatusOr<void*> AllocateScratch(std::size_t length) override { return Allocate(length); }
  absl::StatusOr<unsigned char*> Reach(const std::byte* address, std::size_t length) override {
    const std::shared_ptr<HostMemory> memory = HostMemory::Find(address, length);
    if (memory == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(length, " B of a kernel's are not memory of a stand-in GPU"));
    }
    return reinterpret_cast<unsigned char*>(memory->Seen(address));
  }
  absl::Status ReachPeer(Launcher&) override { return absl::OkStatus(); }
  absl::Status Launch(Kernel kernel, Grid grid, const void* arguments) override;
  absl::Status Wait() override {
    teams_.reset();
    return absl::OkStatus();
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  void* Allocate(std::size_t length) {
    allocated_.push_back(std::vector<Line>(length / sizeof(Line) + 1));
    return allocated_.back().data();
  }

  std::vector<std::vector<Line>> allocated_;
  std::vector<Line> arguments_;
  const std::uint64_t stores_seed_;
  std::optional<HostTeams> teams_;
};

absl::Status HostLauncher::Launch(Kernel kernel, Grid grid, const void* arguments) {
  if (teams_.has_value()) return absl::FailedPreconditionError("launch: a kernel is running");
  if (grid.blocks == 0 || grid.threads == 0 ||
      std::uint64_t{grid.blocks} * grid.threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("launch: ", grid.blocks, " blocks of ", grid.threads,
                     " threads: the stand-in GPU has 1 to ", kMostThreads, " in all"));
  }
  const std::size_t length = ArgumentBytes(kernel);
  arguments_.resize(length / sizeof(Line) + 1);
  std::memcpy(arguments_.data(), arguments, length);
  teams_.emplace(grid, stores_seed_,
                 [this, kernel](HostTeam& team) { RunKernel(kernel, arguments_.data(), team); });
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Launcher> OpenHostLauncher(std::uint64_t stores_seed) {
  return std::make_unique<HostLauncher>(stores_seed);
}

}  // namespace drydock::gpu::gda
