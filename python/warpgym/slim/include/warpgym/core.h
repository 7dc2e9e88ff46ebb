/* core: errors, their messages, and views of arrays, under PyTorch's names.
 *
 * The slim headers declare the part of PyTorch's C++ API that kernels use; what is no template is
 * defined in glue.cpp, which is compiled once for each PyTorch and linked into every extension.
 * They are parsed by three compilers for each candidate, so each #include has to earn its place:
 * <string> alone would cost 0.36 of 0.9 s. What a source uses of the standard library beyond these
 * is included for it by src/judge/build/extension_flags.c, which looks for the words.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __CUDACC__
#define WARPGYM_BOTH __host__ __device__
#else
#define WARPGYM_BOTH
#endif

namespace warpgym
{

/* A message under construction; numbers look as an ostream would print them. */
class Text
{
    char *data_ = nullptr;
    size_t length_ = 0;

  public:
    Text() = default;
    Text(const Text &) = delete;
    Text &operator=(const Text &) = delete;
    ~Text();
    const char *c_str() const
    {
        return data_ ? data_ : "";
    }
    Text &add(const char *bytes, size_t count);
    Text &add_signed(long long value);
    Text &add_unsigned(unsigned long long value);
    Text &add_double(double value);
    Text &operator<<(const char *text);
    Text &operator<<(char c)
    {
        return add(&c, 1);
    }
    Text &operator<<(bool value)
    {
        return add_signed(value);
    }
    Text &operator<<(double value)
    {
        return add_double(value);
    }
    Text &operator<<(float value)
    {
        return add_double(static_cast<double>(value));
    }
    template <class T> std::enable_if_t<std::is_integral_v<T>, Text &> operator<<(T value)
    {
        if constexpr (std::is_signed_v<T>)
            return add_signed(value);
        else
            return add_unsigned(value);
    }
    /* Strings and their views, with or without their headers. */
    template <class T>
    auto operator<<(const T &text)
        -> decltype(static_cast<const char *>(text.data()), text.length(), *this)
    {
        return add(text.data(), text.length());
    }
};

enum class Raise { runtime, value, index, type, not_implemented };

[[noreturn]] void raise(Raise kind, const Text &text);
void warn(const Text &text);

/* Without words of the caller's, PyTorch says which condition failed. */
template <class... A>
[[noreturn]] void check_failed(Raise kind, const char *otherwise, const A &...parts)
{
    Text text;
    if constexpr (sizeof...(A) == 0)
        text << otherwise;
    else
        (void)(text << ... << parts);
    raise(kind, text);
}

template <class... A> void warn_of(const A &...parts)
{
    Text text;
    (void)(text << ... << parts);
    warn(text);
}

} // namespace warpgym

namespace c10
{

/* What TORCH_CHECK throws; Python sees a RuntimeError, or what the kind says. */
class Error : public std::exception
{
    char *text_;
    warpgym::Raise kind_;

  public:
    Error(warpgym::Raise kind, const char *text);
    Error(const Error &other);
    Error &operator=(const Error &) = delete;
    ~Error() override;
    const char *what() const noexcept override;
    const char *what_without_backtrace() const noexcept
    {
        return what();
    }
    warpgym::Raise kind() const
    {
        return kind_;
    }
};

template <class T> class ArrayRef
{
    const T *data_ = nullptr;
    size_t size_ = 0;

  public:
    using value_type = T;
    using iterator = const T *;
    using const_iterator = const T *;

    constexpr ArrayRef() = default;
    constexpr ArrayRef(const T &one) : data_(&one), size_(1)
    {
    }
    constexpr ArrayRef(const T *data, size_t size) : data_(data), size_(size)
    {
    }
    constexpr ArrayRef(const T *begin, const T *end)
        : data_(begin), size_(static_cast<size_t>(end - begin))
    {
    }
    /* Vectors, std::array and their like. */
    template <class C, class = std::enable_if_t<
                           std::is_same_v<decltype(std::declval<const C &>().data()), const T *>>>
    constexpr ArrayRef(const C &container) : data_(container.data()), size_(container.size())
    {
    }
    template <size_t N> constexpr ArrayRef(const T (&array)[N]) : data_(array), size_(N)
    {
    }
    constexpr ArrayRef(const std::initializer_list<T> &list)
        : data_(list.begin()), size_(list.size())
    {
    }

    constexpr const T *begin() const
    {
        return data_;
    }
    constexpr const T *end() const
    {
        return data_ + size_;
    }
    constexpr const T *data() const
    {
        return data_;
    }
    constexpr size_t size() const
    {
        return size_;
    }
    constexpr bool empty() const
    {
        return size_ == 0;
    }
    constexpr const T &operator[](size_t index) const
    {
        return data_[index];
    }
    const T &at(size_t index) const
    {
        if (index >= size_)
            warpgym::check_failed(warpgym::Raise::runtime, "",
                                  "ArrayRef: invalid index Index = ", index, "; Length = ", size_);
        return data_[index];
    }
    const T &front() const
    {
        return at(0);
    }
    const T &back() const
    {
        return at(size_ - 1);
    }
    constexpr ArrayRef slice(size_t from, size_t count) const
    {
        return {data_ + from, count};
    }
    constexpr ArrayRef slice(size_t from) const
    {
        return {data_ + from, size_ - from};
    }
    std::vector<T> vec() const
    {
        return {begin(), end()};
    }
    bool equals(ArrayRef other) const
    {
        bool same = size_ == other.size_;
        for (size_t i = 0; same && i < size_; i++)
            same = data_[i] == other.data_[i];
        return same;
    }
    friend bool operator==(ArrayRef a, ArrayRef b)
    {
        return a.equals(b);
    }
    friend bool operator!=(ArrayRef a, ArrayRef b)
    {
        return !a.equals(b);
    }
};

using IntArrayRef = ArrayRef<int64_t>;

template <class T> using optional = std::optional<T>;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;

/* To print shapes. */
template <class C, class R, class T>
std::basic_ostream<C, R> &operator<<(std::basic_ostream<C, R> &out, ArrayRef<T> items)
{
    out << "[";
    for (size_t i = 0; i < items.size(); i++)
        out << (i ? ", " : "") << items[i];
    return out << "]";
}

/* The numbers up to `end`, for a loop over them. */
template <class T> struct IntegerRange {
    struct iterator {
        T at;
        T operator*() const
        {
            return at;
        }
        iterator &operator++()
        {
            ++at;
            return *this;
        }
        bool operator!=(const iterator &other) const
        {
            return at != other.at;
        }
    };
    T from, to;
    iterator begin() const
    {
        return {from};
    }
    iterator end() const
    {
        return {from < to ? to : from};
    }
};
template <class T> IntegerRange<T> irange(T end)
{
    return {T(0), end};
}
template <class A, class B> IntegerRange<B> irange(A begin, B end)
{
    return {static_cast<B>(begin), end};
}

} // namespace c10

