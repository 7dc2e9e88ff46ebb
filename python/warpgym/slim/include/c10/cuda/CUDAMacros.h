#include <warpgym/torch.h>

#include <warpgym/cuda_runtime.h>
