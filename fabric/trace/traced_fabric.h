// A recorder above any fabric: the simulator, a software provider of libfabric, or real EFA.
//
//   Recorder recorder({.info = ..., .capacity = 1 << 20});
//   fabric = OpenTracedFabric(std::move(fabric), {.recorder = &recorder, .node = "client"});
//
// It records posts, doorbells (one for each call that had something accepted), polls that found
// something, completions, resumes of coroutines (fabric/async), and which objects are opened and
// closed. Powers go through untouched, except tagged messages, whose posts are recorded too.

#ifndef DRYDOCK_FABRIC_TRACE_TRACED_FABRIC_H_
#define DRYDOCK_FABRIC_TRACE_TRACED_FABRIC_H_

#include <memory>
#include <string>

#include "drydock/fabric/capture/payload.h"
#include "drydock/fabric/fabric.h"
#include "drydock/fabric/trace/recorder.h"

namespace drydock::fabric::trace {

struct TracedFabricOptions {
  // Outlives the fabric and everything that is opened from it. Null: nothing is recorded.
  Recorder* recorder = nullptr;
  std::string node;  // the machine's name
  // Each post is a work request of a simulated device whose world is recorded as well
  // (sim/tracing): completions are then the device's to record.
  bool device_completes = false;
  // Captures the bytes of operations, for a replay; null: none are. Outlives all as well.
  capture::Payload* payload = nullptr;
};

// What it is: `wrapped`, observed. Ownership, threads, blocking: as the wrapped fabric's. Without a
// recorder it is the wrapped fabric itself.
std::unique_ptr<Fabric> OpenTracedFabric(std::unique_ptr<Fabric> wrapped,
                                         const TracedFabricOptions& options);

}  // namespace drydock::fabric::trace

#endif  // DRYDOCK_FABRIC_TRACE_TRACED_FABRIC_H_
