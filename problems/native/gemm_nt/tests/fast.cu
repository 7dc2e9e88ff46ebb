/* A block for 16 x 32 elements of c, through shared memory. Its warps share out the depth, which
 * keeps even a small c busy on many multiprocessors; a lane sums 4 x 4 elements in registers. */
#include <stddef.h>

enum { ROWS = 16, COLS = 32, DEPTH = 128, WARPS = 8, THREADS = 32 * WARPS };

struct tiles {
    /* a and b transposed. Four more columns, so that a warp writes 8 steps of 4 rows of theirs
     * without conflict. */
    __align__(16) float left[DEPTH][ROWS + 4];
    __align__(16) float right[DEPTH][COLS + 4];
    __align__(16) float parts[WARPS][ROWS][COLS];
};

/* Zeros where a and b have ended: they add nothing. */
__device__ static void load_tiles(struct tiles *tiles, const float *__restrict__ a,
                                  const float *__restrict__ b, size_t row, size_t col, size_t start,
                                  size_t rows, size_t cols, size_t depth)
{
    unsigned r = threadIdx.x / 8 % ROWS, c = threadIdx.x / 8;
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += 16) {
        unsigned p = k + threadIdx.x / 128 * 8 + threadIdx.x % 8;
        bool inside = row + r < rows && start + p < depth;
        tiles->left[p][r] = inside ? a[(row + r) * depth + start + p] : 0;
    }
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += 8) {
        unsigned p = k + threadIdx.x % 8;
        bool inside = col + c < cols && start + p < depth;
        tiles->right[p][c] = inside ? b[(col + c) * depth + start + p] : 0;
    }
}

/* The warp's steps of the tiles: rows 4 * above to 4 * above + 3, columns likewise. */
__device__ static void multiply_tiles(const struct tiles *tiles, unsigned warp, unsigned above,
                                      unsigned beside, float sum[4][4])
{
#pragma unroll 4
    for (unsigned k = 0; k < DEPTH; k += WARPS) {
        unsigned p = k + warp;
        float4 u = *(const float4 *)&tiles->left[p][4 * above];
        float4 v = *(const float4 *)&tiles->right[p][4 * beside];
        float factor[4] = {u.x, u.y, u.z, u.w};
#pragma unroll
        for (unsigned r = 0; r < 4; r++) {
            sum[r][0] += factor[r] * v.x;
            sum[r][1] += factor[r] * v.y;
            sum[r][2] += factor[r] * v.z;
            sum[r][3] += factor[r] * v.w;
        }
    }
}

__global__ static void gemm_nt(const float *__restrict__ a, const float *__restrict__ b,
                               float *__restrict__ c, size_t rows, size_t cols, size_t depth)
{
    __shared__ struct tiles tiles;
    size_t row = blockIdx.y * (size_t)ROWS, col = blockIdx.x * (size_t)COLS;
    unsigned warp = threadIdx.x / 32, above = threadIdx.x % 32 / 8, beside = threadIdx.x % 8;
    float sum[4][4] = {{0}};
    for (size_t start = 0; start < depth; start += DEPTH) {
        load_tiles(&tiles, a, b, row, col, start, rows, cols, depth);
        __syncthreads();
        multiply_tiles(&tiles, warp, above, beside, sum);
        __syncthreads();
    }
#pragma unroll
    for (unsigned r = 0; r < 4; r++) {
        float4 four = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
        *(float4 *)&tiles.parts[warp][4 * above + r][4 * beside] = four;
    }
    __syncthreads();
    unsigned across = threadIdx.x % COLS;
    for (unsigned down = threadIdx.x / COLS; down < ROWS; down += THREADS / COLS) {
        float total = 0;
        for (unsigned w = 0; w < WARPS; w++)
            total += tiles.parts[w][down][across];
        if (row + down < rows && col + across < cols)
            c[(row + down) * cols + col + across] = total;
    }
}

extern "C" void solution(const float *a, const float *b, float *c, size_t rows, size_t cols,
                         size_t depth)
{
    dim3 grid((cols + COLS - 1) / COLS, (rows + ROWS - 1) / ROWS);
    gemm_nt<<<grid, THREADS>>>(a, b, c, rows, cols, depth);
}
