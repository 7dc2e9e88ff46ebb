/* torch: everything that <torch/extension.h> and its relatives stand for here. */
#pragma once

#include "accessor.h"
#include "bind.h"
#include "cuda.h"
#include "dispatch.h"
#include "functions.h"
#ifdef __CUDACC__
#include "cuda_runtime.h"
#endif
