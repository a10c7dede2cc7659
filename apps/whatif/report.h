// What the program says: of predictions, and of predictions beside published figures.

#ifndef DRYDOCK_APPS_WHATIF_REPORT_H_
#define DRYDOCK_APPS_WHATIF_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "drydock/apps/common/report/output_flags.h"
#include "drydock/apps/whatif/question.h"
#include "drydock/sim/model/predictor.h"
#include "drydock/sim/model/published.h"

namespace drydock::apps::whatif {

struct Answer {
  Question question;
  std::vector<sim::model::Prediction> predictions;  // of each workload
};

// kInvalidArgument, kUnimplemented: the machine does not allow the workload.
absl::StatusOr<Answer> Predict(Question question);

std::string Render(const Answer& answer, OutputForm form);
std::string ToSvg(const Answer& answer);

// Published figures of a machine, each beside its prediction.
struct Comparison {
  struct Row {
    const sim::model::PublishedFigure* published;
    sim::model::Prediction prediction;

    double deviation() const { return prediction.overall_gbps / published->gbps - 1; }
    // What the figure is for: "fitted"; "checked", for those that the profile was not fitted to;
    // "missed", for those of them that are off by more than sim::model::kTolerance. Static storage.
    const char* verdict() const;
  };
  const sim::Profile* profile = nullptr;
  std::vector<Row> rows;
};

// kNotFound: nothing was published of this machine.
absl::StatusOr<Comparison> Compare(const sim::Profile& profile);

std::string Render(const Comparison& comparison, OutputForm form);
std::string ToSvg(const Comparison& comparison);

}  // namespace drydock::apps::whatif

#endif  // DRYDOCK_APPS_WHATIF_REPORT_H_
