// Four queries a block, so that keys and values are loaded once for four. Eight lanes share the
// product with a key; for the mean, threads share out both the columns and the keys.
#include <math.h>
#include <stddef.h>

enum { THREADS = 256, QUERIES = 4, LANES = 8, GROUPS = THREADS / LANES, KEYS = 4 };

template <int N> struct alignas(4 * N) pack {
    float at[N];
};

/* Four queries, width elements each, and the head's keys: scores is QUERIES x length. */
template <int N>
__device__ static void multiply_keys(const float *query, const float *__restrict__ k, float *scores,
                                     size_t length, size_t width, float scale)
{
    unsigned lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    for (size_t first = 0; first < length; first += KEYS * GROUPS) {
        size_t own = first + group;
        float sum[KEYS][QUERIES] = {};
        for (size_t d = lane * N; d < width; d += LANES * N) {
            pack<N> key[KEYS], other[QUERIES];
            for (int i = 0; i < KEYS; i++) /* past the last key it is read again */
                key[i] = *(const pack<N> *)(k + min(own + i * GROUPS, length - 1) * width + d);
            for (int r = 0; r < QUERIES; r++)
                other[r] = *(const pack<N> *)(query + r * width + d);
            for (int i = 0; i < KEYS; i++)
                for (int r = 0; r < QUERIES; r++)
                    for (int n = 0; n < N; n++)
                        sum[i][r] += key[i].at[n] * other[r].at[n];
        }
        for (int step = LANES / 2; step > 0; step /= 2)
            for (int i = 0; i < KEYS; i++)
                for (int r = 0; r < QUERIES; r++)
                    sum[i][r] += __shfl_xor_sync(~0u, sum[i][r], step);
        for (int i = 0; i < KEYS; i++)
            for (int r = 0; r < QUERIES; r++)
                if (lane == 0 && own + i * GROUPS < length)
                    scores[r * length + own + i * GROUPS] = sum[i][r] * scale;
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
    for (size_t first = group; first < length; first += KEYS * groups) {
        pack<N> value[KEYS];
        float weight[KEYS][QUERIES];
        for (unsigned i = 0; i < KEYS; i++) {
            size_t j = min(first + i * groups, length - 1);
            value[i] = *(const pack<N> *)(v + j * width + base + d);
            for (int r = 0; r < QUERIES; r++) {
                float loaded = weights[r * length + j];
                weight[i][r] = first + i * groups == j ? loaded : 0;
            }
        }
        for (int i = 0; i < KEYS; i++)
            for (int r = 0; r < QUERIES; r++)
                for (int n = 0; n < N; n++)
                    sum[r].at[n] += weight[i][r] * value[i].at[n];
    }
    for (int r = 0; r < QUERIES; r++)
        ((pack<N> *)parts)[r * groups * across + threadIdx.x] = sum[r];
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
