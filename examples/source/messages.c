/* A plain program of libfabric: sends 20 messages to itself through the provider efa. It knows nothing of Drydock. */

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(const char* what, long result) {
  if (result >= 0) return;
  printf("%s: %s\n", what, fi_strerror((int)-result));
  exit(1);
}

/* Reads completions until `wanted` came; a failed one, or ten seconds without any, ends the program. */
static void await(struct fid_cq* cq, int wanted) {
  struct fi_cq_entry done;
  struct fi_cq_err_entry failed = {0};
  const time_t end = time(NULL) + 10;
  while (wanted > 0) {
    const long got = fi_cq_read(cq, &done, 1);
    if (got == -FI_EAVAIL && fi_cq_readerr(cq, &failed, 0) == 1) must("message", -(long)failed.err);
    if (got == 1) --wanted;
    if (got == -FI_EAGAIN && time(NULL) > end) must("completion queue", -FI_ETIMEDOUT);
  }
}

int main(void) {
  struct fi_info *hints = fi_allocinfo(), *info;
  hints->fabric_attr->prov_name = strdup("efa");
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  must("fi_getinfo", fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info));
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fid_ep* ep;
  struct fid_av* av;
  struct fid_cq* cq;
  struct fid_mr* mr;
  static char buffer[2][4096], name[256];
  static struct fi_context2 contexts[2]; /* efa-direct keeps its own there */
  size_t length = sizeof name;
  fi_addr_t self;
  must("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
  must("fi_domain", fi_domain(fabric, info, &domain, NULL));
  must("fi_mr_reg",
       fi_mr_reg(domain, buffer, sizeof buffer, FI_SEND | FI_RECV, 0, 1, 0, &mr, NULL));
  must("fi_av_open", fi_av_open(domain, &(struct fi_av_attr){.type = FI_AV_TABLE}, &av, NULL));
  must("fi_cq_open",
       fi_cq_open(domain, &(struct fi_cq_attr){.format = FI_CQ_FORMAT_CONTEXT}, &cq, NULL));
  must("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
  must("fi_ep_bind", fi_ep_bind(ep, &av->fid, 0));
  must("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV));
  must("fi_enable", fi_enable(ep));
  must("fi_getname", fi_getname(&ep->fid, name, &length));
  must("fi_av_insert", fi_av_insert(av, name, 1, &self, 0, NULL) == 1 ? 0 : -FI_EINVAL);
  for (int i = 0; i < 20; ++i) {
    must("fi_recv", fi_recv(ep, buffer[1], 4096, fi_mr_desc(mr), self, &contexts[1]));
    must("fi_send", fi_send(ep, buffer[0], 4096, fi_mr_desc(mr), self, &contexts[0]));
    await(cq, 2);
  }
  struct fid* const opened[] = {&ep->fid, &cq->fid, &av->fid, &mr->fid, &domain->fid, &fabric->fid};
  for (size_t i = 0; i < sizeof opened / sizeof *opened; ++i) must("fi_close", fi_close(opened[i]));
  fi_freeinfo(info);
  fi_freeinfo(hints);
  puts("20 messages arrived");
  return 0;
}
