#include "drydock/sim/verbs/findings.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "drydock/fabric/trace/json_text.h"
#include "drydock/sim/checks/checks.h"
#include "drydock/sim/checks/finding.h"
#include "drydock/sim/verbs/completion_queue.h"
#include "drydock/sim/verbs/objects.h"
#include "drydock/sim/verbs/queue_pair.h"
#include "drydock/sim/verbs/telling.h"
#include "drydock/sim/verbs/trace.h"

namespace drydock::sim::verbs {
namespace {

constexpr int kMostFrames = 32;

std::string NameOf(void* address, const Dl_info& info) {
  const auto offset = [address](const void* from) {
    return absl::StrCat("+0x",
                        absl::Hex(static_cast<char*>(address) - static_cast<const char*>(from)));
  };
  if (info.dli_sname != nullptr) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), std::free);
    return absl::StrCat(plain == nullptr ? info.dli_sname : plain.get(), offset(info.dli_saddr));
  }
  const char* const slash = std::strrchr(info.dli_fname, '/');
  return absl::StrCat(slash == nullptr ? info.dli_fname : slash + 1, offset(info.dli_fbase));
}

std::string ProcessName(int pid) {
  return absl::StrCat("process ", pid, " (", program_invocation_short_name, ")");
}

std::string Times(std::uint64_t times) {
  return absl::StrCat(times, times == 1 ? " time" : " times");
}

}  // namespace

std::vector<std::string> CallStack() {
  std::array<void*, kMostFrames> addresses;
  const int count = backtrace(addresses.data(), kMostFrames);
  Dl_info us{};
  dladdr(reinterpret_cast<void*>(&CallStack), &us);
  std::vector<std::string> calls;
  for (void* address : std::span(addresses).first(static_cast<std::size_t>(count))) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) continue;
    if (info.dli_fbase == us.dli_fbase && calls.empty()) continue;
    calls.push_back(NameOf(address, info));
  }
  return calls;
}

Findings::Findings(std::string file) : file_(std::move(file)), pid_(getpid()) {
  CallStack();  // the first one loads a library
}

bool Findings::mine() const { return getpid() == pid_; }

void Findings::Watch(Host& host) {
  host_ = &host;
  indices_.clear();
  Checks& checks = host.world().checks();
  // A wr_id may be any number.
  checks.rules().contexts_are_names = false;
  checks.rules().refused_messages_matter = true;
  checks.OnFinding([this](const Finding& finding) { Add(finding); });
}

// A machine that this process was before may have broken the same rule at the same place.
void Findings::Add(const Finding& finding) {
  const auto known = std::find_if(found_.begin(), found_.end(), [&](const Found& found) {
    return found.finding.check == finding.check && found.finding.where == finding.where &&
           found.finding.queue == finding.queue;
  });
  indices_.push_back(static_cast<std::size_t>(known - found_.begin()));
  if (known != found_.end()) {
    known->earlier = known->finding.times;
    return;
  }
  Found& found = found_.emplace_back();
  found.finding = finding;
  if (!ended_ && IsBrokenByACall(finding.check)) found.stack = CallStack();
  std::string line =
      absl::StrCat("finding: ", ProcessName(pid_), ": ", std::string(Name(finding.check)), ": ",
                   finding.where, ": ", finding.what);
  if (!found.stack.empty())
    absl::StrAppend(&line, "; called by ", absl::StrJoin(found.stack, " < "));
  Say(line);
}

void Findings::CountAgain() {
  const std::span<const Finding> now = host_->world().findings();
  for (std::size_t i = 0; i < now.size(); ++i) {
    Found& found = found_[indices_[i]];
    found.finding.times = found.earlier + now[i].times;
  }
}

void Findings::LookForWhatIsLeft() {
  for (const Context* context : contexts_) {
    for (QueuePair* queue_pair : context->queue_pairs) {
      if (queue_pair != nullptr) TellUnrungAtEnd(*queue_pair);
    }
    for (const Queue* queue : context->queues) TellQueueClosing(*queue, 0);
  }
  host_->world().CheckEnd();
}

void Findings::Leave(End end) {
  if (host_ == nullptr) return;
  ended_ = end != End::kLeaves;
  if (end != End::kFails) LookForWhatIsLeft();
  CountAgain();
  host_->world().checks().OnFinding({});
  host_ = nullptr;
  contexts_.clear();
}

void Findings::Report() {
  if (host_ != nullptr) CountAgain();
  if (std::exchange(reported_, true)) return;
  if (!file_.empty()) Write();
  if (found_.empty()) return;
  std::map<std::string, std::uint64_t> times;  // by rule
  for (const Found& found : found_) {
    times[std::string(Name(found.finding.check))] += found.finding.times;
  }
  Say(absl::StrCat("findings: ", ProcessName(pid_), ": ",
                   absl::StrJoin(times, ", ", [](std::string* out, const auto& rule) {
                     absl::StrAppend(out, rule.first, " (", Times(rule.second), ")");
                   })));
}

void Findings::Write() const {
  using fabric::trace::JsonMembers;
  using fabric::trace::JsonString;
  const std::string path = TraceFileOf(file_, pid_);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << "{"
      << JsonMembers().Number("process", pid_).Text("program", program_invocation_short_name).str()
      << ",\"findings\":[";
  const char* separator = "\n";
  for (const Found& found : found_) {
    const Finding& finding = found.finding;
    JsonMembers members;
    members.Text("check", Name(finding.check)).Text("where", finding.where);
    members.Unsigned("queue", finding.queue).Text("what", finding.what);
    members.Unsigned("times", finding.times).Number("first_ns", finding.first.count());
    const std::string stack =
        absl::StrJoin(found.stack, ",", [](std::string* text, const std::string& call) {
          absl::StrAppend(text, JsonString(call));
        });
    members.Raw("stack", absl::StrCat("[", stack, "]"));
    out << std::exchange(separator, ",\n") << "{" << members.str() << "}";
  }
  out << "]}\n";
  out.close();
  if (!out) Say(absl::StrCat("findings ", path, ": writing failed"));
}

}  // namespace drydock::sim::verbs
