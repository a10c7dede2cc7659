#include "drydock/gpu/topology/cpu_list.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "drydock/coro/status_macros.h"

namespace drydock::gpu::topology {
namespace {

constexpr int kWordCpus = 32;

absl::Status Refuse(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no ", what, " of CPUs"));
}

absl::StatusOr<int> ParseCpu(absl::string_view number, absl::string_view list) {
  int cpu = 0;
  if (!absl::SimpleAtoi(number, &cpu) || cpu < 0 || cpu >= kMaxCpus) return Refuse("list", list);
  return cpu;
}

// First and last of each run of consecutive numbers.
std::vector<std::pair<int, int>> Runs(const CpuList& cpus) {
  std::vector<std::pair<int, int>> runs;
  for (const int cpu : cpus) {
    if (!runs.empty() && runs.back().second + 1 == cpu) {
      runs.back().second = cpu;
    } else {
      runs.emplace_back(cpu, cpu);
    }
  }
  return runs;
}

absl::StatusOr<std::uint32_t> ParseWord(absl::string_view word, absl::string_view mask) {
  std::uint32_t bits = 0;
  if (word.empty()) return bits;
  if (!absl::ConsumePrefix(&word, "0x") || word.empty() || word.size() > 8 ||
      !absl::SimpleHexAtoi(word, &bits)) {
    return Refuse("mask", mask);
  }
  return bits;
}

}  // namespace

std::string FormatCpuList(const CpuList& cpus) {
  return absl::StrJoin(Runs(cpus), ",", [](std::string* out, const std::pair<int, int>& run) {
    absl::StrAppend(out, run.first);
    if (run.second != run.first) absl::StrAppend(out, "-", run.second);
  });
}

absl::StatusOr<CpuList> ParseCpuList(absl::string_view text) {
  CpuList cpus;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    ASSIGN_OR_RETURN(const int first, ParseCpu(ends.first, text));
    ASSIGN_OR_RETURN(const int last,
                     ParseCpu(absl::StrContains(part, '-') ? ends.second : ends.first, text));
    if (first > last) return Refuse("list", text);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string FormatCpuMask(const CpuList& cpus) {
  std::vector<std::uint32_t> words(cpus.empty() ? 1 : cpus.back() / kWordCpus + 1);
  for (const int cpu : cpus) words[cpu / kWordCpus] |= std::uint32_t{1} << (cpu % kWordCpus);
  return absl::StrJoin(words.rbegin(), words.rend(), ",", [](std::string* out, std::uint32_t word) {
    absl::StrAppendFormat(out, "0x%08x", word);
  });
}

absl::StatusOr<CpuList> ParseCpuMask(absl::string_view text) {
  std::vector<absl::string_view> words = absl::StrSplit(text, ',');
  if (words.size() > kMaxCpus / kWordCpus) return Refuse("mask", text.substr(0, 40));
  std::reverse(words.begin(), words.end());
  CpuList cpus;
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSIGN_OR_RETURN(const std::uint32_t bits, ParseWord(words[i], text));
    for (int bit = 0; bit < kWordCpus; ++bit) {
      if ((bits >> bit) & 1) cpus.push_back(static_cast<int>(i) * kWordCpus + bit);
    }
  }
  return cpus;
}

std::vector<CpuList> SplitCpus(const CpuList& cpus, std::size_t parts) {
  std::vector<CpuList> shares(parts);
  if (parts == 0) return shares;
  CpuList scattered;  // of runs that have no CPU for each part
  for (const auto& [first, last] : Runs(cpus)) {
    const std::size_t length = static_cast<std::size_t>(last - first) + 1;
    for (std::size_t i = 0; i < length; ++i) {
      const int cpu = first + static_cast<int>(i);
      (length < parts ? scattered : shares[i * parts / length]).push_back(cpu);
    }
  }
  for (std::size_t i = 0; i < scattered.size(); ++i) {
    shares[i * parts / scattered.size()].push_back(scattered[i]);
  }
  for (CpuList& share : shares) std::sort(share.begin(), share.end());
  for (std::size_t i = 0; i < parts && !cpus.empty(); ++i) {
    if (shares[i].empty()) shares[i].push_back(cpus[i * cpus.size() / parts]);
  }
  return shares;
}

}  // namespace drydock::gpu::topology
