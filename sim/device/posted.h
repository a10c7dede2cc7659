// A request as a program posted it: enough to know it again, and to name it to a person.

#ifndef DRYDOCK_SIM_DEVICE_POSTED_H_
#define DRYDOCK_SIM_DEVICE_POSTED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "drydock/fabric/endpoint.h"
#include "drydock/fabric/operation.h"

namespace drydock::sim {

// Addresses are for comparing only: they differ from run to run and never enter a text.
struct Posted {
  fabric::OperationKind kind = fabric::OperationKind::kSend;
  bool signalled = false;  // it has a context
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  fabric::Context context{};
  fabric::Peer peer = fabric::kNoPeer;  // receives: none
  std::uint64_t local = 0;              // address of the first segment
  std::uint64_t length = 0;             // bytes of all segments
  std::uint64_t remote = 0;             // address and key: writes and reads
  std::uint64_t key = 0;

  static Posted Of(const fabric::SendRequest& request) {
    Posted posted = Common(fabric::OperationKind::kSend, request.buffer, request.context);
    for (const fabric::LocalBuffer& more : request.more) posted.length += more.length_bytes;
    posted.has_immediate = request.immediate.has_value();
    posted.immediate = request.immediate.value_or(0);
    posted.peer = request.peer;
    return posted;
  }
  static Posted Of(const fabric::RecvRequest& request) {
    Posted posted = Common(fabric::OperationKind::kReceive, request.buffer, request.context);
    for (const fabric::LocalBuffer& more : request.more) posted.length += more.length_bytes;
    return posted;
  }
  static Posted Of(const fabric::WriteRequest& request) {
    Posted posted = Common(fabric::OperationKind::kWrite, request.source, request.context);
    posted.has_immediate = request.immediate.has_value();
    posted.immediate = request.immediate.value_or(0);
    posted.peer = request.peer;
    posted.remote = request.target.address;
    posted.key = request.target.key;
    return posted;
  }
  static Posted Of(const fabric::ReadRequest& request) {
    Posted posted = Common(fabric::OperationKind::kRead, request.target, request.context);
    posted.peer = request.peer;
    posted.remote = request.source.address;
    posted.key = request.source.key;
    return posted;
  }

  // Whether both are the same request but for their contexts and their local memory.
  bool AsksTheSame(const Posted& other) const {
    return kind == other.kind && peer == other.peer && remote == other.remote && key == other.key &&
           length == other.length && has_immediate == other.has_immediate &&
           immediate == other.immediate;
  }

 private:
  static Posted Common(fabric::OperationKind kind, const fabric::LocalBuffer& buffer,
                       const std::optional<fabric::Context>& context) {
    Posted posted;
    posted.kind = kind;
    posted.signalled = context.has_value();
    if (posted.signalled) posted.context = *context;
    posted.local = reinterpret_cast<std::uint64_t>(buffer.data);
    posted.length = buffer.length_bytes;
    return posted;
  }
};

// "write of 64 bytes with context 7 and immediate 3". The same in every run with the same seed,
// unless the program made its context of an address: such a context is not told.
std::string ToText(const Posted& posted);

}  // namespace drydock::sim

#endif  // DRYDOCK_SIM_DEVICE_POSTED_H_
