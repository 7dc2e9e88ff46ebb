/* types: element types, devices, options and scalars, as PyTorch numbers and names them. */
#pragma once

#include "core.h"
#include "half.h"

namespace c10
{

/* X(C++ type, name): the types that tensors of kernels have; the numbers are PyTorch's. */
#define WARPGYM_SCALAR_TYPES(X)                                                                    \
    X(uint8_t, Byte, 0)                                                                            \
    X(int8_t, Char, 1)                                                                             \
    X(int16_t, Short, 2)                                                                           \
    X(int32_t, Int, 3)                                                                             \
    X(int64_t, Long, 4)                                                                            \
    X(c10::Half, Half, 5)                                                                          \
    X(float, Float, 6)                                                                             \
    X(double, Double, 7)                                                                           \
    X(bool, Bool, 11)                                                                              \
    X(c10::BFloat16, BFloat16, 15)                                                                 \
    X(uint16_t, UInt16, 27)                                                                        \
    X(uint32_t, UInt32, 28)                                                                        \
    X(uint64_t, UInt64, 29)

enum class ScalarType : int8_t {
#define X(type, name, number) name = number,
    WARPGYM_SCALAR_TYPES(X)
#undef X
        Undefined = 127 /* whatever its number is there: tensors never have it here */
};

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14 };
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class Layout : int8_t { Strided };
using DeviceIndex = int8_t;

const char *toString(ScalarType type);
size_t elementSize(ScalarType type);
bool isFloatingType(ScalarType type);
bool isIntegralType(ScalarType type, bool with_bool);

#define X(type, name, number) constexpr ScalarType k##name = ScalarType::name;
WARPGYM_SCALAR_TYPES(X)
#undef X
constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong,
                     kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble;
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;
constexpr Layout kStrided = Layout::Strided;

template <class T> struct CppTypeToScalarType;
#define X(type, name, number)                                                                      \
    template <>                                                                                    \
    struct CppTypeToScalarType<type> : std::integral_constant<ScalarType, ScalarType::name> {      \
    };
WARPGYM_SCALAR_TYPES(X)
#undef X

namespace impl
{
template <ScalarType N> struct ScalarTypeToCPPType;
#define X(cpp, name, number)                                                                       \
    template <> struct ScalarTypeToCPPType<ScalarType::name> {                                     \
        using type = cpp;                                                                          \
    };
WARPGYM_SCALAR_TYPES(X)
#undef X
template <ScalarType N> using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
} // namespace impl

struct Device {
    Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index)
    {
    }
    Device(const char *name); /* "cuda:0" */
    template <class S, class = decltype(std::declval<const S &>().c_str())>
    Device(const S &name) : Device(name.c_str())
    {
    }
    DeviceType type() const
    {
        return type_;
    }
    DeviceIndex index() const
    {
        return index_;
    }
    bool has_index() const
    {
        return index_ != -1;
    }
    bool is_cuda() const
    {
        return type_ == kCUDA;
    }
    bool is_cpu() const
    {
        return type_ == kCPU;
    }
    friend bool operator==(Device a, Device b)
    {
        return a.type_ == b.type_ && a.index_ == b.index_;
    }
    friend bool operator!=(Device a, Device b)
    {
        return !(a == b);
    }

  private:
    DeviceType type_;
    DeviceIndex index_;
};

} // namespace c10

namespace caffe2
{

/* What Tensor::dtype gives: compares with element types and goes into options. */
class TypeMeta
{
    c10::ScalarType type_;

  public:
    TypeMeta(c10::ScalarType type) : type_(type)
    {
    }
    c10::ScalarType toScalarType() const
    {
        return type_;
    }
    size_t itemsize() const
    {
        return c10::elementSize(type_);
    }
    const char *name() const; /* "float", "c10::Half" */
    friend bool operator==(TypeMeta a, TypeMeta b)
    {
        return a.type_ == b.type_;
    }
    friend bool operator!=(TypeMeta a, TypeMeta b)
    {
        return a.type_ != b.type_;
    }
};

} // namespace caffe2

namespace c10
{

inline ScalarType typeMetaToScalarType(caffe2::TypeMeta type)
{
    return type.toScalarType();
}

struct TensorOptions {
    TensorOptions() = default;
    TensorOptions(ScalarType type) : dtype_(type)
    {
    }
    TensorOptions(caffe2::TypeMeta type) : dtype_(type.toScalarType())
    {
    }
    TensorOptions(Device device) : device_(device)
    {
    }
    TensorOptions(DeviceType type) : device_(Device(type))
    {
    }

