#include <math.h>
#include <stddef.h>

enum { THREADS = 128 };

/* One block for a query. */
__global__ static void attend(const float *q, const float *k, const float *v, float *y,
                              size_t length, size_t width)
{
    extern __shared__ float scores[];
    size_t first = blockIdx.x / length * length; /* of the head, in rows */
    q += blockIdx.x * width;
    k += first * width;
    v += first * width;
    float scale = 1 / sqrtf((float)width);
    for (size_t j = threadIdx.x; j < length; j += THREADS) {
        float sum = 0;
        for (size_t d = 0; d < width; d++)
            sum += q[d] * k[j * width + d];
        scores[j] = sum * scale;
    }
    __syncthreads();
    float top = scores[0];
    for (size_t j = 1; j < length; j++)
        top = fmaxf(top, scores[j]);
    __syncthreads();
    for (size_t j = threadIdx.x; j < length; j += THREADS)
        scores[j] = expf(scores[j] - top);
    __syncthreads();
    for (size_t d = threadIdx.x; d < width; d += THREADS) {
        float sum = 0, mean = 0;
        for (size_t j = 0; j < length; j++) {
            sum += scores[j];
            mean += scores[j] * v[j * width + d];
        }
        y[blockIdx.x * width + d] = mean / sum;
    }
}

extern "C" void solution(const float *q, const float *k, const float *v, float *y, size_t heads,
                         size_t length, size_t width)
{
    attend<<<heads * length, THREADS, length * sizeof(float)>>>(q, k, v, y, length, width);
}
