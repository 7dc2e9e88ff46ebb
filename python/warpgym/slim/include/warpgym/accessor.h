/* accessor: tensors as arrays of N dimensions, on the host and, packed, as kernels' arguments. */
#pragma once

#include "tensor.h"

namespace at
{

template <class T> struct DefaultPtrTraits {
    using PtrType = T *;
};
#ifdef __CUDACC__
template <class T> struct RestrictPtrTraits {
    using PtrType = T *__restrict__;
};
#endif

/* One row of an accessor: refers to the sizes and strides of the whole. */
template <class T, size_t N, template <class> class P, class I> class AccessorView
{
    typename P<T>::PtrType data_;
    const I *sizes_, *strides_;

  public:
    WARPGYM_BOTH AccessorView(typename P<T>::PtrType data, const I *sizes, const I *strides)
        : data_(data), sizes_(sizes), strides_(strides)
    {
    }
    WARPGYM_BOTH decltype(auto) operator[](I index) const
    {
        if constexpr (N == 1)
            return (data_[strides_[0] * index]);
        else
            return AccessorView<T, N - 1, P, I>(data_ + strides_[0] * index, sizes_ + 1,
                                                strides_ + 1);
    }
    WARPGYM_BOTH I size(int dimension) const
    {
        return sizes_[dimension];
    }
    WARPGYM_BOTH I stride(int dimension) const
    {
        return strides_[dimension];
    }
    WARPGYM_BOTH typename P<T>::PtrType data() const
    {
        return data_;
    }
};

template <class T, size_t N>
class TensorAccessor : public AccessorView<T, N, DefaultPtrTraits, int64_t>
{
  public:
    using AccessorView<T, N, DefaultPtrTraits, int64_t>::AccessorView;
};

template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
class GenericPackedTensorAccessor
{
    typename P<T>::PtrType data_;
    I sizes_[N], strides_[N];

  public:
    GenericPackedTensorAccessor(T *data, const int64_t *sizes, const int64_t *strides) : data_(data)
    {
        for (size_t i = 0; i < N; i++) {
            sizes_[i] = static_cast<I>(sizes[i]);
            strides_[i] = static_cast<I>(strides[i]);
        }
    }
    WARPGYM_BOTH decltype(auto) operator[](I index) const
    {
        if constexpr (N == 1)
            return (const_cast<T &>(data_[strides_[0] * index]));
        else
            return AccessorView<T, N - 1, P, I>(data_ + strides_[0] * index, sizes_ + 1,
                                                strides_ + 1);
    }
    WARPGYM_BOTH I size(int dimension) const
    {
        return sizes_[dimension];
    }
    WARPGYM_BOTH I stride(int dimension) const
    {
        return strides_[dimension];
    }
    WARPGYM_BOTH typename P<T>::PtrType data() const
    {
        return data_;
    }
};

template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, P, int32_t>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, P, int64_t>;

template <class T, size_t N> TensorAccessor<T, N> Tensor::accessor() const
{
    TORCH_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N,
                " dims but tensor has ", dim());
    return {data_ptr<T>(), sizes().data(), strides().data()};
}
template <class T, size_t N, template <class> class P>
GenericPackedTensorAccessor<T, N, P, int64_t> Tensor::packed_accessor64() const
{
    TensorAccessor<T, N> whole = accessor<T, N>();
    return {whole.data(), sizes().data(), strides().data()};
}
template <class T, size_t N, template <class> class P>
GenericPackedTensorAccessor<T, N, P, int32_t> Tensor::packed_accessor32() const
{
    TORCH_CHECK(numel() <= INT32_MAX, "numel needs to be smaller than int32_t max; otherwise, "
                                      "please use packed_accessor64");
    TensorAccessor<T, N> whole = accessor<T, N>();
    return {whole.data(), sizes().data(), strides().data()};
}

} // namespace at
