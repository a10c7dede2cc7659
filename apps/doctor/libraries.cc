#include "drydock/apps/doctor/libraries.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace drydock::apps::doctor {
namespace {

constexpr std::size_t kMaxLibrary = 128 << 20;  // bytes
constexpr std::size_t kMaxFolders = 256;
constexpr int kMaxIncludes = 4;  // of files in files

struct Folder {
  std::string path;
  const char* through;
  bool by_loader;
};

// Where `./efa_installer.sh` puts libfabric, and older releases of it put rdma-core.
constexpr std::array kInstallerFolders = {"/opt/amazon/efa/lib", "/opt/amazon/efa/lib64"};
// Those of ld.so(8); distributions name the folders of their architecture in ld.so.conf. Debian's
// loader knows its own without it, and small images have none.
constexpr std::array kDefaultFolders = {"/lib/x86_64-linux-gnu",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/lib64",
                                        "/usr/lib64",
                                        "/lib",
                                        "/usr/lib"};

void AddConfigured(const SystemFiles& files, const std::string& file, int depth,
                   std::vector<Folder>& folders);

// "include /etc/ld.so.conf.d/*.conf": one star, in the last part of the path.
void AddIncluded(const SystemFiles& files, absl::string_view pattern, int depth,
                 std::vector<Folder>& folders) {
  const std::size_t slash = pattern.rfind('/');
  if (slash == absl::string_view::npos || !absl::StartsWith(pattern, "/")) return;
  const absl::string_view folder = pattern.substr(0, slash);
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(pattern.substr(slash + 1), absl::MaxSplits('*', 1));
  const bool exact = !absl::StrContains(pattern, '*');
  for (const std::string& name : files.List(folder)) {
    const bool matches = exact ? name == ends.first
                               : name.size() >= ends.first.size() + ends.second.size() &&
                                     absl::StartsWith(name, ends.first) &&
                                     absl::EndsWith(name, ends.second);
    if (matches) AddConfigured(files, absl::StrCat(folder, "/", name), depth + 1, folders);
  }
}

// The folders of ld.so.conf; the loader's cache, which it is made into, has them in this order.
void AddConfigured(const SystemFiles& files, const std::string& file, int depth,
                   std::vector<Folder>& folders) {
  const absl::StatusOr<std::string> text = files.Read(file);
  if (!text.ok() || depth > kMaxIncludes) return;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (folders.size() >= kMaxFolders) return;
    if (absl::ConsumePrefix(&line, "include ") || absl::ConsumePrefix(&line, "include\t")) {
      AddIncluded(files, absl::StripAsciiWhitespace(line), depth, folders);
    } else if (absl::StartsWith(line, "/")) {
      folders.push_back({std::string(line), "ld.so.conf", true});
    }
  }
}

std::vector<Folder> Folders(const SystemFiles& files, absl::string_view library_path) {
  std::vector<Folder> folders;
  for (const absl::string_view path : absl::StrSplit(library_path, absl::ByAnyChar(":;"))) {
    if (folders.size() >= kMaxFolders / 2) break;
    if (absl::StartsWith(path, "/")) {
      folders.push_back({std::string(path), "LD_LIBRARY_PATH", true});
    }
  }
  AddConfigured(files, "/etc/ld.so.conf", 0, folders);
  for (const char* path : kDefaultFolders) folders.push_back({path, "the default folders", true});
  for (const char* path : kInstallerFolders) {
    folders.push_back({path, "the EFA installer's folder", false});
  }
  return folders;
}

std::string FolderOf(absl::string_view file) {
  return std::string(file.substr(0, file.rfind('/')));
}

// "Version: 1.17.0" of the .pc file that is installed beside the library.
std::optional<Version> PackageConfigVersion(const SystemFiles& files, const LibraryCopy& copy,
                                            absl::string_view module) {
  for (const std::string& folder : {FolderOf(copy.path), FolderOf(copy.file)}) {
    const auto text = files.Read(absl::StrCat(folder, "/pkgconfig/", module, ".pc"));
    if (!text.ok()) continue;
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      if (absl::ConsumePrefix(&line, "Version:")) {
        return ParseVersion(absl::StripAsciiWhitespace(line));
      }
    }
  }
  return std::nullopt;
}

// Debian's and Ubuntu's list of packages: stanzas that begin with the name and have a version.
std::optional<Version> DebianVersion(const SystemFiles& files, absl::string_view package) {
  constexpr std::size_t kMaxStatus = 64 << 20;
  const auto text = files.Read("/var/lib/dpkg/status", kMaxStatus);
  if (!text.ok()) return std::nullopt;
  const std::string start = absl::StrCat("Package: ", package, "\n");
  std::size_t at = absl::StartsWith(*text, start) ? 0 : text->find("\n" + start);
  if (at == std::string::npos) return std::nullopt;
  const absl::string_view rest = absl::string_view(*text).substr(at);
  const absl::string_view stanza = rest.substr(0, rest.find("\n\n"));
  const std::size_t version = stanza.find("\nVersion: ");
  if (version == absl::string_view::npos) return std::nullopt;
  absl::string_view value = stanza.substr(version + 10);
  value = value.substr(0, value.find('\n'));
  const std::size_t epoch = value.find(':');  // "1:2.0-1"
  return ParseVersion(epoch == absl::string_view::npos ? value : value.substr(epoch + 1));
}

