// Trees of files that stand for machines, made by tests: a healthy instance, from which a test
// takes or breaks one thing.

#ifndef DRYDOCK_APPS_DOCTOR_TESTING_FAKE_MACHINE_H_
#define DRYDOCK_APPS_DOCTOR_TESTING_FAKE_MACHINE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace drydock::apps::doctor {

// A shared library that no loader would run, with what doctor reads of one.
struct FakeLibrary {
  std::string name;                                                // DT_SONAME
  std::vector<std::string> needs;                                  // DT_NEEDED
  std::vector<std::string> versions;                               // that it defines
  std::vector<std::pair<std::string, std::string>> version_needs;  // library, version
  std::vector<std::string> symbols;
};
std::string FakeElf(const FakeLibrary& library);

class FakeMachine {
 public:
  // A folder of its own below TEST_TMPDIR, empty.
  FakeMachine();

  // An instance on which nothing is to be mended, with the NICs and GPUs of a profile.
  static FakeMachine Healthy(absl::string_view profile);

  const std::string& root() const { return root_; }
  // Paths inside the tree, as in /proc/meminfo. Folders are made on the way.
  void Write(absl::string_view path, absl::string_view text) const;
  void Link(absl::string_view path, absl::string_view target) const;
  void Folder(absl::string_view path) const;
  void Remove(absl::string_view path) const;  // with what is below it
  // Replaces the first `from` in a file.
  void Edit(absl::string_view path, absl::string_view from, absl::string_view to) const;
  std::string Content(absl::string_view path) const;

  // /usr/lib/x86_64-linux-gnu/libefa.so.1 -> libefa.so.1.0.RELEASE.0, and libibverbs.
  void InstallRdmaCore(const std::string& release, const std::vector<std::string>& efa_versions,
                       const std::vector<std::string>& efa_symbols) const;
  // In a folder, with the .pc file that tells its release.
  void InstallLibfabric(const std::string& folder, const std::string& release,
                        const std::string& efa_version) const;

  // Every file and link, as paths inside the tree.
  std::vector<std::string> Files() const;

 private:
  std::string OnHost(absl::string_view path) const;

  std::string root_;
};

}  // namespace drydock::apps::doctor

#endif  // DRYDOCK_APPS_DOCTOR_TESTING_FAKE_MACHINE_H_
