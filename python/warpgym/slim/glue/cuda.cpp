/* cuda: streams and devices; what needs a PyTorch with CUDA says so where there is none. */
#include "shim.h"

#include "python.h"

namespace c10
{
namespace cuda
{

static void need_cuda(bool there)
{
    TORCH_CHECK(there, "Torch not compiled with CUDA enabled");
}

DeviceIndex current_device()
{
    int32_t index = -1;
    if (!aoti_torch_get_current_cuda_stream || aoti_torch_get_current_device_index(&index) != 0)
        return -1;
    return static_cast<DeviceIndex>(index);
}

CUDAStream getCurrentCUDAStream(DeviceIndex device)
{
    void *stream = nullptr;
    need_cuda(aoti_torch_get_current_cuda_stream);
    DeviceIndex index = device >= 0 ? device : current_device();
    TORCH_CHECK(aoti_torch_get_current_cuda_stream(index, &stream) == 0, "no current CUDA stream");
    return {static_cast<CUstream_st *>(stream), index};
}

void CUDAStream::synchronize() const
{
    warpgym::call_torch("cuda.synchronize", index_);
}

OptionalCUDAGuard::~OptionalCUDAGuard()
{
    if (guard_)
        aoti_torch_delete_cuda_guard(guard_);
}

void OptionalCUDAGuard::set_index(DeviceIndex index)
{
    need_cuda(aoti_torch_create_cuda_guard);
    int32_t wanted = index >= 0 ? index : current_device();
    int32_t result = guard_ ? aoti_torch_cuda_guard_set_index(guard_, wanted)
                            : aoti_torch_create_cuda_guard(wanted, &guard_);
    TORCH_CHECK(result == 0, "cannot make device ", static_cast<int>(index), " the current one");
}

void OptionalCUDAGuard::set_device(Device device)
{
    TORCH_CHECK(device.is_cuda(), "Expected a CUDA device, but got ", device);
    set_index(device.index());
}

void error_found(const char *text)
{
    warpgym::check_failed(warpgym::Raise::runtime, "", "CUDA error: ", text);
}

} // namespace cuda
} // namespace c10

namespace at
{
namespace cuda
{

void *current_blas_handle();
void *current_blas_handle()
{
    void *handle = nullptr;
    TORCH_CHECK(torch_get_current_cuda_blas_handle &&
                    torch_get_current_cuda_blas_handle(&handle) == 0,
                "there is no cuBLAS handle");
    return handle;
}

} // namespace cuda
} // namespace at

namespace torch
{
namespace cuda
{

void synchronize(int64_t device)
{
    warpgym::call_torch("cuda.synchronize",
                        static_cast<int>(device < 0 ? c10::cuda::current_device() : device));
}

} // namespace cuda
} // namespace torch
