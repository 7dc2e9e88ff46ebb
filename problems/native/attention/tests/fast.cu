// Four queries a block, so that keys and values are loaded once for four. Eight lanes share the
// product with a key; for the mean, threads share out both the columns and the keys.
#include <math.h>
#include <stddef.h>

enum { THREADS = 256, QUERIES = 4, LANES = 8 };

template <int N> struct alignas(4 * N) pack {
    float at[N];
};

/* Four queries, width elements each, and the head's keys: scores is QUERIES x length. */
template <int N>
__device__ static void multiply_keys(const float *query, const float *__restrict__ k,
                                     float *scores, size_t length, size_t width, float scale)
{
    unsigned lane = threadIdx.x % LANES;
    for (size_t first = 0; first < length; first += THREADS / LANES) {
        size_t j = first + threadIdx.x / LANES;
        const float *key = k + min(j, length - 1) * width; /* all lanes are there to shuffle */
        float sum[QUERIES] = {};
#pragma unroll 2
        for (size_t d = lane * N; d < width; d += LANES * N) {
            pack<N> part = *(const pack<N> *)(key + d);
            for (int r = 0; r < QUERIES; r++) {
                pack<N> other = *(const pack<N> *)(query + r * width + d);
                for (int n = 0; n < N; n++)
                    sum[r] += part.at[n] * other.at[n];
            }
        }
        for (int r = 0; r < QUERIES; r++) {
            for (int step = LANES / 2; step > 0; step /= 2)
                sum[r] += __shfl_xor_sync(~0u, sum[r], step);
            if (lane == 0 && j < length)
                scores[r * length + j] = sum[r] * scale;
        }
    }
}

/* Turns a query's scores into weights, by one warp; the result is what they add up to. */
__device__ static float weigh(float *scores, size_t length)
{
    unsigned lane = threadIdx.x % 32;
    float top = -INFINITY, sum = 0;
    for (size_t j = lane; j < length; j += 32)
        top = fmaxf(top, scores[j]);
    for (int step = 16; step > 0; step /= 2)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
    for (size_t j = lane; j < length; j += 32) {
        scores[j] = expf(scores[j] - top);
        sum += scores[j];
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

/* Columns [base, base + span) of the means, not yet divided by the sums of the weights. Thread
 * group g takes keys g, g + groups, ...; parts is QUERIES x groups x span. */
template <int N>
__device__ static void multiply_values(const float *weights, const float *__restrict__ v,
                                       float *parts, size_t length, size_t width, size_t base,
                                       unsigned span)
{
    unsigned across = span / N, groups = THREADS / across;
    unsigned group = threadIdx.x / across, d = threadIdx.x % across * N;
    if (group >= groups)
        return;
    pack<N> sum[QUERIES] = {};
#pragma unroll 4
    for (size_t j = group; j < length; j += groups) {
        pack<N> value = *(const pack<N> *)(v + j * width + base + d);
        for (int r = 0; r < QUERIES; r++)
            for (int n = 0; n < N; n++)
                sum[r].at[n] += weights[r * length + j] * value.at[n];
    }
    for (int r = 0; r < QUERIES; r++)
        *(pack<N> *)(parts + (r * groups + group) * span + d) = sum[r];
}

template <int N>
__global__ static void attend(const float *__restrict__ q, const float *__restrict__ k,
                              const float *__restrict__ v, float *__restrict__ y, size_t length,
                              size_t width, float scale)
{
    extern __shared__ float4 dynamic[];
    __shared__ alignas(16) float parts[QUERIES * THREADS * N];
    __shared__ float total[QUERIES];
    float *query = (float *)dynamic, *scores = query + QUERIES * width;
    size_t first = blockIdx.x * (size_t)QUERIES, head = blockIdx.y * length * width;
    for (unsigned i = threadIdx.x; i < QUERIES * width; i += THREADS) {
        size_t row = min(first + i / (unsigned)width, length - 1);
        query[i] = q[head + row * width + i % (unsigned)width];
    }
    __syncthreads();
    multiply_keys<N>(query, k + head, scores, length, width, scale);
    __syncthreads();
    unsigned warp = threadIdx.x / 32;
    if (warp < QUERIES) {
        float sum = weigh(scores + warp * length, length);
        if (threadIdx.x % 32 == 0)
            total[warp] = sum;
    }
    for (size_t base = 0; base < width; base += THREADS * N) {
        unsigned span = (unsigned)min(width - base, (size_t)THREADS * N);
        unsigned groups = THREADS / (span / N);
        __syncthreads();
        multiply_values<N>(scores, v + head, parts, length, width, base, span);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < QUERIES * span; i += THREADS) {
            unsigned r = i / span, d = i % span;
            float sum = 0;
            for (unsigned group = 0; group < groups; group++)
                sum += parts[(r * groups + group) * span + d];
            if (first + r < length)
                y[head + (first + r) * width + base + d] = sum / total[r];
        }
    }
}

extern "C" void solution(const float *q, const float *k, const float *v, float *y, size_t heads,
                         size_t length, size_t width)
{
    dim3 grid((length + QUERIES - 1) / QUERIES, heads);
    size_t bytes = QUERIES * (length + width) * sizeof(float);
    float scale = 1 / sqrtf((float)width);
    if (width % 4 == 0)
        attend<4><<<grid, THREADS, bytes>>>(q, k, v, y, length, width, scale);
    else
        attend<1><<<grid, THREADS, bytes>>>(q, k, v, y, length, width, scale);
}
