#include "drydock/testing/mutants/mutant_list.h"

#include <fstream>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace drydock::mutants {
namespace {

constexpr const char* kFields[] = {"name", "file", "says", "find", "replace"};

absl::Status CheckEntry(const nlohmann::json& entry) {
  const std::size_t fields = std::size(kFields) + entry.count("fact");
  if (!entry.is_object() || entry.size() != fields) {
    return absl::InvalidArgumentError(absl::StrCat("no mutant: ", entry.dump()));
  }
  if (entry.contains("fact") && (!entry["fact"].is_string() || entry["fact"] == "")) {
    return absl::InvalidArgumentError(absl::StrCat("no text 'fact': ", entry.dump()));
  }
  for (const char* field : kFields) {
    if (!entry.contains(field) || !entry[field].is_string() || entry[field] == "") {
      return absl::InvalidArgumentError(absl::StrCat("no text '", field, "': ", entry.dump()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Mutant>> LoadMutants(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  const nlohmann::json list = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return absl::InvalidArgumentError(absl::StrCat(path, ": no JSON array"));
  std::vector<Mutant> mutants;
  std::set<std::string> names;
  for (const nlohmann::json& entry : list) {
    if (absl::Status status = CheckEntry(entry); !status.ok()) return status;
    mutants.push_back({.name = entry["name"],
                       .file = entry["file"],
                       .fact = entry.value("fact", ""),
                       .says = entry["says"],
                       .find = entry["find"],
                       .replace = entry["replace"]});
    if (!names.insert(mutants.back().name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two mutants ", mutants.back().name));
    }
  }
  return mutants;
}

absl::StatusOr<std::string> Mutate(const std::vector<Mutant>& mutants, const std::string& file,
                                   std::string text) {
  for (const Mutant& mutant : mutants) {
    if (mutant.file != file) continue;
    const std::size_t place = text.find(mutant.find);
    if (place == std::string::npos || text.find(mutant.find, place + 1) != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("mutant ", mutant.name, ": its code is not in ", file, " exactly once"));
    }
    const std::string active = absl::StrCat("::drydock::mutants::Active(\"", mutant.name, "\")");
    text.replace(place, mutant.find.size(), absl::StrReplaceAll(mutant.replace, {{"$", active}}));
  }
  return absl::StrCat("#include \"drydock/testing/mutants/active.h\"\n", text);
}

}  // namespace drydock::mutants
