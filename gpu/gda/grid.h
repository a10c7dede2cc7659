// How many threads a kernel has.

#ifndef DRYDOCK_GPU_GDA_GRID_H_
#define DRYDOCK_GPU_GDA_GRID_H_

namespace drydock::gpu::gda {

struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;  // of a block
};

}  // namespace drydock::gpu::gda

#endif  // DRYDOCK_GPU_GDA_GRID_H_
