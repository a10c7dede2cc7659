#include "drydock/sim/coverage/matrix.h"

#include <cstddef>
#include <cstdint>

#include "drydock/fabric/operation.h"

namespace drydock::sim::coverage {
namespace {

using fabric::OperationKind;

constexpr std::size_t kKinds = static_cast<std::size_t>(OperationKind::kRemoteWrite) + 1;

}  // namespace

const std::vector<std::string>& OperationNames() {
  static const std::vector<std::string>& names =
      *new std::vector<std::string>{"send", "receive", "write", "read", "remote_write"};
  return names;
}

const std::vector<std::string>& OutcomeNames() {
  static const std::vector<std::string>& names =
      *new std::vector<std::string>{"ok",
                                    "flushed",
                                    "local_queue_pair",
                                    "local_unsupported",
                                    "local_address_handle",
                                    "local_key",
                                    "local_length",
                                    "remote_address",
                                    "remote_abort",
                                    "remote_queue_pair",
                                    "receiver_not_ready",
                                    "remote_length",
                                    "bad_response",
                                    "unresponsive",
                                    "unknown_peer",
                                    "unreachable",
                                    "",  // no such status
                                    "",
                                    "feature_mismatch",
                                    "other",
                                    "again"};
  return names;
}

bool IsPossible(const std::string& operation, const std::string& outcome) {
  if (outcome.empty() || outcome == "other") return false;
  if (operation == "remote_write") return outcome == "ok";
  if (operation == "receive") {
    return outcome == "ok" || outcome == "flushed" || outcome == "local_key" || outcome == "again";
  }
  const bool of_message = outcome == "remote_length" || outcome == "receiver_not_ready";
  if (operation == "read" && of_message) return false;
  // A peer takes messages from anybody.
  if (operation == "send" && outcome == "unknown_peer") return false;
  return operation == "send" ? outcome != "feature_mismatch" : outcome != "remote_length";
}

void AddMatrix(const World& world, const OutcomeCounts& counts, fabric::coverage::Report& report) {
  for (std::uint32_t i = 0; i < world.nics().size(); ++i) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      for (std::size_t outcome = 0; outcome < OutcomeCounts::kOutcomes; ++outcome) {
        const std::uint64_t count = counts.count(i, static_cast<OperationKind>(kind), outcome);
        if (count == 0) continue;
        const std::string& name = OutcomeNames()[outcome];
        report
            .cells[{OperationNames()[kind], name.empty() ? "other" : name, world.nics()[i].name}] +=
            count;
      }
    }
  }
}

}  // namespace drydock::sim::coverage
