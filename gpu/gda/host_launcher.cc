#include "gpu/gda/host_launcher.h"

#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu/host_device/host_memory.h"

namespace gpu::gda {
namespace {

constexpr unsigned kMostThreads = 256;

// What the threads of one block share.
struct Block {
  explicit Block(unsigned threads) : barrier(static_cast<std::ptrdiff_t>(threads)) {}
  std::barrier<> barrier;
  std::uint32_t word = 0;
  std::atomic<std::uint32_t> sum{0};
  std::atomic<std::uint32_t> counts[3]{};
};

// One thread, as kernels.h sees it.
class HostTeam {
 public:
  HostTeam(Block& block, unsigned number, Grid grid, unsigned rank)
      : block_(block), number_(number), grid_(grid), rank_(rank) {}

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return grid_.threads; }
  std::uint32_t block() const { return number_; }
  std::uint32_t blocks() const { return grid_.blocks; }
  void Sync() { block_.barrier.arrive_and_wait(); }
  std::uint32_t Broadcast(std::uint32_t value) {
    if (rank_ == 0) block_.word = value;
    Sync();
    const std::uint32_t all = block_.word;
    Sync();  // before the next one
    return all;
  }
  std::uint32_t Count(bool value) {
    // Three in turn: the one after the next is cleared while nobody uses it.
    std::atomic<std::uint32_t>& count = block_.counts[round_ % 3];
    if (value) ++count;
    Sync();
    const std::uint32_t all = count;
    if (rank_ == 0) block_.counts[(round_ + 2) % 3] = 0;
    ++round_;
    return all;
  }
  std::uint32_t Sum(std::uint32_t value) {
    block_.sum += value;
    Sync();
    return block_.sum;
  }

 private:
  Block& block_;
  const unsigned number_;
  const Grid grid_;
  const unsigned rank_;
  unsigned round_ = 0;
};

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
  }
}

class HostLauncher final : public Launcher {
 public:
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
  absl::Status Launch(Kernel kernel, Grid grid, const void* arguments) override;
  absl::Status Wait() override {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    blocks_.clear();
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
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::thread> threads_;
};

absl::Status HostLauncher::Launch(Kernel kernel, Grid grid, const void* arguments) {
  if (!threads_.empty()) return absl::FailedPreconditionError("launch: a kernel is running");
  if (grid.blocks == 0 || grid.threads == 0 ||
      std::uint64_t{grid.blocks} * grid.threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("launch: ", grid.blocks, " blocks of ", grid.threads,
                     " threads: the stand-in GPU has 1 to ", kMostThreads, " in all"));
  }
  const std::size_t length = ArgumentBytes(kernel);
  arguments_.resize(length / sizeof(Line) + 1);
  std::memcpy(arguments_.data(), arguments, length);
  for (unsigned number = 0; number < grid.blocks; ++number) {
    blocks_.push_back(std::make_unique<Block>(grid.threads));
    for (unsigned rank = 0; rank < grid.threads; ++rank) {
      threads_.emplace_back([this, kernel, number, grid, rank, block = blocks_.back().get()] {
        HostTeam team(*block, number, grid, rank);
        RunKernel(kernel, arguments_.data(), team);
      });
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Launcher> OpenHostLauncher() { return std::make_unique<HostLauncher>(); }

}  // namespace gpu::gda