// The names of packages that the EFA installer leaves, all in one line: there is
// "libfabric-aws-2.1.0amzn5.0-1.amzn2023.x86_64", or Debian's "libfabric1-aws_2.1.0amzn5.0_amd64".
std::optional<Version> InstallerVersion(const SystemFiles& files) {
  const auto text = files.Read("/opt/amazon/efa_installed_packages");
  if (!text.ok()) return std::nullopt;
  for (const absl::string_view package : absl::StrSplit(*text, absl::ByAnyChar(" \n"))) {
    if (!absl::StartsWith(package, "libfabric")) continue;
    // The release begins behind a sign; a digit in the name does not.
    for (std::size_t i = 1; i < package.size(); ++i) {
      const bool begins = package[i - 1] == '-' || package[i - 1] == '_';
      if (begins && absl::ascii_isdigit(static_cast<unsigned char>(package[i]))) {
        return ParseVersion(package.substr(i));
      }
    }
  }
  return std::nullopt;
}

// The least release that a library with these symbols can be: libfabric's ABI 1.8 came with 2.0,
// 1.7 with 1.20 (ofiwg/libfabric libfabric.map.in, man/fabric.7.md).
std::optional<Version> LeastLibfabric(const ElfLibrary& elf) {
  if (elf.versions.count("FABRIC_1.8") > 0) return Version{2, 0, 0};
  if (elf.versions.count("FABRIC_1.7") > 0) return Version{1, 20, 0};
  return std::nullopt;
}

std::optional<Version> LibfabricVersion(const SystemFiles& files, const LibraryCopy& copy) {
  std::optional<Version> version = PackageConfigVersion(files, copy, "libfabric");
  if (!version.has_value()) {
    version = absl::StartsWith(copy.path, "/opt/amazon/") ? InstallerVersion(files)
                                                          : DebianVersion(files, "libfabric1");
  }
  return version.has_value() ? version : LeastLibfabric(copy.elf);
}

// rdma-core's libraries have its release in their file's name: libefa.so.1.2.44.0 is of 44.0.
std::optional<Version> RdmaCoreVersion(absl::string_view file) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(file.substr(file.rfind('/') + 1), '.');
  constexpr std::size_t kRelease = 4;  // libefa, so, 1, 2, 44, 0
  if (parts.size() <= kRelease) return std::nullopt;
  return ParseVersion(absl::StrCat(parts[kRelease], ".", parts.size() > 5 ? parts[5] : "0"));
}

LibraryCopy Examine(const SystemFiles& files, const Folder& folder, const std::string& path,
                    const std::string& file) {
  LibraryCopy copy;
  copy.path = path;
  copy.file = file;
  copy.through = folder.through;
  copy.by_loader = folder.by_loader;
  const absl::StatusOr<std::string> bytes = files.Read(file, kMaxLibrary);
  if (!bytes.ok()) {
    copy.problem = std::string(bytes.status().message());
    return copy;
  }
  absl::StatusOr<ElfLibrary> elf = ReadElfLibrary(*bytes);
  if (!elf.ok()) {
    copy.problem = absl::StrCat(path, ": ", elf.status().message());
    return copy;
  }
  copy.elf = *std::move(elf);
  copy.version =
      absl::StrContains(path, "libfabric") ? LibfabricVersion(files, copy) : RdmaCoreVersion(file);
  return copy;
}

}  // namespace

std::vector<LibraryCopy> FindLibrary(const SystemFiles& files, absl::string_view library_path,
                                     absl::string_view name) {
  std::vector<LibraryCopy> copies;
  for (const Folder& folder : Folders(files, library_path)) {
    const std::string path = absl::StrCat(folder.path, "/", name);
    const absl::StatusOr<std::string> file = files.Resolve(path);
    if (!file.ok()) continue;
    const bool known = std::any_of(copies.begin(), copies.end(),
                                   [&](const LibraryCopy& copy) { return copy.file == *file; });
    if (!known) copies.push_back(Examine(files, folder, path, *file));
  }
  return copies;
}

const LibraryCopy* LoadedCopy(const std::vector<LibraryCopy>& copies) {
  const auto found = std::find_if(copies.begin(), copies.end(),
                                  [](const LibraryCopy& copy) { return copy.by_loader; });
  return found == copies.end() ? nullptr : &*found;
}

}  // namespace drydock::apps::doctor
