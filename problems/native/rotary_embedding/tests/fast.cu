// One block for all heads of a token, whose angles are then loaded once; four pairs a thread where
// `half` allows it.
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 256 };

template <int N> struct alignas(4 * N) pack {
    float at[N];
};

/* `half` counts packs. */
template <int N>
__global__ static void rotate(const pack<N> *__restrict__ x, const pack<N> *__restrict__ cosine,
                              const pack<N> *__restrict__ sine,
                              const int32_t *__restrict__ position, pack<N> *__restrict__ y,
                              size_t heads, size_t half)
{
    size_t token = blockIdx.x, angles = (size_t)position[token] * half;
    for (size_t i = threadIdx.x; i < half; i += blockDim.x) {
        pack<N> c = cosine[angles + i], s = sine[angles + i];
        for (size_t head = threadIdx.y; head < heads; head += blockDim.y) {
            size_t at = (token * heads + head) * 2 * half + i;
            pack<N> first = x[at], second = x[at + half], low, high;
            for (int k = 0; k < N; k++) {
                low.at[k] = first.at[k] * c.at[k] - second.at[k] * s.at[k];
                high.at[k] = second.at[k] * c.at[k] + first.at[k] * s.at[k];
            }
            y[at] = low;
            y[at + half] = high;
        }
    }
}

template <int N>
static void launch(const float *x, const float *cosine, const float *sine, const int32_t *position,
                   float *y, size_t tokens, size_t heads, size_t half)
{
    unsigned across = half < THREADS ? (unsigned)half : THREADS, rows = THREADS / across;
    if (rows > heads)
        rows = (unsigned)heads;
    rotate<N><<<tokens, dim3(across, rows)>>>((const pack<N> *)x, (const pack<N> *)cosine,
                                              (const pack<N> *)sine, position, (pack<N> *)y, heads,
                                              half);
}

extern "C" void solution(const float *x, const float *cosine, const float *sine,
                         const int32_t *position, float *y, size_t tokens, size_t heads,
                         size_t half, size_t context)
{
    (void)context;
    if (half % 4 == 0)
        launch<4>(x, cosine, sine, position, y, tokens, heads, half / 4);
    else
        launch<1>(x, cosine, sine, position, y, tokens, heads, half);
}
