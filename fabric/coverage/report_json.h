// A coverage report as JSON, as files of results and `explore --json` have it.

#ifndef DRYDOCK_FABRIC_COVERAGE_REPORT_JSON_H_
#define DRYDOCK_FABRIC_COVERAGE_REPORT_JSON_H_

#include "drydock/fabric/coverage/report.h"
#include "nlohmann/json.hpp"

namespace drydock::fabric::coverage {

// {"points": [{"kind", "name", "runs", "held", "failed"}], "cells": [{"operation", "outcome",
// "nic", "count"}]}, in the report's order.
nlohmann::json ToJson(const Report& report);

}  // namespace drydock::fabric::coverage

#endif  // DRYDOCK_FABRIC_COVERAGE_REPORT_JSON_H_
