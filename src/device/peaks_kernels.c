#include "device/peaks_kernels.h"

/* Latency 4 or 5, two a cycle: ten independent chains saturate every x86 there is. */
#define CHAINS 12

#if defined(__x86_64__)

/* Assembler, because a compiler would drop unused loads and merge operations on zeros.
 * Clobbering xmmN covers the whole register. Registers start as zero: no denormals, no NaN. */
#define CLOBBERS                                                                                   \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory"

#define EACH_CHAIN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CLEAR(n) "vpxor %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n\t"
#define FMA_PS_256(n) "vfmadd231ps %%ymm12, %%ymm13, %%ymm" #n "\n\t"
#define FMA_PD_256(n) "vfmadd231pd %%ymm12, %%ymm13, %%ymm" #n "\n\t"
#define FMA_PS_512(n) "vfmadd231ps %%zmm12, %%zmm13, %%zmm" #n "\n\t"
#define FMA_PD_512(n) "vfmadd231pd %%zmm12, %%zmm13, %%zmm" #n "\n\t"

#define FMA_KERNEL(name, instruction)                                                              \
    static void name(uint64_t rounds)                                                              \
    {                                                                                              \
        __asm__ volatile(EACH_CHAIN(CLEAR) CLEAR(12) CLEAR(13)::: CLOBBERS);                       \
        while (rounds-- > 0)                                                                       \
            __asm__ volatile(EACH_CHAIN(instruction)::: CLOBBERS);                                 \
        __asm__ volatile("vzeroupper" ::: CLOBBERS);                                               \
    }

FMA_KERNEL(f32_avx2, FMA_PS_256)
FMA_KERNEL(f64_avx2, FMA_PD_256)
FMA_KERNEL(f32_avx512, FMA_PS_512)
FMA_KERNEL(f64_avx512, FMA_PD_512)

static void read_avx2(const char *buffer, size_t bytes)
{
    for (const char *at = buffer; at < buffer + bytes; at += 256)
        __asm__ volatile("vmovaps (%0), %%ymm0\n\t"
                         "vmovaps 32(%0), %%ymm1\n\t"
                         "vmovaps 64(%0), %%ymm2\n\t"
                         "vmovaps 96(%0), %%ymm3\n\t"
                         "vmovaps 128(%0), %%ymm4\n\t"
                         "vmovaps 160(%0), %%ymm5\n\t"
                         "vmovaps 192(%0), %%ymm6\n\t"
                         "vmovaps 224(%0), %%ymm7\n\t" ::"r"(at)
                         : CLOBBERS);
    __asm__ volatile("vzeroupper" ::: CLOBBERS);
}

static void read_avx512(const char *buffer, size_t bytes)
{
    for (const char *at = buffer; at < buffer + bytes; at += 512)
        __asm__ volatile("vmovaps (%0), %%zmm0\n\t"
                         "vmovaps 64(%0), %%zmm1\n\t"
                         "vmovaps 128(%0), %%zmm2\n\t"
                         "vmovaps 192(%0), %%zmm3\n\t"
                         "vmovaps 256(%0), %%zmm4\n\t"
                         "vmovaps 320(%0), %%zmm5\n\t"
                         "vmovaps 384(%0), %%zmm6\n\t"
                         "vmovaps 448(%0), %%zmm7\n\t" ::"r"(at)
                         : CLOBBERS);
    __asm__ volatile("vzeroupper" ::: CLOBBERS);
}
#endif

typedef float floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(16)));

/* Keeps a value alive without storing it. */
#define USE(value) __asm__ volatile("" : "+m"(value))

#define PLAIN_KERNEL(name, type)                                                                   \
    static void name(uint64_t rounds)                                                              \
    {                                                                                              \
        type chain[CHAINS] = {0}, factor = {0}, term = {0};                                        \
        USE(factor);                                                                               \
        USE(term);                                                                                 \
        while (rounds-- > 0)                                                                       \
            for (int i = 0; i < CHAINS; i++)                                                       \
                chain[i] = chain[i] * factor + term;                                               \
        USE(chain);                                                                                \
    }

PLAIN_KERNEL(f32_plain, floats)
PLAIN_KERNEL(f64_plain, doubles)

static void read_plain(const char *buffer, size_t bytes)
{
    doubles sum[4] = {0};
    for (const doubles *at = (const void *)buffer; (const char *)at < buffer + bytes; at += 4)
        for (int i = 0; i < 4; i++)
            sum[i] += at[i];
    USE(sum);
}

const struct peaks_kernels *peaks_kernels_here(void)
{
    static const struct peaks_kernels plain = {"plain",    read_plain, f32_plain, f64_plain,
                                               CHAINS * 8, CHAINS * 4, 4};
#if defined(__x86_64__)
    static const struct peaks_kernels avx2 = {"avx2",      read_avx2,  f32_avx2, f64_avx2,
                                              CHAINS * 16, CHAINS * 8, 1};
    static const struct peaks_kernels avx512 = {"avx512",    read_avx512, f32_avx512, f64_avx512,
                                                CHAINS * 32, CHAINS * 16, 1};
    if (__builtin_cpu_supports("avx512f"))
        return &avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2;
#endif
    return &plain;
}
