/* dispatch: AT_DISPATCH_…: a lambda for the element type at hand. */
#pragma once

#include "types.h"

namespace warpgym
{
inline c10::ScalarType dispatched(c10::ScalarType type)
{
    return type;
}
[[noreturn]] inline void not_implemented_for(const char *name, c10::ScalarType type)
{
    check_failed(Raise::not_implemented, "", '"', name, "\" not implemented for '",
                 c10::toString(type), "'");
}
} // namespace warpgym

#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                        \
    [&] {                                                                                          \
        const ::c10::ScalarType warpgym_type_ = ::warpgym::dispatched(TYPE);                       \
        switch (warpgym_type_) {                                                                   \
            __VA_ARGS__                                                                            \
        default:                                                                                   \
            ::warpgym::not_implemented_for(NAME, warpgym_type_);                                   \
        }                                                                                          \
    }()
#define AT_DISPATCH_CASE(SCALAR_TYPE, ...)                                                         \
    case SCALAR_TYPE: {                                                                            \
        using scalar_t [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<SCALAR_TYPE>;          \
        return __VA_ARGS__();                                                                      \
    }
#define AT_DISPATCH_CASE_INDEX(SCALAR_TYPE, ...)                                                   \
    case SCALAR_TYPE: {                                                                            \
        using index_t [[maybe_unused]] = ::c10::impl::ScalarTypeToCPPTypeT<SCALAR_TYPE>;           \
        return __VA_ARGS__();                                                                      \
    }

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)                                                       \
    AT_DISPATCH_CASE(::c10::kDouble, __VA_ARGS__)                                                  \
    AT_DISPATCH_CASE(::c10::kFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...)                                               \
    AT_DISPATCH_CASE(::c10::kHalf, __VA_ARGS__)                                                    \
    AT_DISPATCH_CASE(::c10::kBFloat16, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)                                                       \
    AT_DISPATCH_CASE(::c10::kByte, __VA_ARGS__)                                                    \
    AT_DISPATCH_CASE(::c10::kChar, __VA_ARGS__)                                                    \
    AT_DISPATCH_CASE(::c10::kInt, __VA_ARGS__)                                                     \
    AT_DISPATCH_CASE(::c10::kLong, __VA_ARGS__)                                                    \
    AT_DISPATCH_CASE(::c10::kShort, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)                                                            \
    AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__)                                                   \
    AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(T, NAME, ...)                                                   \
    AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(T, NAME, ...)                                          \
    AT_DISPATCH_FLOATING_TYPES_AND(::c10::kHalf, T, NAME, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND(A, T, NAME, ...)                                            \
    AT_DISPATCH_SWITCH(T, NAME,                                                                    \
                       AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)                                \
                           AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(A, B, T, NAME, ...)                                        \
    AT_DISPATCH_SWITCH(T, NAME,                                                                    \
                       AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)                                \
                           AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(A, B, C, T, NAME, ...)                                     \
    AT_DISPATCH_SWITCH(T, NAME,                                                                    \
                       AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)                                \
                           AT_DISPATCH_CASE(A, __VA_ARGS__) AT_DISPATCH_CASE(B, __VA_ARGS__)       \
                               AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(T, NAME, ...)                                           \
    AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(T, NAME, ...)                                                   \
    AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(T, NAME, ...)                                                        \
    AT_DISPATCH_SWITCH(T, NAME, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(A, T, NAME, ...)                                                 \
    AT_DISPATCH_SWITCH(T, NAME,                                                                    \
                       AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(A, B, T, NAME, ...)                                             \
    AT_DISPATCH_SWITCH(T, NAME,                                                                    \
                       AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)    \
                           AT_DISPATCH_CASE(B, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(A, B, C, T, NAME, ...)                                          \
    AT_DISPATCH_SWITCH(T, NAME,                                                                    \
                       AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(A, __VA_ARGS__)    \
                           AT_DISPATCH_CASE(B, __VA_ARGS__) AT_DISPATCH_CASE(C, __VA_ARGS__))
#define AT_DISPATCH_INDEX_TYPES(T, NAME, ...)                                                      \
    AT_DISPATCH_SWITCH(T, NAME,                                                                    \
                       AT_DISPATCH_CASE_INDEX(::c10::kInt, __VA_ARGS__)                            \
                           AT_DISPATCH_CASE_INDEX(::c10::kLong, __VA_ARGS__))

namespace at
{

/* What sums of a type are kept in. */
template <class T, bool device> struct AccumulateType {
    using type =
        std::conditional_t<std::is_integral_v<T>, int64_t,
                           std::conditional_t<device || !std::is_same_v<T, float>, T, double>>;
};
template <bool device> struct AccumulateType<c10::Half, device> {
    using type = float;
};
template <bool device> struct AccumulateType<c10::BFloat16, device> {
    using type = float;
};
template <> struct AccumulateType<bool, true> {
    using type = bool;
};
template <class T, bool device> using acc_type = typename AccumulateType<T, device>::type;

template <class T> struct OpMathType {
    using type = T;
};
template <> struct OpMathType<c10::Half> {
    using type = float;
};
template <> struct OpMathType<c10::BFloat16> {
    using type = float;
};
template <class T> using opmath_type = typename OpMathType<T>::type;

} // namespace at
