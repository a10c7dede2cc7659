// A program that finds the record of an operation by its completion's context.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drydock/apps/museum/exhibits.h"
#include "drydock/apps/museum/stage.h"

namespace drydock::museum {
namespace {

using sim::explore::Outcome;
using sim::explore::Parameter;
using sim::explore::Trial;

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"writes", 8, 1, 64, "every second one reports its end"},
};
// One write in a hundred fails, as when the target's region was closed.
constexpr std::string_view kFaults =
    R"({"rules": [{"fault": "remote_address", "when": {"operation": "write", "probability": 0.01}}]})";

struct Record {
  bool ended = false;
};

// The record that a context points to. One that points nowhere ends the program, as a null pointer
// does.
Record& Follow(std::vector<Record>& records, const fabric::Completion& completion) {
  if (!completion.context.has_value()) std::abort();
  return records[static_cast<std::size_t>(*completion.context)];
}

Outcome Run(Trial& trial, Twin twin) {
  auto pair = OpenPair(trial);
  if (!pair.ok()) return Outcome::Of(pair.status());
  Rail& sender = pair->a->rail();
  std::vector<Record> records(trial.parameter("writes"));
  std::uint64_t left = 0;
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    fabric::WriteRequest request{.source = sender.Local(64 * i, 64),
                                 .target = pair->b->rail().Remote(64 * i),
                                 .peer = pair->to_b};
    if (i % 2 == 1 || records.size() == 1) {  // the others are of no interest, unless they fail
      request.context = fabric::Context{i};
      ++left;
    }
    const auto error = sender.endpoint->Write(request);
    if (error != fabric::ErrorCode::kOk) return Outcome::Of(absl::InternalError("not posted"));
  }
  absl::Status status;
  while (left > 0) {
    bool heard = false;
    while (const auto completion = sender.Read()) {
      heard = true;
      if (!completion->ok()) status = Failed(sender, *completion, "write");
      // REPAIRED: the failure of an operation without a context has none either.
      if (twin == Twin::kRepaired && !completion->context.has_value()) continue;
      // WRONG: every completion has the context of a record.
      Follow(records, *completion).ended = true;
      --left;
    }
    if (!heard && !LetTimePass(trial)) break;
  }
  return Outcome::Of(status);
}

}  // namespace

const Exhibit& NullContext() {
  static const Exhibit exhibit = {
      .name = "null-context",
      .project = "ofiwg/libfabric",
      .origin = "pull requests 12208 and 10771",
      .kind = "failures",
      .cause = "a failure that belongs to no request of the program is looked up by its context",
      .verdict = sim::explore::Verdict::kCrash,
      .faults = kFaults,
      .parameters = kParameters,
      .run = &Run,
  };
  return exhibit;
}

}  // namespace drydock::museum
