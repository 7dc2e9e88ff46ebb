/* tensor: at::Tensor on PyTorch's stable C interface, and calls of operators by name.
 *
 * A Tensor owns one handle of that interface; none is an undefined tensor. What a kernel needs at
 * every launch (pointers, sizes, new tensors) goes straight through the interface. Everything else
 * goes by the operator's name through Python (method, function): any operator of any version, with
 * PyTorch's own checks and messages, for a microsecond. Such a call takes the interpreter's lock;
 * where a source has threads of its own WARPGYM_THREADS hides these operators.
 */
#pragma once

#include "types.h"

struct AtenTensorOpaque;

namespace at
{
using namespace c10;
template <class T, size_t N> class TensorAccessor;
template <class T> struct DefaultPtrTraits;
template <class T, size_t N, template <class> class P, class I> class GenericPackedTensorAccessor;
class Tensor;
} // namespace at

namespace c10
{
using TensorList = ArrayRef<at::Tensor>;
}

namespace warpgym
{

using Handle = AtenTensorOpaque *;

/* One argument of an operator. It refers to what it was made of: it lives as long as the call. */
struct Value {
    enum class Kind : int8_t {
        none,
        tensor,
        scalar,
        integers,
        tensors,
        text,
        dtype,
        device,
        device_type,
        options,
        memory_format
    };
    Kind kind = Kind::none;
    c10::Scalar scalar;
    const void *data = nullptr;
    size_t count = 0;
    const char *keyword = nullptr; /* Python's name for it, where it has to be given with one */

    Value(const at::Tensor &tensor) : kind(Kind::tensor), data(&tensor)
    {
    }
    Value(c10::Scalar number) : kind(Kind::scalar), scalar(number)
    {
    }
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    Value(T number) : Value(c10::Scalar(number))
    {
    }
    Value(bool truth, const char *name) : Value(c10::Scalar(truth))
    {
        keyword = name;
    }
    Value(c10::IntArrayRef list) : kind(Kind::integers), data(list.data()), count(list.size())
    {
    }
    Value(const std::vector<int64_t> &list) : Value(c10::IntArrayRef(list))
    {
    }
    Value(std::initializer_list<int64_t> list) : Value(c10::IntArrayRef(list))
    {
    }
    Value(c10::TensorList list) : kind(Kind::tensors), data(list.data()), count(list.size())
    {
    }
    Value(const std::vector<at::Tensor> &list) : Value(c10::TensorList(list))
    {
    }
    Value(const char *words) : kind(Kind::text), data(words)
    {
    }
    Value(c10::ScalarType type) : kind(Kind::dtype), scalar(static_cast<int64_t>(type))
    {
    }
    Value(caffe2::TypeMeta type) : Value(type.toScalarType())
    {
    }
    Value(c10::DeviceType type) : kind(Kind::device_type), scalar(static_cast<int64_t>(type))
    {
    }
    Value(const c10::Device &device) : kind(Kind::device), data(&device)
    {
    }
    Value(const c10::TensorOptions &options) : kind(Kind::options), data(&options)
    {
    }
    Value(c10::MemoryFormat format)
        : kind(Kind::memory_format), scalar(static_cast<int64_t>(format))
    {
    }
    Value(std::nullopt_t)
    {
    }
    template <class T> Value(const std::optional<T> &value)
    {
        if (value.has_value())
            *this = Value(*value);
    }
};

using Values = std::initializer_list<Value>;
at::Tensor call_method(const at::Tensor &self, const char *name, Values arguments);
at::Tensor call_function(const char *name, Values arguments);
/* Fills `results` from a tuple or list of exactly `count` tensors. */
void call_for_many(const char *name, Values arguments, at::Tensor *results, size_t count);
std::vector<at::Tensor> call_for_list(const char *name, Values arguments);

} // namespace warpgym

