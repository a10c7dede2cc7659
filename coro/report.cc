#include "drydock/coro/report.h"

#include <cstdio>
#include <utility>

namespace drydock::coro {
namespace {

thread_local constinit const ReportTo* youngest = nullptr;

}  // namespace

ReportTo::ReportTo(Reporter reporter) : reporter_(std::move(reporter)), older_(youngest) {
  youngest = this;
}

ReportTo::~ReportTo() { youngest = older_; }

void ReportToThread(const std::string& text) {
  if (youngest != nullptr) {
    youngest->reporter_(text);
  } else {
    std::fputs(text.c_str(), stderr);
  }
}

}  // namespace drydock::coro
