/* tensor: at::Tensor and what makes tensors, on PyTorch's stable C interface. */
#include "shim.h"

#include "python.h"

#include <algorithm>
#include <cstring>

namespace at
{

using warpgym::Value;

/* The interface keeps its reasons to itself; each of these has one that it can fail for. */
static void must(int32_t result, const char *what)
{
    TORCH_CHECK(result == 0, what, " failed");
}

static warpgym::Handle held(warpgym::Handle handle)
{
    TORCH_CHECK(handle, "tensor does not have a device: it is undefined");
    return handle;
}

/* A property of a defined tensor. */
template <class T, class F> static T ask(warpgym::Handle handle, F function)
{
    T value{};
    must(function(held(handle), &value), "reading a tensor's property");
    return value;
}

Tensor::Tensor(const Tensor &other)
{
    if (other.handle_)
        must(aoti_torch_new_tensor_handle(other.handle_, &handle_), "copying a tensor's handle");
}

Tensor &Tensor::operator=(const Tensor &other)
{
    return *this = Tensor(other);
}

Tensor::~Tensor()
{
    if (handle_)
        aoti_torch_delete_tensor_object(handle_);
}

void *Tensor::data_ptr() const
{
    return ask<void *>(handle_, aoti_torch_get_data_ptr);
}

void *Tensor::typed_data(ScalarType wanted) const
{
    ScalarType found = scalar_type();
    TORCH_CHECK(found == wanted, "expected scalar type ", wanted, " but found ", found);
    return data_ptr();
}

int64_t Tensor::dim() const
{
    return ask<int64_t>(handle_, aoti_torch_get_dim);
}

int64_t Tensor::numel() const
{
    return ask<int64_t>(handle_, aoti_torch_get_numel);
}

IntArrayRef Tensor::sizes() const
{
    return {ask<int64_t *>(handle_, aoti_torch_get_sizes), static_cast<size_t>(dim())};
}

IntArrayRef Tensor::strides() const
{
    return {ask<int64_t *>(handle_, aoti_torch_get_strides), static_cast<size_t>(dim())};
}

/* Dimensions count from the end, too. */
static int64_t item_of(IntArrayRef list, int64_t dimension)
{
    auto count = static_cast<int64_t>(list.size());
    if (dimension < -count || dimension >= count)
        warpgym::check_failed(warpgym::Raise::index, "",
                              "Dimension out of range (expected to be in range of [", -count, ", ",
                              count - 1, "], but got ", dimension, ")");
    return list[static_cast<size_t>(dimension < 0 ? dimension + count : dimension)];
}

int64_t Tensor::size(int64_t dimension) const
{
    return item_of(sizes(), dimension);
}

int64_t Tensor::stride(int64_t dimension) const
{
    return item_of(strides(), dimension);
}

int64_t Tensor::storage_offset() const
{
    return ask<int64_t>(handle_, aoti_torch_get_storage_offset);
}

ScalarType Tensor::scalar_type() const
{
    return static_cast<ScalarType>(ask<int32_t>(handle_, aoti_torch_get_dtype));
}

Device Tensor::device() const
{
    auto type = static_cast<DeviceType>(ask<int32_t>(handle_, aoti_torch_get_device_type));
    auto index = static_cast<DeviceIndex>(ask<int32_t>(handle_, aoti_torch_get_device_index));
    return {type, index};
}

bool Tensor::is_contiguous() const
{
    return ask<bool>(handle_, aoti_torch_is_contiguous);
}

bool Tensor::is_same(const Tensor &other) const
{
    return handle_ == other.handle_ ||
           (handle_ && other.handle_ &&
            memcmp(static_cast<const void *>(handle_), static_cast<const void *>(other.handle_),
                   sizeof(void *)) == 0);
}

Tensor Tensor::contiguous() const
{
    return is_contiguous() ? *this : empty(sizes(), options()).copy_(*this);
}

Tensor Tensor::contiguous(MemoryFormat format) const
{
    return format == MemoryFormat::Contiguous ? contiguous()
                                              : warpgym::call_method(*this, "contiguous", {format});
}

bool Tensor::is_contiguous(MemoryFormat format) const
{
    return format == MemoryFormat::Contiguous
               ? is_contiguous()
               : warpgym::call_for_truth(*this, "is_contiguous", {format});
}

bool Tensor::requires_grad() const
{
    return warpgym::attribute_truth(*this, "requires_grad");
}

Tensor Tensor::clone() const
{
    warpgym::Handle made = nullptr;
    if (aoti_torch_clone(held(handle_), &made) != 0)
        return warpgym::call_method(*this, "clone", {});
    return owning(made);
}

Tensor &Tensor::zero_()
{
    if (aoti_torch_zero_(held(handle_)) != 0)
        warpgym::call_method(*this, "zero_", {});
    return *this;
}

Tensor &Tensor::copy_(const Tensor &source, bool non_blocking)
{
    if (aoti_torch_copy_(held(handle_), held(source.handle_), non_blocking) != 0)
        warpgym::call_method(*this, "copy_", {source, non_blocking});
    return *this;
}

static Device placed(Device device)
{
    int32_t index = 0;
    if (device.is_cuda() && !device.has_index() && aoti_torch_get_current_device_index(&index) == 0)
        return {device.type(), static_cast<DeviceIndex>(index)};
    return device;
}

#define WARPGYM_MAX_DIMENSIONS 64

/* NULL where it can't be made so: Python then says why, or makes it. */
static warpgym::Handle try_empty(IntArrayRef sizes, const int64_t *strides,
                                 const TensorOptions &options)
{
    int64_t dense[WARPGYM_MAX_DIMENSIONS];
    warpgym::Handle made = nullptr;
    if (options.requires_grad() || options.pinned_memory() || sizes.size() > WARPGYM_MAX_DIMENSIONS)
        return nullptr;
    for (int64_t size : sizes)
        if (size < 0)
            return nullptr;
    for (size_t i = sizes.size(); i-- > 0;)
        dense[i] = i + 1 == sizes.size() ? 1 : dense[i + 1] * std::max<int64_t>(sizes[i + 1], 1);
    Device device = placed(options.device());
    if (aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(),
                                 strides ? strides : dense,
                                 static_cast<int32_t>(options.dtype().toScalarType()),
                                 static_cast<int32_t>(device.type()), device.index(), &made) != 0)
        return nullptr;
    return made;
}

