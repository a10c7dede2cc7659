#include "drydock/gpu/gda/launcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "drydock/gpu/gda/cuda_launcher.h"
#include "drydock/gpu/gda/device/kernels.h"
#include "drydock/gpu/gda/host_launcher.h"

namespace drydock::gpu::gda {
namespace {

template <typename T>
void MapPiece(Launcher& launcher, T*& address, std::size_t bytes, MappedMemory memory,
              const char* what, std::vector<MappedPiece>& pieces) {
  if (address == nullptr) return;
  const absl::StatusOr<void*> mapped = launcher.Map(address, bytes, memory);
  pieces.push_back({what, bytes, address, mapped.ok() ? *mapped : nullptr, mapped.status()});
  if (mapped.ok()) address = static_cast<T*>(*mapped);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Launcher>> OpenLauncher(Device& device, std::uint64_t stores_seed) {
  if (device.kind() == fabric::MemoryKind::kCuda) return OpenCudaLauncher(device.ordinal());
  return OpenHostLauncher(stores_seed);
}

std::vector<MappedPiece> MapPieces(Launcher& launcher, QueueView& view, MappedMemory nic) {
  constexpr MappedMemory kHost = MappedMemory::kHost;
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  std::vector<MappedPiece> pieces;
  const auto map = [&](auto*& address, std::size_t bytes, MappedMemory memory, const char* what) {
    MapPiece(launcher, address, bytes, memory, what, pieces);
  };
  const auto bytes = [](const auto& ring) {
    return std::size_t{ring.entry_count} * ring.entry_bytes;
  };
  map(view.send.entries, bytes(view.send), nic, "the send ring");
  map(view.send.bell.word, kWord, nic, "the send doorbell");
  map(view.send.bell.taken, kWord, kHost, "what the send doorbell took");
  map(view.send_done.entries, bytes(view.send_done), kHost, "the send completion ring");
  map(view.receive.entries, bytes(view.receive), kHost, "the receive ring");
  map(view.receive.bell.word, kWord, nic, "the receive doorbell");
  map(view.receive.bell.taken, kWord, kHost, "what the receive doorbell took");
  map(view.receive_done.entries, bytes(view.receive_done), kHost, "the receive completion ring");
  return pieces;
}

absl::StatusOr<QueueView> MapQueue(Launcher& launcher, const QueueView& view, MappedMemory nic) {
  QueueView mapped = view;
  for (const MappedPiece& piece : MapPieces(launcher, mapped, nic)) {
    if (piece.status.ok()) continue;
    return absl::Status(piece.status.code(),
                        absl::StrCat("map ", piece.what, ": ", piece.status.message()));
  }
  return mapped;
}

std::size_t ArgumentBytes(Kernel kernel) {
  switch (kernel) {
    case Kernel::kPut:
      return sizeof(PutArguments);
    case Kernel::kWriteLoop:
    case Kernel::kTeamWrites:
    case Kernel::kBareLoop:
      return sizeof(LoopArguments);
    case Kernel::kBlockWrites:
      return sizeof(BlockArguments);
    case Kernel::kFillBytes:
    case Kernel::kCountWrong:
      return sizeof(BytesArguments);
    case Kernel::kPortPuts:
      return sizeof(PortPutsArguments);
    case Kernel::kPingPong:
      return sizeof(PingPongArguments);
    case Kernel::kMoeDispatch:
    case Kernel::kMoeCombine:
      return sizeof(MoeArguments);
    case Kernel::kMoeDispatchCopies:
    case Kernel::kMoeCombineCopies:
      return sizeof(MoeCopiesArguments);
  }
  return 0;
}

}  // namespace drydock::gpu::gda
