/* functions: what namespaces at and torch offer beside Tensor: new tensors and operators. */
#pragma once

#include "tensor.h"

namespace at
{

/* Straight through the C interface: what kernels make their outputs with. */
Tensor empty(IntArrayRef sizes, const TensorOptions &options = {});
Tensor zeros(IntArrayRef sizes, const TensorOptions &options = {});
Tensor empty_like(const Tensor &self, const TensorOptions &options = {});
Tensor zeros_like(const Tensor &self, const TensorOptions &options = {});
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options = {});
/* The memory stays the caller's. */
Tensor from_blob(void *data, IntArrayRef sizes, const TensorOptions &options = {});
Tensor from_blob(void *data, IntArrayRef sizes, IntArrayRef strides,
                 const TensorOptions &options = {});

#ifndef WARPGYM_THREADS
Tensor empty(IntArrayRef sizes, const TensorOptions &options, MemoryFormat format);
Tensor empty_like(const Tensor &self, const TensorOptions &options, MemoryFormat format);
Tensor empty_like(const Tensor &self, MemoryFormat format);

#define WARPGYM_FUNCTION(NAME, MOST)                                                               \
    template <class... A, class = std::enable_if_t<sizeof...(A) <= (MOST)>>                        \
    Tensor NAME(const Tensor &self, const A &...arguments)                                         \
    {                                                                                              \
        return warpgym::call_function(#NAME, {self, warpgym::Value(arguments)...});                \
    }                                                                                              \
    template <class... A, class = std::enable_if_t<sizeof...(A) < (MOST)>>                         \
    Tensor NAME(const Tensor &self, std::initializer_list<int64_t> list, const A &...arguments)    \
    {                                                                                              \
        return warpgym::call_function(#NAME, {self, list, warpgym::Value(arguments)...});          \
    }
/* Functions only. */
#define WARPGYM_FUNCTIONS(X)                                                                       \
    X(avg_pool2d, 9)                                                                               \
    X(batch_norm, 9)                                                                               \
    X(conv1d, 9) X(conv2d, 9) X(conv3d, 9) X(conv_transpose2d, 9) X(dropout, 2) X(elu, 1)          \
        X(embedding, 1) X(full_like, 9) X(gelu, 0) X(group_norm, 9) X(hardswish, 0) X(hardtanh, 9) \
            X(layer_norm, 9) X(linear, 9) X(max_pool2d, 9) X(mse_loss, 1) X(ones_like, 9)          \
                X(outer, 9) X(rand_like, 9) X(randn_like, 9) X(scaled_dot_product_attention, 5)    \
                    X(selu, 0) X(silu, 0) X(softplus, 9)
WARPGYM_SHARED(WARPGYM_FUNCTION)
WARPGYM_FUNCTIONS(WARPGYM_FUNCTION)
#undef WARPGYM_FUNCTION

#define WARPGYM_FACTORY(NAME)                                                                      \
    inline Tensor NAME(IntArrayRef sizes, const TensorOptions &options = {})                       \
    {                                                                                              \
        return warpgym::call_function(#NAME, {sizes, options});                                    \
    }
WARPGYM_FACTORY(ones)
WARPGYM_FACTORY(rand)
WARPGYM_FACTORY(randn)
#undef WARPGYM_FACTORY
Tensor full(IntArrayRef sizes, Scalar value, const TensorOptions &options = {});
Tensor arange(Scalar end, const TensorOptions &options = {});
Tensor arange(Scalar start, Scalar end, const TensorOptions &options = {});
Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions &options = {});
Tensor tensor(Scalar value, const TensorOptions &options = {});
Tensor conv2d(const Tensor &input, const Tensor &weight, const std::optional<Tensor> &bias,
              IntArrayRef stride = {1}, IntArrayRef padding = {0}, IntArrayRef dilation = {1},
              int64_t groups = 1);
Tensor einsum(const char *equation, TensorList operands);
Tensor eye(int64_t rows, const TensorOptions &options = {});
Tensor cat(TensorList tensors, int64_t dimension = 0);
Tensor stack(TensorList tensors, int64_t dimension = 0);
Tensor max(const Tensor &self);
Tensor min(const Tensor &self);
Tensor max(const Tensor &self, const Tensor &other);
Tensor min(const Tensor &self, const Tensor &other);
std::tuple<Tensor, Tensor> max(const Tensor &self, int64_t dimension, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor &self, int64_t dimension, bool keepdim = false);

#define WARPGYM_OPERATOR(OP, NAME)                                                                 \
    inline Tensor operator OP(const Tensor &a, const Tensor &b)                                    \
    {                                                                                              \
        return a.NAME(b);                                                                          \
    }                                                                                              \
    inline Tensor operator OP(const Tensor &a, Scalar b)                                           \
    {                                                                                              \
        return a.NAME(b);                                                                          \
    }
WARPGYM_OPERATOR(+, add)
WARPGYM_OPERATOR(-, sub)
WARPGYM_OPERATOR(*, mul)
WARPGYM_OPERATOR(/, div)
WARPGYM_OPERATOR(<, lt)
WARPGYM_OPERATOR(>, gt)
WARPGYM_OPERATOR(<=, le)
WARPGYM_OPERATOR(>=, ge)
WARPGYM_OPERATOR(==, eq)
WARPGYM_OPERATOR(!=, ne)
#undef WARPGYM_OPERATOR
inline Tensor operator+(Scalar a, const Tensor &b)
{
    return b.add(a);
}
inline Tensor operator*(Scalar a, const Tensor &b)
{
    return b.mul(a);
}
inline Tensor operator-(Scalar a, const Tensor &b)
{
    return b.neg().add(a);
}
inline Tensor operator/(Scalar a, const Tensor &b)
{
    return b.reciprocal().mul(a);
}
#endif

inline TensorOptions dtype(ScalarType type)
{
    return type;
}
inline TensorOptions dtype(caffe2::TypeMeta type)
{
    return type;
}
inline TensorOptions device(Device device)
{
    return device;
}
inline TensorOptions requires_grad(bool on = true)
{
    return TensorOptions().requires_grad(on);
}

int get_num_threads();
void set_num_threads(int threads);

/* f(begin, end) on parts of the range, by as many threads as PyTorch uses. */
template <class F> void parallel_for(int64_t begin, int64_t end, int64_t grain, const F &f)
{
    int64_t most = grain > 0 ? (end - begin + grain - 1) / grain : end - begin;
    int64_t threads = get_num_threads();
    int64_t parts = most < threads ? most : threads;
    if (begin >= end)
        return;
    if (parts <= 1) {
        f(begin, end);
        return;
    }
    int64_t each = (end - begin + parts - 1) / parts;
    std::exception_ptr failure;
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
    for (int64_t part = 0; part < parts; part++) {
        int64_t from = begin + part * each;
        int64_t to = from + each < end ? from + each : end;
        try {
            if (from < to)
                f(from, to);
        } catch (...) {
#pragma omp critical
            failure = std::current_exception();
        }
    }
    if (failure)
        std::rethrow_exception(failure);
}

/* Derivatives are PyTorch's business; a kernel only says that it wants none. */
struct NoGradGuard {
    bool before;
    NoGradGuard();
    ~NoGradGuard();
    NoGradGuard(const NoGradGuard &) = delete;
};

namespace impl
{
using c10::impl::ScalarTypeToCPPType;
using c10::impl::ScalarTypeToCPPTypeT;
} // namespace impl

} // namespace at

namespace torch
{
using namespace at;
using at::device; /* not the words of another namespace */
using at::dtype;
using at::Tensor;
using Dtype = at::ScalarType;
} // namespace torch
