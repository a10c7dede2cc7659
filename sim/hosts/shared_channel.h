// A channel to another process of this computer: a ring in shared memory in each direction, and bells.

#ifndef DRYDOCK_SIM_HOSTS_SHARED_CHANNEL_H_
#define DRYDOCK_SIM_HOSTS_SHARED_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drydock/sim/hosts/channel.h"
#include "drydock/sim/hosts/directory.h"
#include "drydock/sim/hosts/ring.h"
#include "drydock/sim/hosts/shared_file.h"

namespace drydock::sim {

class SharedChannel final : public Channel {
 public:
  // The directory outlives it. Each ring is made by its writer, when there is something to say.
  SharedChannel(Directory& directory, std::uint8_t slot, std::uint32_t incarnation)
      : directory_(directory), slot_(slot), incarnation_(incarnation) {}

  std::byte* Reserve(std::size_t bytes) override;
  void Publish() override;
  bool drained() const override { return !out_.has_value() || out_->drained(); }
  bool Next(std::span<const std::byte>& message) override;
  void Release() override { in_->Release(); }
  State state() const override;

 private:
  bool OpenOut();
  bool OpenIn();

  Directory& directory_;
  const std::uint8_t slot_;
  const std::uint32_t incarnation_;
  SharedFile out_file_;
  std::optional<RingWriter> out_;
  SharedFile in_file_;
  std::optional<RingReader> in_;
  bool garbage_ = false;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_SHARED_CHANNEL_H_