namespace warpgym
{

template <class T> Text &operator<<(Text &text, c10::ArrayRef<T> items)
{
    text << "[";
    for (size_t i = 0; i < items.size(); i++)
        text << (i ? ", " : "") << items[i];
    return text << "]";
}

template <class T> Text &operator<<(Text &text, const std::vector<T> &items)
{
    return text << c10::ArrayRef<T>(items);
}

} // namespace warpgym

#define WARPGYM_CHECK(KIND, CONDITION, ...)                                                        \
    if (__builtin_expect(!(CONDITION), 0))                                                         \
    ::warpgym::check_failed(::warpgym::Raise::KIND,                                                \
                            "Expected " #CONDITION                                                 \
                            " to be true, but got false.  (Could this error message be "           \
                            "improved?  If so, please report an enhancement request to PyTorch.)", \
                            ##__VA_ARGS__)

#define TORCH_CHECK(CONDITION, ...) WARPGYM_CHECK(runtime, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(CONDITION, ...) WARPGYM_CHECK(value, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(CONDITION, ...) WARPGYM_CHECK(index, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(CONDITION, ...) WARPGYM_CHECK(type, CONDITION, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(CONDITION, ...)                                                \
    WARPGYM_CHECK(not_implemented, CONDITION, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(CONDITION, ...) WARPGYM_CHECK(runtime, CONDITION, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(...) ((void)0)
#define AT_ASSERT(CONDITION, ...) WARPGYM_CHECK(runtime, CONDITION, ##__VA_ARGS__)
#define AT_ASSERTM(CONDITION, ...) WARPGYM_CHECK(runtime, CONDITION, ##__VA_ARGS__)
#define AT_ERROR(...) ::warpgym::check_failed(::warpgym::Raise::runtime, "", ##__VA_ARGS__)
#define TORCH_WARN(...) ::warpgym::warn_of(__VA_ARGS__)
#define AT_WARN(...) ::warpgym::warn_of(__VA_ARGS__)
#define TORCH_WARN_ONCE(...)                                                                       \
    do {                                                                                           \
        static const bool warpgym_warned_ = (::warpgym::warn_of(__VA_ARGS__), true);               \
        (void)warpgym_warned_;                                                                     \
    } while (0)

#define WARPGYM_COMPARE(A, OP, B)                                                                  \
    TORCH_CHECK((A)OP(B), "Check failed: " #A " " #OP " " #B " (", (A), " vs. ", (B), "). ")
#define TORCH_CHECK_EQ(A, B) WARPGYM_COMPARE(A, ==, B)
#define TORCH_CHECK_NE(A, B) WARPGYM_COMPARE(A, !=, B)
#define TORCH_CHECK_LT(A, B) WARPGYM_COMPARE(A, <, B)
#define TORCH_CHECK_LE(A, B) WARPGYM_COMPARE(A, <=, B)
#define TORCH_CHECK_GT(A, B) WARPGYM_COMPARE(A, >, B)
#define TORCH_CHECK_GE(A, B) WARPGYM_COMPARE(A, >=, B)

#define C10_HOST_DEVICE WARPGYM_BOTH
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_UNUSED __attribute__((__unused__))
#define C10_ALWAYS_INLINE __attribute__((__always_inline__)) inline
#define C10_API
#define TORCH_API
#define TORCH_CUDA_CU_API
#define TORCH_CUDA_CPP_API