/* Options that leave something out: Python has a default of its own for it. */
static TensorOptions complete(const TensorOptions &options)
{
    return options.dtype(options.dtype()).device(options.device());
}

Tensor empty(IntArrayRef sizes, const TensorOptions &options)
{
    warpgym::Handle made = options.has_dtype() ? try_empty(sizes, nullptr, options) : nullptr;
    return made ? Tensor::owning(made) : warpgym::call_function("empty", {sizes, options});
}

Tensor zeros(IntArrayRef sizes, const TensorOptions &options)
{
    warpgym::Handle made = options.has_dtype() ? try_empty(sizes, nullptr, options) : nullptr;
    if (!made)
        return warpgym::call_function("zeros", {sizes, options});
    Tensor zeroed = Tensor::owning(made);
    return zeroed.zero_();
}

static TensorOptions over(const Tensor &self, const TensorOptions &options)
{
    TensorOptions merged = options;
    if (!options.has_dtype())
        merged = merged.dtype(self.scalar_type());
    return options.has_device() ? merged : merged.device(self.device());
}

Tensor empty_like(const Tensor &self, const TensorOptions &options)
{
    TensorOptions wanted = over(self, options);
    warpgym::Handle made = self.is_contiguous() ? try_empty(self.sizes(), nullptr, wanted)
                                                : nullptr;
    return made ? Tensor::owning(made) : warpgym::call_function("empty_like", {self, options});
}

Tensor zeros_like(const Tensor &self, const TensorOptions &options)
{
    return empty_like(self, options).zero_();
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options)
{
    warpgym::Handle made = options.has_dtype() && sizes.size() == strides.size()
                               ? try_empty(sizes, strides.data(), options)
                               : nullptr;
    return made ? Tensor::owning(made)
                : warpgym::call_function("empty_strided", {sizes, strides, options});
}

Tensor from_blob(void *data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options)
{
    Device device = placed(options.device());
    warpgym::Handle made = nullptr;
    must(aoti_torch_create_tensor_from_blob(data, static_cast<int64_t>(sizes.size()), sizes.data(),
                                            strides.data(), 0,
                                            static_cast<int32_t>(options.dtype().toScalarType()),
                                            static_cast<int32_t>(device.type()), device.index(),
                                            &made),
         "from_blob");
    return Tensor::owning(made);
}

Tensor from_blob(void *data, IntArrayRef sizes, const TensorOptions &options)
{
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size(); i-- > 1;)
        strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
    return from_blob(data, sizes, strides, options);
}

