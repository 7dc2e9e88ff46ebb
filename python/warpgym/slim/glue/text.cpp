/* text: messages, errors, and the names of types. */
#include "shim.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace warpgym
{

Text::~Text()
{
    free(data_);
}

Text &Text::add(const char *bytes, size_t count)
{
    char *grown = static_cast<char *>(realloc(data_, length_ + count + 1));
    if (!grown)
        throw std::bad_alloc();
    data_ = grown;
    memcpy(data_ + length_, bytes, count);
    length_ += count;
    data_[length_] = '\0';
    return *this;
}

Text &Text::operator<<(const char *text)
{
    return text ? add(text, strlen(text)) : *this;
}

template <class T> static Text &add_formatted(Text &text, const char *format, T value)
{
    char digits[64];
    return text.add(digits, static_cast<size_t>(snprintf(digits, sizeof digits, format, value)));
}

Text &Text::add_signed(long long value)
{
    return add_formatted(*this, "%lld", value);
}

Text &Text::add_unsigned(unsigned long long value)
{
    return add_formatted(*this, "%llu", value);
}

Text &Text::add_double(double value)
{
    return add_formatted(*this, "%g", value);
}

Text &operator<<(Text &text, c10::DeviceType type)
{
    return text << (type == c10::kCUDA ? "cuda" : type == c10::kCPU ? "cpu" : "meta");
}

Text &operator<<(Text &text, c10::Device device)
{
    text << device.type();
    return device.has_index() ? text << ":" << static_cast<int>(device.index()) : text;
}

void raise(Raise kind, const Text &text)
{
    throw c10::Error(kind, text.c_str());
}

} // namespace warpgym

namespace c10
{

Error::Error(warpgym::Raise kind, const char *text) : text_(strdup(text)), kind_(kind)
{
}
Error::Error(const Error &other)
    : std::exception(other), text_(strdup(other.what())), kind_(other.kind_)
{
}
Error::~Error()
{
    free(text_);
}
const char *Error::what() const noexcept
{
    return text_ ? text_ : "";
}

const char *toString(ScalarType type)
{
    switch (type) {
#define X(cpp, name, number)                                                                       \
    case ScalarType::name:                                                                         \
        return #name;
        WARPGYM_SCALAR_TYPES(X)
#undef X
    default:
        return "Undefined";
    }
}

size_t elementSize(ScalarType type)
{
    switch (type) {
#define X(cpp, name, number)                                                                       \
    case ScalarType::name:                                                                         \
        return sizeof(cpp);
        WARPGYM_SCALAR_TYPES(X)
#undef X
    default:
        warpgym::check_failed(warpgym::Raise::runtime, "", "Unknown ScalarType");
    }
}

bool isFloatingType(ScalarType type)
{
    return type == kHalf || type == kFloat || type == kDouble || type == kBFloat16;
}

bool isIntegralType(ScalarType type, bool with_bool)
{
    return type == kBool ? with_bool : !isFloatingType(type) && type != ScalarType::Undefined;
}

Device::Device(const char *name) : type_(kCPU), index_(-1)
{
    size_t length = strcspn(name, ":");
    bool cuda = length == 4 && memcmp(name, "cuda", 4) == 0;
    TORCH_CHECK(cuda || (length == 3 && memcmp(name, "cpu", 3) == 0), "Invalid device string: '",
                name, "'");
    type_ = cuda ? kCUDA : kCPU;
    if (name[length])
        index_ = static_cast<DeviceIndex>(atoi(name + length + 1));
}

} // namespace c10

namespace caffe2
{

const char *TypeMeta::name() const
{
    switch (type_) {
    case c10::kByte:
        return "unsigned char";
    case c10::kChar:
        return "signed char";
    case c10::kShort:
        return "short";
    case c10::kInt:
        return "int";
    case c10::kLong:
        return "long";
    case c10::kUInt16:
        return "unsigned short";
    case c10::kUInt32:
        return "unsigned int";
    case c10::kUInt64:
        return "unsigned long";
#define X(cpp, name, number)                                                                       \
    case c10::ScalarType::name:                                                                    \
        return #cpp;
        X(c10::Half, Half, 5)
        X(c10::BFloat16, BFloat16, 15)
        X(float, Float, 6)
        X(double, Double, 7)
        X(bool, Bool, 11)
#undef X
    default:
        return "nullptr (uninitialized)";
    }
}

} // namespace caffe2
