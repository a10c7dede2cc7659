#include "drydock/fabric/libfabric/libfabric_fabric.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "drydock/coro/status_macros.h"
#include "drydock/fabric/libfabric/libfabric_domain.h"
#include "drydock/fabric/libfabric/provider_selection.h"

namespace drydock::fabric::libfabric {
namespace {

class LibfabricFabric final : public Fabric {
 public:
  LibfabricFabric(Api& api, std::vector<NicChoice> choices)
      : api_(api),
        choices_(std::move(choices)),
        description_(absl::StrCat("libfabric ", FI_MAJOR(api.Version()), ".",
                                  FI_MINOR(api.Version()), " (",
                                  choices_.front().described.provider, ")")) {
    for (const NicChoice& choice : choices_) nics_.push_back(choice.described);
  }

  std::string_view description() const override { return description_; }
  std::span<const NicInfo> nics() const override { return nics_; }

  absl::StatusOr<std::unique_ptr<Domain>> OpenDomain(std::size_t nic) override {
    if (nic >= choices_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("open domain: NIC ", nic, " does not exist, there are ", choices_.size()));
    }
    return LibfabricDomain::Open(api_, choices_[nic]);
  }

 private:
  Api& api_;
  std::vector<NicChoice> choices_;
  std::string description_;
  std::vector<NicInfo> nics_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Fabric>> OpenLibfabric(absl::string_view provider,
                                                      const LibfabricOptions& options) {
  ASSIGN_OR_RETURN(Api* const api, RealApi());
  return OpenLibfabric(provider, *api, options);
}

absl::StatusOr<std::unique_ptr<Fabric>> OpenLibfabric(absl::string_view provider, Api& api,
                                                      const LibfabricOptions& options) {
  absl::StatusOr<std::vector<NicChoice>> choices = SelectNics(api, provider, options.device_memory);
  if (!choices.ok()) return choices.status();
  return std::make_unique<LibfabricFabric>(api, *std::move(choices));
}

}  // namespace drydock::fabric::libfabric
