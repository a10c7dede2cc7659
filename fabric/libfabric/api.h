// The control path of libfabric's C API, verb by verb, so that a test can stand in for the library.
//
// The data path (fi_sendmsg, fi_cq_read, ...) is not here: those calls are inline functions over
// tables of function pointers inside the objects that these verbs return, so a test replaces them
// by returning objects of its own, and the product pays no second indirection.
//
// Every function returns what the C function returns: 0 or a negative FI_E* number. Thread-safe as
// the library is.

#ifndef FABRIC_LIBFABRIC_API_H_
#define FABRIC_LIBFABRIC_API_H_

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>

namespace fabric::libfabric {

class Api {
 public:
  virtual ~Api() = default;

  // The library's version, as FI_VERSION makes it.
  virtual std::uint32_t Version() const = 0;

  // fi_getinfo without node and service. The caller frees the list with FreeInfo.
  virtual int GetInfo(std::uint32_t version, const fi_info* hints, fi_info** info) = 0;
  virtual void FreeInfo(fi_info* info) = 0;

  // Each opens an object, as the call of libfabric that it is named after, which the caller closes
  // with Close. 0, or a negative errno and nothing was opened.
  virtual int OpenFabric(fi_fabric_attr* attributes, fid_fabric** fabric) = 0;
  virtual int OpenDomain(fid_fabric* fabric, fi_info* info, fid_domain** domain) = 0;
  virtual int OpenCompletionQueue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue) = 0;
  virtual int OpenAddressVector(fid_domain* domain, fi_av_attr* attributes, fid_av** vector) = 0;
  virtual int OpenCounter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter) = 0;
  virtual int OpenEventQueue(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** queue) = 0;
  virtual int OpenEndpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint) = 0;
  virtual int RegisterMemory(fid_domain* domain, const fi_mr_attr* attributes, std::uint64_t flags,
                             fid_mr** region) = 0;

  // fi_ep_bind: before Enable, with the flags of that call.
  virtual int Bind(fid_ep* endpoint, fid* object, std::uint64_t flags) = 0;
  // fi_setopt and fi_getopt of options that are a size_t. -FI_ENOPROTOOPT: the provider does not
  // know the option, -FI_ENOSYS: the device lacks it.
  virtual int SetOption(fid_ep* endpoint, int option, std::size_t value) = 0;
  virtual int GetOption(fid_ep* endpoint, int option, std::size_t* value) = 0;
  // fi_enable: from now on peers may reach it.
  virtual int Enable(fid_ep* endpoint) = 0;
  // fi_getname: `length` is the room on entry and the need on return (-FI_ETOOSMALL when it was too
  // little).
  virtual int GetName(fid* endpoint, void* address, std::size_t* length) = 0;

  // fi_av_insert and fi_av_remove of one address. Insert returns 1 on success.
  virtual int InsertAddress(fid_av* vector, const void* address, fi_addr_t* peer) = 0;
  virtual int RemoveAddress(fid_av* vector, fi_addr_t peer) = 0;

  // The descriptor that is readable when a queue opened with FI_WAIT_FD has entries.
  virtual int GetWaitDescriptor(fid_cq* queue, int* descriptor) = 0;
  // 0: it is safe to block on the descriptor; -FI_EAGAIN: there is something to read.
  virtual int TryWait(fid_fabric* fabric, fid* object) = 0;

  virtual int Close(fid* object) = 0;
};

// The installed library. Static storage.
Api& RealApi();

}  // namespace fabric::libfabric

#endif  // FABRIC_LIBFABRIC_API_H_
