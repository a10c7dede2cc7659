// Hears when a program acts on completions that it has read: a power of recorded completion queues.
// Other queues lack it, and the reader of a queue then pays for one test of a null pointer.

#ifndef DRYDOCK_FABRIC_TRACE_RESUME_LISTENER_H_
#define DRYDOCK_FABRIC_TRACE_RESUME_LISTENER_H_

#include <cstddef>

#include "drydock/fabric/capability.h"

namespace drydock::fabric::trace {

// Ownership and lifetime: as the queue that has the power.
class ResumeListener {
 public:
  static constexpr PowerId kPower{"fabric::trace::ResumeListener"};
  virtual ~ResumeListener() = default;

  // The coroutine that waits for the completion with this index, among those that the last Read has
  // filled, is told of it now. Threads: the queue's.
  virtual void OnResume(std::size_t index) = 0;
};

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_RESUME_LISTENER_H_
