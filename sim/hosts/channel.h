// Messages to and from one incarnation of another process, however they travel.

#ifndef DRYDOCK_SIM_HOSTS_CHANNEL_H_
#define DRYDOCK_SIM_HOSTS_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace drydock::sim {

// None of its functions waits. Not thread-safe: belongs to the world of this process.
class Channel {
 public:
  enum class State : std::uint8_t {
    kSound,
    kGarbage,  // the other process has written nonsense: it is not to be believed any more
    kEnded,    // nothing passes any more
  };

  virtual ~Channel() = default;

  // Where a message of `bytes` goes; null: there is no room now. It leaves with Publish. REQUIRES:
  // bytes > 0.
  virtual std::byte* Reserve(std::size_t bytes) = 0;
  // The reserved message goes to the other process, which wakes up.
  virtual void Publish() = 0;
  // Whether everything that was published has arrived.
  virtual bool drained() const = 0;

  // The oldest message that has come; false: there is none. Its bytes stay until Release; where
  // memory is shared, the writer may still change them: copy fields before checking them.
  virtual bool Next(std::span<const std::byte>& message) = 0;
  // REQUIRES: Next returned a message.
  virtual void Release() = 0;

  // To be asked after Next was false: messages that came before the end count.
  virtual State state() const = 0;
};

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_HOSTS_CHANNEL_H_
