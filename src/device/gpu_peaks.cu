// What gpu_peaks.c measures a GPU with. No headers: any compiler of CUDA will do.
// Every thread of every kernel does the same amount; results go where no compiler can know that they are
// not wanted.

typedef unsigned long long u64;
typedef unsigned int u32;

#define DEPTH 8 // independent chains of each thread: enough to hide what one operation takes

static __device__ __forceinline__ u64 first()
{
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ u64 stride()
{
    return (u64)gridDim.x * blockDim.x;
}

// Passes the first cache by; never taken out of a loop.
static __device__ __forceinline__ uint4 load(const uint4 *at)
{
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at));
    return v;
}

// `count` vectors of 16 bytes, `rounds` times over.
extern "C" __global__ void read_bytes(const uint4 *from, uint4 *, u64 count, u64 rounds, u32 *sink)
{
    u32 sum = 0;
    for (u64 round = 0; round < rounds; round++) {
        u64 i = first();
        for (; i + 3 * stride() < count; i += 4 * stride()) {
            uint4 a = load(from + i);
            uint4 b = load(from + i + stride());
            uint4 c = load(from + i + 2 * stride());
            uint4 d = load(from + i + 3 * stride());
            sum += (a.x ^ a.y ^ a.z ^ a.w) + (b.x ^ b.y ^ b.z ^ b.w);
            sum += (c.x ^ c.y ^ c.z ^ c.w) + (d.x ^ d.y ^ d.z ^ d.w);
        }
        for (; i < count; i += stride()) {
            uint4 a = load(from + i);
            sum += a.x ^ a.y ^ a.z ^ a.w;
        }
    }
    if (sum == 0x9E3779B9)
        *sink = sum;
}

extern "C" __global__ void write_bytes(const uint4 *, uint4 *to, u64 count, u64 rounds, u32 *)
{
    for (u64 round = 0; round < rounds; round++)
        for (u64 i = first(); i < count; i += stride())
            to[i] = make_uint4((u32)round, (u32)i, 0, 0);
}

extern "C" __global__ void copy_bytes(const uint4 *from, uint4 *to, u64 count, u64 rounds, u32 *)
{
    for (u64 round = 0; round < rounds; round++) {
        u64 i = first();
        for (; i + stride() < count; i += 2 * stride()) {
            uint4 a = load(from + i);
            uint4 b = load(from + i + stride());
            to[i] = a;
            to[i + stride()] = b;
        }
        for (; i < count; i += stride())
            to[i] = load(from + i);
    }
}

template <typename T> static __device__ __forceinline__ void multiply_add(u64 rounds, u32 *sink)
{
    T sums[DEPTH];
    T a = (T)1.0001 + (T)threadIdx.x * (T)1e-6;
    T b = (T)0.5;
    for (int i = 0; i < DEPTH; i++)
        sums[i] = (T)i;
    for (u64 round = 0; round < rounds; round++)
#pragma unroll
        for (int again = 0; again < 8; again++)
#pragma unroll
            for (int i = 0; i < DEPTH; i++)
                sums[i] = sums[i] * a + b;
    T sum = 0;
    for (int i = 0; i < DEPTH; i++)
        sum += sums[i];
    if (sum == (T)12345.678)
        *sink = 1;
}

// A thread's operations in one round: 8 * DEPTH multiply-adds.
extern "C" __global__ void flops_f32(const uint4 *, uint4 *, u64, u64 rounds, u32 *sink)
{
    multiply_add<float>(rounds, sink);
}

extern "C" __global__ void flops_f64(const uint4 *, uint4 *, u64, u64 rounds, u32 *sink)
{
    multiply_add<double>(rounds, sink);
}

// Matrix units. A warp's operations in one round: 8 products of 16x8 by K.
#define MATRIX(name, code)                                                                         \
    extern "C" __global__ void name(const uint4 *, uint4 *, u64, u64 rounds, u32 *sink)           \
    {                                                                                              \
        float sums[DEPTH][4] = {};                                                                 \
        u32 a = threadIdx.x & 1, b = 0;                                                            \
        for (u64 round = 0; round < rounds; round++)                                               \
            _Pragma("unroll") for (int i = 0; i < DEPTH; i++)                                      \
                asm volatile(code " {%0,%1,%2,%3},{%4,%4,%4,%4},{%5,%5},{%0,%1,%2,%3};"            \
                             : "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]),               \
                               "+f"(sums[i][3])                                                    \
                             : "r"(a), "r"(b));                                                    \
        float sum = 0;                                                                             \
        for (int i = 0; i < DEPTH; i++)                                                            \
            sum += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];                              \
        if (sum == 12345.678f)                                                                     \
            *sink = 1;                                                                             \
    }

#if __CUDA_ARCH__ >= 800
MATRIX(flops_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MATRIX(flops_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
MATRIX(flops_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
#else // not measured there (gpu_peaks.c)
extern "C" __global__ void flops_f16(const uint4 *, uint4 *, u64, u64, u32 *) {}
extern "C" __global__ void flops_bf16(const uint4 *, uint4 *, u64, u64, u32 *) {}
extern "C" __global__ void flops_tf32(const uint4 *, uint4 *, u64, u64, u32 *) {}
#endif
