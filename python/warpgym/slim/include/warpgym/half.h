/* half: c10::Half and c10::BFloat16, on the host and on the device.
 *
 * Conversions round to nearest even. On the device they are single instructions, written as PTX so
 * that <cuda_fp16.h> (0.2 s) is parsed only where a candidate wants it.
 */
#pragma once

#include "core.h"

namespace warpgym
{

inline uint32_t bits_of(float value)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

WARPGYM_BOTH inline float float_of(uint32_t bits)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(bits);
#else
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

/* Halves by the host's float unit: their exponent is 112 less, and scaling by powers of two leaves
 * the rounding, subnormal numbers included, to it. */
inline float float_of_half(uint16_t half)
{
    uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    uint32_t rest = static_cast<uint32_t>(half & 0x7fff);
    float value = rest >= 0x7c00 ? float_of(rest << 13 | 0x7f800000)
                                 : float_of(rest << 13) * float_of(0x77800000);
    return float_of(bits_of(value) | sign);
}

inline uint16_t half_of_float(float value)
{
    uint32_t bits = bits_of(value);
    uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return static_cast<uint16_t>(sign | 0x7e00);
    if (bits >= 0x477ff000) /* 65520 and above round to infinity */
        return static_cast<uint16_t>(sign | 0x7c00);
    if (bits < 0x38800000) /* subnormal: the addition aligns and rounds */
        return static_cast<uint16_t>(sign | (bits_of(float_of(bits) + 0.5F) - 0x3f000000));
    return static_cast<uint16_t>(sign | ((bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13));
}

} // namespace warpgym

namespace c10
{

struct alignas(2) Half {
    uint16_t x;
    struct from_bits_t {
    };
    static constexpr WARPGYM_BOTH from_bits_t from_bits()
    {
        return {};
    }

    Half() = default;
    constexpr WARPGYM_BOTH Half(uint16_t bits, from_bits_t) : x(bits)
    {
    }
    WARPGYM_BOTH Half(float value)
    {
#ifdef __CUDA_ARCH__
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(value));
#else
        x = warpgym::half_of_float(value);
#endif
    }
    WARPGYM_BOTH operator float() const
    {
#ifdef __CUDA_ARCH__
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
        return value;
#else
        return warpgym::float_of_half(x);
#endif
    }
#ifdef __CUDA_FP16_TYPES_EXIST__
    WARPGYM_BOTH Half(const __half &value)
    {
        x = *reinterpret_cast<const uint16_t *>(&value);
    }
    WARPGYM_BOTH operator __half() const
    {
        return *reinterpret_cast<const __half *>(&x);
    }
#endif
};

struct alignas(2) BFloat16 {
    uint16_t x;
    struct from_bits_t {
    };
    static constexpr WARPGYM_BOTH from_bits_t from_bits()
    {
        return {};
    }

    BFloat16() = default;
    constexpr WARPGYM_BOTH BFloat16(uint16_t bits, from_bits_t) : x(bits)
    {
    }
    WARPGYM_BOTH BFloat16(float value)
    {
#ifdef __CUDA_ARCH__
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(value));
#else
        uint32_t bits = warpgym::bits_of(value);
        x = value != value ? static_cast<uint16_t>(0x7fc0)
                           : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
    }
    WARPGYM_BOTH operator float() const
    {
        return warpgym::float_of(static_cast<uint32_t>(x) << 16);
    }
#ifdef __CUDA_BF16_TYPES_EXIST__
    WARPGYM_BOTH BFloat16(const __nv_bfloat16 &value)
    {
        x = *reinterpret_cast<const uint16_t *>(&value);
    }
    explicit WARPGYM_BOTH operator __nv_bfloat16() const
    {
        return *reinterpret_cast<const __nv_bfloat16 *>(&x);
    }
#endif
};

/* Arithmetic goes through float, as PyTorch's does; a whole number counts as one of the type. */
#define WARPGYM_ARITHMETIC(T, OP)                                                                  \
    WARPGYM_BOTH inline T operator OP(T a, T b)                                                    \
    {                                                                                              \
        return static_cast<float>(a) OP static_cast<float>(b);                                     \
    }                                                                                              \
    WARPGYM_BOTH inline T &operator OP##=(T &a, T b)                                               \
    {                                                                                              \
        return a = a OP b;                                                                         \
    }                                                                                              \
    WARPGYM_BOTH inline float operator OP(T a, float b)                                            \
    {                                                                                              \
        return static_cast<float>(a) OP b;                                                         \
    }                                                                                              \
    WARPGYM_BOTH inline float operator OP(float a, T b)                                            \
    {                                                                                              \
        return a OP static_cast<float>(b);                                                         \
    }                                                                                              \
    WARPGYM_BOTH inline float &operator OP##=(float &a, T b)                                       \
    {                                                                                              \
        return a OP## = static_cast<float>(b);                                                     \
    }                                                                                              \
    WARPGYM_BOTH inline double operator OP(T a, double b)                                          \
    {                                                                                              \
        return static_cast<float>(a) OP b;                                                         \
    }                                                                                              \
    WARPGYM_BOTH inline double operator OP(double a, T b)                                          \
    {                                                                                              \
        return a OP static_cast<float>(b);                                                         \
    }                                                                                              \
    WARPGYM_BOTH inline T operator OP(T a, int b)                                                  \
    {                                                                                              \
        return a OP T(static_cast<float>(b));                                                      \
    }                                                                                              \
    WARPGYM_BOTH inline T operator OP(int a, T b)                                                  \
    {                                                                                              \
        return T(static_cast<float>(a)) OP b;                                                      \
    }                                                                                              \
    WARPGYM_BOTH inline T operator OP(T a, int64_t b)                                              \
    {                                                                                              \
        return a OP T(static_cast<float>(b));                                                      \
    }                                                                                              \
    WARPGYM_BOTH inline T operator OP(int64_t a, T b)                                              \
    {                                                                                              \
        return T(static_cast<float>(a)) OP b;                                                      \
    }
#define WARPGYM_NUMBER(T)                                                                          \
    WARPGYM_ARITHMETIC(T, +)                                                                       \
    WARPGYM_ARITHMETIC(T, -)                                                                       \
    WARPGYM_ARITHMETIC(T, *)                                                                       \
    WARPGYM_ARITHMETIC(T, /)                                                                       \
    WARPGYM_BOTH inline T operator-(T a)                                                           \
    {                                                                                              \
        return -static_cast<float>(a);                                                             \
    }
WARPGYM_NUMBER(Half)
WARPGYM_NUMBER(BFloat16)
#undef WARPGYM_NUMBER
#undef WARPGYM_ARITHMETIC

} // namespace c10
