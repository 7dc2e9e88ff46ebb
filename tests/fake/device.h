// A GPU for tests: kernels as host code, one block after the other, each of its threads a fiber.
// Put before a source that has kernels; FAKE_KERNELS(…) behind it names them (tests/fake/kernels).
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
    unsigned x, y, z;
};
struct float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

static dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;
alignas(16) static unsigned char fake_shared[262144];

enum { FAKE_THREADS = 1024, FAKE_STACK = 65536 };

struct fake_kernel {
    const char *name;
    void (*call)(void **parameters);
    const size_t *sizes;
    size_t count;
};

struct fake_barrier {
    unsigned live, arrived, generation;
};

// Where a fiber goes on. The compiler's own jumps: of the library's, a sanitizer looks over a whole
// stack each time.
typedef void *fake_place[5];

struct fake_fiber {
    ucontext_t start;
    fake_place at;
    bool begun, ended;
};

static fake_fiber fake_fibers[FAKE_THREADS];
static fake_barrier fake_block, fake_warps[FAKE_THREADS / 32];
static uint64_t fake_exchanged[FAKE_THREADS];
static unsigned fake_thread;
static fake_place fake_scheduler;
static const fake_kernel *fake_now;
static void **fake_parameters;

static __attribute__((noinline)) void fake_jump(fake_place &place)
{
    __builtin_longjmp(place, 1);
}

static __attribute__((noinline)) void fake_yield()
{
    if (__builtin_setjmp(fake_fibers[fake_thread].at) == 0)
        fake_jump(fake_scheduler);
}

static void fake_wait(fake_barrier &barrier)
{
    unsigned generation = barrier.generation;
    if (++barrier.arrived == barrier.live) {
        barrier.arrived = 0;
        barrier.generation++;
    }
    while (barrier.generation == generation)
        fake_yield();
}

static void fake_leave(fake_barrier &barrier)
{
    if (--barrier.live > 0 && barrier.arrived == barrier.live) {
        barrier.arrived = 0;
        barrier.generation++;
    }
}

static void fake_live()
{
    for (;;) {
        fake_now->call(fake_parameters);
        fake_leave(fake_block);
        fake_leave(fake_warps[fake_thread / 32]);
        fake_fibers[fake_thread].ended = true;
        fake_yield();
    }
}

static __attribute__((noinline)) void fake_resume(fake_fiber &fiber)
{
    if (__builtin_setjmp(fake_scheduler))
        return;
    if (fiber.begun)
        fake_jump(fiber.at);
    fiber.begun = true;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = malloc(FAKE_STACK);
    fiber.start.uc_stack.ss_size = FAKE_STACK;
    makecontext(&fiber.start, fake_live, 0);
    setcontext(&fiber.start);
}

static void fake_run_block(unsigned threads)
{
    fake_block = {threads, 0, 0};
    for (unsigned i = 0; i < threads; i += 32)
        fake_warps[i / 32] = {threads - i < 32 ? threads - i : 32, 0, 0};
    for (unsigned i = 0; i < threads; i++)
        fake_fibers[i].ended = false;
    while (fake_block.live > 0)
        for (unsigned i = 0; i < threads; i++) {
            if (fake_fibers[i].ended)
                continue;
            fake_thread = i;
            threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
            fake_resume(fake_fibers[i]);
        }
}

extern "C" void fake_launch(const fake_kernel *kernel, const unsigned grid[3],
                            const unsigned block[3], void **parameters)
{
    fake_now = kernel;
    fake_parameters = parameters;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    for (unsigned z = 0; z < grid[2]; z++)
        for (unsigned y = 0; y < grid[1]; y++)
            for (unsigned x = 0; x < grid[0]; x++) {
                blockIdx = {x, y, z};
                fake_run_block(block[0] * block[1] * block[2]);
            }
}

// What kernels call. Other threads may have run when these return; threadIdx is set anew each time.
static inline void __syncthreads()
{
    fake_wait(fake_block);
}
static inline void __syncwarp(unsigned = ~0u)
{
    fake_wait(fake_warps[fake_thread / 32]);
}

template <class T> static T fake_from_lane(T value, unsigned lane)
{
    static_assert(sizeof value <= sizeof(uint64_t));
    unsigned self = fake_thread, from = self / 32 * 32 + lane % 32;
    memcpy(&fake_exchanged[self], &value, sizeof value);
    __syncwarp();
    if (from < blockDim.x * blockDim.y * blockDim.z)
        memcpy(&value, &fake_exchanged[from], sizeof value);
    __syncwarp();
    return value;
}
template <class T> static T __shfl_sync(unsigned, T value, unsigned lane)
{
    return fake_from_lane(value, lane);
}
template <class T> static T __shfl_xor_sync(unsigned, T value, unsigned mask)
{
    return fake_from_lane(value, (fake_thread % 32) ^ mask);
}
template <class T> static T __shfl_down_sync(unsigned, T value, unsigned by)
{
    unsigned lane = fake_thread % 32;
    return fake_from_lane(value, lane + by < 32 ? lane + by : lane);
}
template <class T> static T __shfl_up_sync(unsigned, T value, unsigned by)
{
    unsigned lane = fake_thread % 32;
    return fake_from_lane(value, lane >= by ? lane - by : lane);
}
template <class T, class U> static T atomicAdd(T *at, U value)
{
    T old = *at;
    *at = old + value;
    return old;
}
template <class T, class U> static T atomicMax(T *at, U value)
{
    T old = *at;
    *at = old > value ? old : value;
    return old;
}
template <class T> static T __ldg(const T *at)
{
    return *at;
}
template <class T, class U> static auto min(T a, U b)
{
    return a < b ? a : b;
}
template <class T, class U> static auto max(T a, U b)
{
    return a > b ? a : b;
}
static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
#define __expf(x) expf(x)
#define __fdividef(a, b) ((a) / (b))
#define __fadd_rn(a, b) ((a) + (b))
#define __dadd_rn(a, b) ((a) + (b))
#define __dmul_rn(a, b) ((a) * (b))
template <class To, class From> static To fake_bits(From from)
{
    To to;
    static_assert(sizeof to == sizeof from);
    memcpy(&to, &from, sizeof to);
    return to;
}
#define __float_as_int fake_bits<int, float>
#define __float_as_uint fake_bits<unsigned, float>
#define __int_as_float fake_bits<float, int>
#define __uint_as_float fake_bits<float, unsigned>
#define __longlong_as_double fake_bits<double, long long>
#define __double_as_longlong fake_bits<long long, double>

// The table of kernels, with what their parameters look like.
template <class... A, size_t... i>
static void fake_apply(void (*kernel)(A...), void **parameters, std::index_sequence<i...>)
{
    kernel(*(A *)parameters[i]...);
}
template <class F> struct fake_shape;
template <class... A> struct fake_shape<void (*)(A...)> {
    static constexpr size_t count = sizeof...(A);
    static constexpr size_t sizes[count + 1] = {sizeof(A)..., 0};
    template <void (*kernel)(A...)> static void call(void **parameters)
    {
        fake_apply(kernel, parameters, std::index_sequence_for<A...>{});
    }
};
#define FAKE_KERNEL(kernel)                                                                        \
    {#kernel, fake_shape<decltype(&kernel)>::call<kernel>, fake_shape<decltype(&kernel)>::sizes,   \
     fake_shape<decltype(&kernel)>::count},
