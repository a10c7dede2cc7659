#include "drydock/fabric/opened_nic.h"

#include "drydock/coro/status_macros.h"

namespace drydock::fabric {

absl::StatusOr<OpenedNic> OpenNic(Fabric& fabric, const OpenNicOptions& options) {
  OpenedNic nic;
  ASSIGN_OR_RETURN(nic.domain, fabric.OpenDomain(options.nic));
  ASSIGN_OR_RETURN(nic.peers, nic.domain->OpenAddressVector());
  CompletionQueueOptions queue;
  queue.depth = options.queue_depth;
  // Asked of the domain: some backends find out only when the NIC is open.
  queue.blocking_wait =
      options.may_block && nic.domain->nic().capabilities.Has(Capability::kBlockingWait);
  ASSIGN_OR_RETURN(nic.queue, nic.domain->OpenCompletionQueue(queue));
  ASSIGN_OR_RETURN(nic.endpoint, nic.domain->OpenEndpoint(nic.endpoint_options()));
  return nic;
}

}  // namespace drydock::fabric
