#include "drydock/sim/explore/corpus/folder.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/keyed_random.h"
#include "drydock/coro/status_macros.h"
#include "drydock/sim/explore/capsule_json.h"

namespace drydock::sim::explore {
namespace {

std::string NameFor(const std::string& scenario, std::uint64_t number) {
  return absl::StrCat(scenario, "-", absl::Hex(number, absl::kZeroPad16), ".capsule");
}

// Not of write, where it is of write-last.
bool IsNameOf(const std::string& name, const std::string& scenario) {
  const std::string one = NameFor(scenario, 0);
  if (name.size() != one.size() || !absl::StartsWith(name, absl::StrCat(scenario, "-"))) {
    return false;
  }
  const std::string digits = name.substr(scenario.size() + 1, 16);
  return absl::EndsWith(name, ".capsule") &&
         std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit);
}

absl::Status FolderError(const std::string& folder, const std::error_code& error) {
  return absl::InvalidArgumentError(absl::StrCat(folder, ": ", error.message()));
}

// Of the whole text: runs of different plans may have one digest, and still show different things.
std::uint64_t NumberOf(const std::string& text) {
  std::uint64_t number = 0;
  for (const char byte : text) number = coro::Combine(number, static_cast<unsigned char>(byte));
  return number;
}

}  // namespace

absl::StatusOr<std::map<std::string, Capsule>> ReadCorpus(const std::string& folder,
                                                          const Scenario& scenario,
                                                          const Parameters& parameters) {
  std::map<std::string, Capsule> corpus;
  std::error_code error;
  if (!std::filesystem::exists(folder, error) && !error) return corpus;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!IsNameOf(entry->path().filename().string(), std::string(scenario.name()))) continue;
    const std::string path = entry->path().string();
    absl::StatusOr<Capsule> capsule = ReadCapsule(path);
    if (absl::IsNotFound(capsule.status())) continue;  // deleted since
    RETURN_IF_ERROR(capsule.status());
    if (capsule->run.parameters != parameters) continue;
    if (const absl::Status runs = CheckCapsule(*capsule, scenario); !runs.ok()) {
      return absl::Status(runs.code(), absl::StrCat(path, ": ", runs.message()));
    }
    corpus.emplace(path, *std::move(capsule));
  }
  if (error) return FolderError(folder, error);
  return corpus;
}

absl::StatusOr<std::string> AddToCorpus(const std::string& folder, const Capsule& capsule) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return FolderError(folder, error);
  const std::string path =
      absl::StrCat(folder, "/", NameFor(capsule.scenario, NumberOf(FormatCapsule(capsule))));
  RETURN_IF_ERROR(WriteCapsule(path, capsule));
  return path;
}

}  // namespace drydock::sim::explore
