// How many threads a kernel has.

#ifndef GPU_GDA_GRID_H_
#define GPU_GDA_GRID_H_

namespace gpu::gda {

struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;  // of a block
};

}  // namespace gpu::gda

#endif  // GPU_GDA_GRID_H_
