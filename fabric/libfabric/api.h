// The control path of libfabric's C API, verb by verb, so that a test can stand in for the library.
//
// The data path (fi_sendmsg, fi_cq_read, ...) is not here: those calls are inline functions over
// tables of function pointers inside the objects that these verbs return, so a test replaces them
// by returning objects of its own, and the product pays no second indirection.
//
// Every function returns what the C function returns: 0 or a negative FI_E* number. Thread-safe as
// the library is.

#ifndef DRYDOCK_FABRIC_LIBFABRIC_API_H_
#define DRYDOCK_FABRIC_LIBFABRIC_API_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace drydock::fabric::libfabric {

class Api {
 public:
  virtual ~Api() = default;

  // The library's version, as FI_VERSION makes it.
  virtual std::uint32_t Version() const = 0;

  // fi_getinfo without node and service. 0, and the caller frees the list with FreeInfo; or a
  // negative errno, and there is no list (-FI_ENODATA: nothing matches the hints).
  virtual int GetInfo(std::uint32_t version, const fi_info* hints, fi_info** info) = 0;
  // fi_freeinfo: the whole list from its first element. Null does nothing.
  virtual void FreeInfo(fi_info* info) = 0;

  // Each of the next eight opens an object that the caller closes with Close, before its parent.
  // 0; or a negative errno, and nothing was opened. The attributes are copied, except that some
  // providers write what they granted into them.
  //
  // fi_fabric. An element of GetInfo's list has the attributes.
  virtual int OpenFabric(fi_fabric_attr* attributes, fid_fabric** fabric) = 0;
  // fi_domain. `info` names the NIC.
  virtual int OpenDomain(fid_fabric* fabric, fi_info* info, fid_domain** domain) = 0;
  // fi_cq_open. A size of 0 is the provider's default.
  virtual int OpenCompletionQueue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue) = 0;
  // fi_av_open.
  virtual int OpenAddressVector(fid_domain* domain, fi_av_attr* attributes, fid_av** vector) = 0;
  // fi_cntr_open.
  virtual int OpenCounter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter) = 0;
  // fi_open_ops: functions of a provider's own, under their name. -FI_ENOSYS and others: it has none
  // of this name.
  virtual int OpenOps(fid* object, const char* name, void** ops) = 0;
  // fi_eq_open: where a provider reports failures of a domain or an endpoint.
  virtual int OpenEventQueue(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** queue) = 0;
  // fi_endpoint. Not usable before Bind and Enable.
  virtual int OpenEndpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint) = 0;
  // fi_mr_regattr. Pins the memory; -FI_ENOMEM also for the limit of locked memory.
  virtual int RegisterMemory(fid_domain* domain, const fi_mr_attr* attributes, std::uint64_t flags,
                             fid_mr** region) = 0;

  // fi_ep_bind: before Enable, with the flags of that call.
  virtual int Bind(fid_ep* endpoint, fid* object, std::uint64_t flags) = 0;
  // fi_setopt of an option that is a size_t. -FI_ENOPROTOOPT: the provider does not know the
  // option, -FI_ENOSYS: the device lacks it; the option is as before.
  virtual int SetOption(fid_ep* endpoint, int option, std::size_t value) = 0;
  // fi_getopt of such an option, with the same errors; `value` is untouched then.
  virtual int GetOption(fid_ep* endpoint, int option, std::size_t* value) = 0;
  // fi_enable: from now on peers may reach it.
  virtual int Enable(fid_ep* endpoint) = 0;
  // fi_getname: `length` is the room on entry and the need on return (-FI_ETOOSMALL when it was too
  // little).
  virtual int GetName(fid* endpoint, void* address, std::size_t* length) = 0;

  // fi_av_insert of one address, which is copied. 1: inserted, and `peer` is its number; otherwise
  // nothing was inserted.
  virtual int InsertAddress(fid_av* vector, const void* address, fi_addr_t* peer) = 0;
  // fi_av_remove of one peer. REQUIRES: nothing is in flight to it.
  virtual int RemoveAddress(fid_av* vector, fi_addr_t peer) = 0;

  // The descriptor that is readable when a queue opened with FI_WAIT_FD has entries.
  virtual int GetWaitDescriptor(fid_cq* queue, int* descriptor) = 0;
  // 0: it is safe to block on the descriptor; -FI_EAGAIN: there is something to read.
  virtual int TryWait(fid_fabric* fabric, fid* object) = 0;

  // fi_close of any object above. -FI_EBUSY: something that was opened from it is still open, and
  // the object works on.
  virtual int Close(fid* object) = 0;
};

// The installed library, which the first call loads (library.h). Static storage. Thread-safe.
absl::StatusOr<Api*> RealApi();

}  // namespace drydock::fabric::libfabric

#endif  // DRYDOCK_FABRIC_LIBFABRIC_API_H_