Tensor empty(IntArrayRef sizes, const TensorOptions &options, MemoryFormat format)
{
    return warpgym::call_function("empty", {sizes, complete(options), format});
}

Tensor empty_like(const Tensor &self, const TensorOptions &options, MemoryFormat format)
{
    return warpgym::call_function("empty_like", {self, options, format});
}

Tensor full(IntArrayRef sizes, Scalar value, const TensorOptions &options)
{
    return warpgym::call_function("full", {sizes, value, options});
}

Tensor arange(Scalar end, const TensorOptions &options)
{
    return warpgym::call_function("arange", {end, options});
}

Tensor arange(Scalar start, Scalar end, const TensorOptions &options)
{
    return warpgym::call_function("arange", {start, end, options});
}

Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions &options)
{
    return warpgym::call_function("arange", {start, end, step, options});
}

Tensor tensor(Scalar value, const TensorOptions &options)
{
    return warpgym::call_function("tensor", {value, options});
}

Tensor conv2d(const Tensor &input, const Tensor &weight, const std::optional<Tensor> &bias,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups)
{
    return warpgym::call_function("conv2d",
                                  {input, weight, bias, stride, padding, dilation, groups});
}

Tensor einsum(const char *equation, TensorList operands)
{
    return warpgym::call_function("einsum", {equation, operands});
}

Tensor empty_like(const Tensor &self, MemoryFormat format)
{
    return warpgym::call_function("empty_like", {self, format});
}

Tensor eye(int64_t rows, const TensorOptions &options)
{
    return warpgym::call_function("eye", {rows, options});
}

Tensor cat(TensorList tensors, int64_t dimension)
{
    return warpgym::call_function("cat", {tensors, dimension});
}

Tensor stack(TensorList tensors, int64_t dimension)
{
    return warpgym::call_function("stack", {tensors, dimension});
}

static std::tuple<Tensor, Tensor> two(const char *name, warpgym::Values arguments)
{
    Tensor results[2];
    warpgym::call_for_many(name, arguments, results, 2);
    return {std::move(results[0]), std::move(results[1])};
}

std::tuple<Tensor, Tensor> Tensor::max(int64_t dimension, bool keepdim) const
{
    return two("max", {*this, dimension, keepdim});
}
std::tuple<Tensor, Tensor> Tensor::min(int64_t dimension, bool keepdim) const
{
    return two("min", {*this, dimension, keepdim});
}
std::tuple<Tensor, Tensor> Tensor::sort(int64_t dimension, bool descending) const
{
    return two("sort", {*this, dimension, descending});
}
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dimension, bool largest) const
{
    return two("topk", {*this, k, dimension, largest});
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dimension) const
{
    return warpgym::call_for_list("chunk", {*this, chunks, dimension});
}
std::vector<Tensor> Tensor::split(int64_t size, int64_t dimension) const
{
    return warpgym::call_for_list("split", {*this, size, dimension});
}
std::vector<Tensor> Tensor::unbind(int64_t dimension) const
{
    return warpgym::call_for_list("unbind", {*this, dimension});
}
Scalar Tensor::item() const
{
    return warpgym::call_for_scalar(*this, "item", {});
}
Tensor max(const Tensor &self)
{
    return self.max();
}
Tensor min(const Tensor &self)
{
    return self.min();
}
Tensor max(const Tensor &self, const Tensor &other)
{
    return warpgym::call_function("max", {self, other});
}
Tensor min(const Tensor &self, const Tensor &other)
{
    return warpgym::call_function("min", {self, other});
}
std::tuple<Tensor, Tensor> max(const Tensor &self, int64_t dimension, bool keepdim)
{
    return self.max(dimension, keepdim);
}
std::tuple<Tensor, Tensor> min(const Tensor &self, int64_t dimension, bool keepdim)
{
    return self.min(dimension, keepdim);
}

NoGradGuard::NoGradGuard() : before(aoti_torch_grad_mode_is_enabled())
{
    aoti_torch_grad_mode_set_enabled(false);
}
NoGradGuard::~NoGradGuard()
{
    aoti_torch_grad_mode_set_enabled(before);
}

int get_num_threads()
{
    return static_cast<int>(warpgym::query_torch_number("get_num_threads"));
}

void set_num_threads(int threads)
{
    warpgym::call_torch("set_num_threads", threads);
}

} // namespace at
