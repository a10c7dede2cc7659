#!/usr/bin/env bash
# Prints what NVSHMEM on EFA with queues for kernels wants in its environment: eval "$(environment.sh)"
cat <<'TEXT'
export NVSHMEM_REMOTE_TRANSPORT=libfabric
export NVSHMEM_LIBFABRIC_PROVIDER=efa
export FI_EFA_USE_DEVICE_RDMA=1
TEXT
