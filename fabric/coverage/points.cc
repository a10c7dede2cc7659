#include "drydock/fabric/coverage/points.h"

#include "drydock/coro/check.h"

namespace drydock::fabric::coverage {

namespace internal {

constinit thread_local Report* watching = nullptr;

void Note(PointKind kind, std::string_view name, bool holds) {
  const auto point = watching->points.try_emplace(Point{kind, std::string(name)}).first;
  PointCount& count = point->second;
  ++(holds ? count.held : count.failed);
  count.runs = count.held > 0 ? 1 : 0;
}

}  // namespace internal

Watch::Watch(Report& report) {
  DD_CHECK(internal::watching == nullptr, "two watch the points of one thread");
  internal::watching = &report;
}

Watch::~Watch() { internal::watching = nullptr; }

}  // namespace drydock::fabric::coverage