    TensorOptions dtype(ScalarType type) const
    {
        return with(&TensorOptions::dtype_, type);
    }
    TensorOptions dtype(caffe2::TypeMeta type) const
    {
        return dtype(type.toScalarType());
    }
    template <class T> TensorOptions dtype() const
    {
        return dtype(CppTypeToScalarType<T>::value);
    }
    TensorOptions device(Device device) const
    {
        return with(&TensorOptions::device_, device);
    }
    TensorOptions device(DeviceType type, DeviceIndex index = -1) const
    {
        return device(Device(type, index));
    }
    TensorOptions device_index(DeviceIndex index) const
    {
        return device(kCUDA, index);
    }
    TensorOptions layout(Layout) const
    {
        return *this;
    }
    TensorOptions requires_grad(bool on) const
    {
        return with(&TensorOptions::requires_grad_, on);
    }
    TensorOptions pinned_memory(bool on) const
    {
        return with(&TensorOptions::pinned_memory_, on);
    }

    caffe2::TypeMeta dtype() const
    {
        return dtype_.value_or(kFloat);
    }
    Device device() const
    {
        return device_.value_or(Device(kCPU));
    }
    bool has_dtype() const
    {
        return dtype_.has_value();
    }
    bool has_device() const
    {
        return device_.has_value();
    }
    bool requires_grad() const
    {
        return requires_grad_;
    }
    bool pinned_memory() const
    {
        return pinned_memory_;
    }

  private:
    std::optional<ScalarType> dtype_;
    std::optional<Device> device_;
    bool requires_grad_ = false, pinned_memory_ = false;
    template <class M, class V> TensorOptions with(M TensorOptions::*member, V value) const
    {
        TensorOptions changed = *this;
        changed.*member = value;
        return changed;
    }
};

/* A number as Python has them: whole, real or a truth. */
class Scalar
{
    enum class Kind : int8_t { whole, real, truth } kind_ = Kind::whole;
    union {
        int64_t whole_ = 0;
        double real_;
    };

  public:
    Scalar() = default;
    Scalar(bool value) : kind_(Kind::truth), whole_(value)
    {
    }
    template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
    Scalar(T value) : whole_(static_cast<int64_t>(value))
    {
    }
    Scalar(double value) : kind_(Kind::real), real_(value)
    {
    }
    Scalar(float value) : Scalar(static_cast<double>(value))
    {
    }
    Scalar(Half value) : Scalar(static_cast<float>(value))
    {
    }
    Scalar(BFloat16 value) : Scalar(static_cast<float>(value))
    {
    }
    bool isFloatingPoint() const
    {
        return kind_ == Kind::real;
    }
    bool isBoolean() const
    {
        return kind_ == Kind::truth;
    }
    bool isIntegral(bool with_bool) const
    {
        return kind_ == Kind::whole || (with_bool && isBoolean());
    }
    template <class T> T to() const
    {
        return isFloatingPoint() ? static_cast<T>(real_) : static_cast<T>(whole_);
    }
    double toDouble() const
    {
        return to<double>();
    }
    float toFloat() const
    {
        return to<float>();
    }
    int64_t toLong() const
    {
        return to<int64_t>();
    }
    int toInt() const
    {
        return to<int>();
    }
    bool toBool() const
    {
        return to<bool>();
    }
};

} // namespace c10

namespace warpgym
{

inline Text &operator<<(Text &text, c10::ScalarType type)
{
    return text << c10::toString(type);
}
inline Text &operator<<(Text &text, caffe2::TypeMeta type)
{
    return text << type.name();
}
Text &operator<<(Text &text, c10::Device device);
Text &operator<<(Text &text, c10::DeviceType type);

} // namespace warpgym

namespace c10
{

template <class C, class R>
std::basic_ostream<C, R> &operator<<(std::basic_ostream<C, R> &out, ScalarType type)
{
    return out << toString(type);
}
template <class C, class R>
std::basic_ostream<C, R> &operator<<(std::basic_ostream<C, R> &out, Device device)
{
    warpgym::Text text;
    return out << (text << device).c_str();
}

} // namespace c10
