/* shim: the functions of PyTorch's stable C interface that are used here, as its documentation
 * describes them. They give 0, or not: then the reason went to stderr, and Python is asked to fail
 * in the same way. A handle is the address of a tensor, which is one pointer to its inside.
 */
#pragma once

#include "warpgym/torch.h"

extern "C" {
using warpgym::Handle;
int32_t aoti_torch_delete_tensor_object(Handle tensor);
int32_t aoti_torch_new_tensor_handle(Handle from, Handle *made);
int32_t aoti_torch_get_data_ptr(Handle tensor, void **data);
int32_t aoti_torch_get_dim(Handle tensor, int64_t *dimensions);
int32_t aoti_torch_get_numel(Handle tensor, int64_t *count);
int32_t aoti_torch_get_sizes(Handle tensor, int64_t **sizes);
int32_t aoti_torch_get_strides(Handle tensor, int64_t **strides);
int32_t aoti_torch_get_storage_offset(Handle tensor, int64_t *offset);
int32_t aoti_torch_get_dtype(Handle tensor, int32_t *type);
int32_t aoti_torch_get_device_type(Handle tensor, int32_t *type);
int32_t aoti_torch_get_device_index(Handle tensor, int32_t *index);
int32_t aoti_torch_is_contiguous(Handle tensor, bool *contiguous);
int32_t aoti_torch_empty_strided(int64_t dimensions, const int64_t *sizes, const int64_t *strides,
                                 int32_t type, int32_t device_type, int32_t device_index,
                                 Handle *made);
int32_t aoti_torch_create_tensor_from_blob(void *data, int64_t dimensions, const int64_t *sizes,
                                           const int64_t *strides, int64_t offset, int32_t type,
                                           int32_t device_type, int32_t device_index, Handle *made);
int32_t aoti_torch_clone(Handle tensor, Handle *made);
int32_t aoti_torch_zero_(Handle tensor);
int32_t aoti_torch_copy_(Handle tensor, Handle source, int32_t non_blocking);
bool aoti_torch_grad_mode_is_enabled();
void aoti_torch_grad_mode_set_enabled(bool enabled);
int32_t aoti_torch_get_current_device_index(int32_t *index);

/* Missing in a PyTorch without CUDA, or in an older one. */
#define WARPGYM_MAYBE __attribute__((weak))
WARPGYM_MAYBE int32_t aoti_torch_create_cuda_guard(int32_t index, void **guard);
WARPGYM_MAYBE int32_t aoti_torch_delete_cuda_guard(void *guard);
WARPGYM_MAYBE int32_t aoti_torch_cuda_guard_set_index(void *guard, int32_t index);
WARPGYM_MAYBE int32_t aoti_torch_get_current_cuda_stream(int32_t index, void **stream);
WARPGYM_MAYBE int32_t torch_get_current_cuda_blas_handle(void **handle);
}
