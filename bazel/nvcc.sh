#!/bin/sh
# nvcc.sh COMPILER ARGUMENT...: runs nvcc, again where its device compiler crashed.
#
# The device compiler of CUDA 13.0 (cicc) crashes by where its heap happens to lie: with gpu/gda/kernels.cu in a tenth of
# its runs, always at one instruction; never with the heap at a fixed place, which a container may not ask for. An error
# in a source ends nvcc with 1 or 2, and is reported at once.
readonly SEGMENTATION_FAULT=139
readonly MOST=10

run=0
while [ "$run" -lt "$MOST" ]; do
  run=$((run + 1))
  "$@"
  status=$?
  [ "$status" -eq "$SEGMENTATION_FAULT" ] || exit "$status"
  echo "nvcc.sh: $1 crashed in run $run of at most $MOST" >&2
done
exit "$status"
