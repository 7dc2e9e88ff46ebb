// Widens both operands to float while packing and multiplies in 6 x 16 register tiles.
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
static void pack_panel(const _Float16 *b, size_t cols, size_t depth, size_t first, float *panel)
{
    size_t width = cols - first < TILE_COLS ? cols - first : TILE_COLS;
    for (size_t p = 0; p < depth; p++)
        for (size_t j = 0; j < TILE_COLS; j++)
            panel[p * TILE_COLS + j] = j < width ? (float)b[p * cols + first + j] : 0;
}

/* Rows [first, first + 6) of a side by side, zeros where a has ended. */
static void pack_stripe(const _Float16 *a, size_t rows, size_t depth, size_t first, float *stripe)
{
    for (size_t p = 0; p < depth; p++)
        for (size_t r = 0; r < TILE_ROWS; r++)
            stripe[p * TILE_ROWS + r] = first + r < rows ? (float)a[(first + r) * depth + p] : 0;
}

static void multiply_stripe(const float *stripe, const float *packed, _Float16 *c, size_t rows,
                            size_t cols, size_t depth, size_t first)
{
    for (size_t left = 0; left < cols; left += TILE_COLS) {
        float sum[TILE_ROWS][TILE_COLS];
        multiply_tile(stripe, packed + left * depth, depth, sum);
        size_t width = cols - left < TILE_COLS ? cols - left : TILE_COLS;
        for (size_t r = 0; r < TILE_ROWS && first + r < rows; r++)
            for (size_t j = 0; j < width; j++)
                c[(first + r) * cols + left + j] = (_Float16)sum[r][j];
    }
}

void solution(const _Float16 *a, const _Float16 *b, _Float16 *c, size_t rows, size_t cols,
              size_t depth)
{
    size_t panels = (cols + TILE_COLS - 1) / TILE_COLS;
    size_t stripes = (rows + TILE_ROWS - 1) / TILE_ROWS;
    float *panel = aligned_alloc(64, panels * TILE_COLS * depth * sizeof(float));
    float *stripe = malloc(stripes * TILE_ROWS * depth * sizeof(float));
    if (panel && stripe) {
#pragma omp parallel if (rows * cols * depth > 100000)
        {
#pragma omp for
            for (size_t i = 0; i < panels; i++)
                pack_panel(b, cols, depth, i * TILE_COLS, panel + i * TILE_COLS * depth);
#pragma omp for
            for (size_t i = 0; i < stripes; i++) {
                float *own = stripe + i * TILE_ROWS * depth;
                pack_stripe(a, rows, depth, i * TILE_ROWS, own);
                multiply_stripe(own, panel, c, rows, cols, depth, i * TILE_ROWS);
            }
        }
    }
    free(panel);
    free(stripe);
}
