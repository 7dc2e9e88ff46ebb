// Multiplies in 6 x 16 register tiles that end at the diagonal; stripes are dealt out to threads.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 6, TILE_COLS = 16 };
typedef float lanes __attribute__((vector_size(32)));

/* sum = a packed stripe of 6 rows times a packed panel of 16 columns. Twelve vectors of sums and
 * two of the panel fit into sixteen registers. */
static void multiply_tile(const float *stripe, const float *panel, size_t depth,
                          float sum[TILE_ROWS][TILE_COLS])
{
    lanes part[TILE_ROWS][2] = {0};
    for (size_t p = 0; p < depth; p++) {
        lanes low, high;
        memcpy(&low, panel + p * TILE_COLS, sizeof low);
        memcpy(&high, panel + p * TILE_COLS + 8, sizeof high);
#pragma GCC unroll 6
        for (size_t r = 0; r < TILE_ROWS; r++) {
            part[r][0] += stripe[p * TILE_ROWS + r] * low;
            part[r][1] += stripe[p * TILE_ROWS + r] * high;
        }
    }
    memcpy(sum, part, sizeof part);
}

/* Columns [first, first + 16) of b one after the other, zeros where b has ended. */
static void pack_panel(const float *b, size_t cols, size_t depth, size_t first, float *panel)
{
    size_t width = cols - first < TILE_COLS ? cols - first : TILE_COLS;
    for (size_t p = 0; p < depth; p++)
        for (size_t j = 0; j < TILE_COLS; j++)
            panel[p * TILE_COLS + j] = j < width ? b[p * cols + first + j] : 0;
}

/* Rows [first, first + 6) of a side by side, zeros above the diagonal and where a has ended. */
static void pack_stripe(const float *a, size_t rows, size_t depth, size_t first, float *stripe)
{
    for (size_t p = 0; p < depth; p++)
        for (size_t r = 0; r < TILE_ROWS; r++)
            stripe[p * TILE_ROWS + r] = first + r < rows && p <= first + r
                                            ? a[(first + r) * rows + p]
                                            : 0;
}

static void multiply_stripe(const float *stripe, const float *packed, float *c, size_t rows,
                            size_t cols, size_t depth, size_t first)
{
    for (size_t left = 0; left < cols; left += TILE_COLS) {
        float sum[TILE_ROWS][TILE_COLS];
        multiply_tile(stripe, packed + left * rows, depth, sum);
        size_t width = cols - left < TILE_COLS ? cols - left : TILE_COLS;
        for (size_t r = 0; r < TILE_ROWS && first + r < rows; r++)
            memcpy(c + (first + r) * cols + left, sum[r], width * sizeof(float));
    }
}

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols)
{
    size_t panels = (cols + TILE_COLS - 1) / TILE_COLS;
    float *packed = aligned_alloc(64, panels * TILE_COLS * rows * sizeof(float));
    if (!packed)
        return;
#pragma omp parallel if (rows * rows * cols > 200000)
    {
        float *stripe = malloc(TILE_ROWS * rows * sizeof(float));
#pragma omp for
        for (size_t i = 0; i < panels; i++)
            pack_panel(b, cols, rows, i * TILE_COLS, packed + i * TILE_COLS * rows);
#pragma omp for schedule(dynamic, 2)
        for (size_t first = 0; first < rows; first += TILE_ROWS) {
            size_t depth = first + TILE_ROWS < rows ? first + TILE_ROWS : rows;
            if (!stripe)
                continue;
            pack_stripe(a, rows, depth, first, stripe);
            multiply_stripe(stripe, packed, c, rows, cols, depth, first);
        }
        free(stripe);
    }
    free(packed);
}
