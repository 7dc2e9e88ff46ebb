/* cuda: the current stream and the current device; nothing here needs CUDA's own headers. */
#pragma once

#include "tensor.h"

struct CUstream_st;

namespace c10
{
namespace cuda
{

class CUDAStream
{
    CUstream_st *stream_;
    DeviceIndex index_;

  public:
    CUDAStream(CUstream_st *stream, DeviceIndex index) : stream_(stream), index_(index)
    {
    }
    operator CUstream_st *() const
    {
        return stream_;
    }
    CUstream_st *stream() const
    {
        return stream_;
    }
    DeviceIndex device_index() const
    {
        return index_;
    }
    Device device() const
    {
        return {kCUDA, index_};
    }
    void synchronize() const;
};

CUDAStream getCurrentCUDAStream(DeviceIndex device = -1);
DeviceIndex current_device();

/* Makes a device the current one for a scope. */
class OptionalCUDAGuard
{
    void *guard_ = nullptr;

  public:
    OptionalCUDAGuard() = default;
    explicit OptionalCUDAGuard(Device device)
    {
        set_device(device);
    }
    explicit OptionalCUDAGuard(DeviceIndex index)
    {
        set_index(index);
    }
    explicit OptionalCUDAGuard(const std::optional<Device> &device)
    {
        if (device)
            set_device(*device);
    }
    OptionalCUDAGuard(const OptionalCUDAGuard &) = delete;
    ~OptionalCUDAGuard();
    void set_device(Device device);
    void set_index(DeviceIndex index);
    void reset_device(Device device)
    {
        set_device(device);
    }
};
class CUDAGuard : public OptionalCUDAGuard
{
  public:
    explicit CUDAGuard(Device device) : OptionalCUDAGuard(device)
    {
    }
    explicit CUDAGuard(DeviceIndex index) : OptionalCUDAGuard(index)
    {
    }
};

[[noreturn]] void error_found(const char *text);

} // namespace cuda

class DeviceGuard : public cuda::OptionalCUDAGuard
{
  public:
    explicit DeviceGuard(Device device)
    {
        if (device.is_cuda())
            set_device(device);
    }
};
class OptionalDeviceGuard : public cuda::OptionalCUDAGuard
{
  public:
    OptionalDeviceGuard() = default;
    explicit OptionalDeviceGuard(const std::optional<Device> &device)
    {
        if (device && device->is_cuda())
            set_device(*device);
    }
};
inline std::optional<Device> device_of(const at::Tensor &tensor)
{
    return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}

} // namespace c10

namespace at
{
using c10::device_of;
namespace cuda
{
using namespace c10::cuda;

/* Division rounding up, as launches want it. */
template <class T> constexpr WARPGYM_BOTH T ATenCeilDiv(T a, T b)
{
    return (a + b - 1) / b;
}

} // namespace cuda

using cuda::ATenCeilDiv;
template <class A, class B> constexpr WARPGYM_BOTH auto ceil_div(A a, B b)
{
    return (a + b - 1) / b;
}

} // namespace at

namespace torch
{
namespace cuda
{
void synchronize(int64_t device = -1);
inline bool is_available()
{
    return c10::cuda::current_device() >= 0;
}
} // namespace cuda
} // namespace torch

#define C10_LAUNCH_BOUNDS_1(THREADS) __launch_bounds__(THREADS)
#define C10_LAUNCH_BOUNDS_2(THREADS, BLOCKS) __launch_bounds__(THREADS, BLOCKS)
#define C10_WARP_SIZE 32
#define C10_DEVICE __device__
#define C10_HOST __host__

#ifdef __CUDACC__
template <class T> __device__ inline T gpuAtomicAdd(T *address, T value)
{
    return atomicAdd(address, value);
}
template <class T>
__device__ inline T WARP_SHFL_DOWN(T value, unsigned delta, int width = 32,
                                   unsigned mask = 0xffffffff)
{
    return __shfl_down_sync(mask, value, delta, width);
}
template <class T>
__device__ inline T WARP_SHFL_XOR(T value, int lanes, int width = 32, unsigned mask = 0xffffffff)
{
    return __shfl_xor_sync(mask, value, lanes, width);
}
template <class T>
__device__ inline T WARP_SHFL(T value, int lane, int width = 32, unsigned mask = 0xffffffff)
{
    return __shfl_sync(mask, value, lane, width);
}
#endif