namespace at
{

/* What Tensor::type gives, which is old: the element type, and where it lies. */
struct DeprecatedTypeProperties {
    ScalarType type;
    bool cuda;
    operator ScalarType() const
    {
        return type;
    }
    ScalarType scalarType() const
    {
        return type;
    }
    bool is_cuda() const
    {
        return cuda;
    }
};

class Tensor
{
    warpgym::Handle handle_ = nullptr;

    void *typed_data(ScalarType type) const;

  public:
    Tensor() = default;
    Tensor(const Tensor &other);
    Tensor(Tensor &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }
    Tensor &operator=(const Tensor &other);
    Tensor &operator=(Tensor &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Tensor();
    static Tensor owning(warpgym::Handle handle)
    {
        Tensor tensor;
        tensor.handle_ = handle;
        return tensor;
    }
    warpgym::Handle handle() const
    {
        return handle_;
    }

    bool defined() const
    {
        return handle_ != nullptr;
    }
    void reset()
    {
        *this = Tensor();
    }
    void *data_ptr() const;
    template <class T> T *data_ptr() const
    {
        return static_cast<T *>(typed_data(CppTypeToScalarType<std::remove_const_t<T>>::value));
    }
    template <class T> const T *const_data_ptr() const
    {
        return data_ptr<std::remove_const_t<T>>();
    }
    template <class T> T *mutable_data_ptr() const
    {
        return data_ptr<T>();
    }
    const void *const_data_ptr() const
    {
        return data_ptr();
    }
    void *mutable_data_ptr() const
    {
        return data_ptr();
    }
    template <class T> T *data() const
    {
        return data_ptr<T>();
    }

    int64_t dim() const;
    int64_t ndimension() const
    {
        return dim();
    }
    int64_t numel() const;
    int64_t size(int64_t dimension) const;
    int64_t stride(int64_t dimension) const;
    IntArrayRef sizes() const;
    IntArrayRef strides() const;
    int64_t storage_offset() const;
    size_t element_size() const
    {
        return elementSize(scalar_type());
    }
    size_t itemsize() const
    {
        return element_size();
    }
    size_t nbytes() const
    {
        return static_cast<size_t>(numel()) * element_size();
    }
    ScalarType scalar_type() const;
    caffe2::TypeMeta dtype() const
    {
        return scalar_type();
    }
    DeprecatedTypeProperties type() const
    {
        return {scalar_type(), is_cuda()};
    }
    Device device() const;
    int64_t get_device() const
    {
        return device().index();
    }
    TensorOptions options() const
    {
        return TensorOptions().dtype(scalar_type()).device(device());
    }
    bool is_cuda() const
    {
        return device().is_cuda();
    }
    bool is_cpu() const
    {
        return device().is_cpu();
    }
    bool is_contiguous() const;
    bool is_contiguous(MemoryFormat format) const;
    bool is_floating_point() const
    {
        return isFloatingType(scalar_type());
    }
    bool is_same(const Tensor &other) const;
    bool is_same_size(const Tensor &other) const
    {
        return sizes() == other.sizes();
    }
    Layout layout() const
    {
        return kStrided;
    }
    bool requires_grad() const;

    Tensor contiguous() const;
    Tensor contiguous(MemoryFormat format) const;
    Tensor clone() const;
    Tensor &zero_();
    Tensor &copy_(const Tensor &source, bool non_blocking = false);
    const Tensor &zero_() const
    {
        return const_cast<Tensor *>(this)->zero_();
    }

    template <class T, size_t N> TensorAccessor<T, N> accessor() const;
    template <class T, size_t N, template <class> class P = DefaultPtrTraits>
    GenericPackedTensorAccessor<T, N, P, int32_t> packed_accessor32() const;
    template <class T, size_t N, template <class> class P = DefaultPtrTraits>
    GenericPackedTensorAccessor<T, N, P, int64_t> packed_accessor64() const;

#ifndef WARPGYM_THREADS
#include "tensor_operators.inc"
#endif
};

} // namespace at
