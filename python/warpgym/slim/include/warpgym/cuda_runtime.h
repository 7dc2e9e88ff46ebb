/* cuda_runtime: what needs the CUDA runtime's header: checks of its calls, facts of its devices.
 * nvcc brings that header along; a C++ file gets it with <ATen/cuda/CUDAContext.h> and the like.
 */
#pragma once

#include <cuda_runtime_api.h>

#include "cuda.h"

namespace c10
{
namespace cuda
{

inline void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        (void)cudaGetLastError(); /* reported now, not by the next call */
        error_found(cudaGetErrorString(error));
    }
}
inline DeviceIndex device_count()
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? static_cast<DeviceIndex>(count) : 0;
}
inline void device_synchronize()
{
    check(cudaDeviceSynchronize());
}

} // namespace cuda
} // namespace c10

namespace at
{
namespace cuda
{

inline const cudaDeviceProp *getDeviceProperties(DeviceIndex index)
{
    static cudaDeviceProp known[64];
    static bool asked[64];
    if (!asked[index & 63])
        check(cudaGetDeviceProperties(&known[index & 63], index));
    asked[index & 63] = true;
    return &known[index & 63];
}
inline const cudaDeviceProp *getCurrentDeviceProperties()
{
    return getDeviceProperties(current_device());
}
inline int warp_size()
{
    return getCurrentDeviceProperties()->warpSize;
}

#if defined(CUBLAS_V2_H_) && WARPGYM_TORCH >= 210
void *current_blas_handle();
inline cublasHandle_t getCurrentCUDABlasHandle()
{
    return static_cast<cublasHandle_t>(current_blas_handle());
}
#endif

} // namespace cuda
} // namespace at

#define C10_CUDA_CHECK(...) ::c10::cuda::check(__VA_ARGS__)
#define AT_CUDA_CHECK(...) ::c10::cuda::check(__VA_ARGS__)
#define TORCH_CUDA_CHECK(...) ::c10::cuda::check(__VA_ARGS__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ::c10::cuda::check(cudaGetLastError())

#ifdef CUBLAS_V2_H_
#define TORCH_CUDABLAS_CHECK(EXPRESSION)                                                           \
    TORCH_CHECK((EXPRESSION) == CUBLAS_STATUS_SUCCESS, "CUDA error: " #EXPRESSION " failed")
#endif
