// Packs b, transposing it, into panels of 16 columns and multiplies in 6 x 16 register tiles.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_ROWS = 6, TILE_COLS = 16 };
typedef float lanes __attribute__((vector_size(32)));

/* sum = the rows at row[0..5] times a packed panel of 16 columns. Twelve vectors of sums and two of
 * the panel fit into sixteen registers. */
static void multiply_tile(const float *const *row, size_t step, const float *panel, size_t depth,
                          float sum[TILE_ROWS][TILE_COLS])
{
    lanes part[TILE_ROWS][2] = {0};
    for (size_t p = 0; p < depth; p++) {
        lanes low, high;
        memcpy(&low, panel + p * TILE_COLS, sizeof low);
        memcpy(&high, panel + p * TILE_COLS + 8, sizeof high);
#pragma GCC unroll 6
        for (size_t r = 0; r < TILE_ROWS; r++) {
            part[r][0] += row[r][p * step] * low;
            part[r][1] += row[r][p * step] * high;
        }
    }
    memcpy(sum, part, sizeof part);
}

/* Rows [first, first + 16) of b side by side, zeros where b has ended. */
static void pack_panel(const float *b, size_t cols, size_t depth, size_t first, float *panel)
{
    for (size_t j = 0; j < TILE_COLS; j++)
        for (size_t p = 0; p < depth; p++)
            panel[p * TILE_COLS + j] = first + j < cols ? b[(first + j) * depth + p] : 0;
}

/* Six rows of c, from row `first` on. Rows past the end are computed as copies of the last one. */
static void multiply_stripe(const float *a, const float *packed, float *c, size_t rows, size_t cols,
                            size_t depth, size_t first)
{
    const float *row[TILE_ROWS];
    for (size_t r = 0; r < TILE_ROWS; r++) {
        size_t at = first + r < rows ? first + r : rows - 1;
        row[r] = a + at * depth;
    }
    for (size_t left = 0; left < cols; left += TILE_COLS) {
        float sum[TILE_ROWS][TILE_COLS];
        multiply_tile(row, 1, packed + left * depth, depth, sum);
        size_t width = cols - left < TILE_COLS ? cols - left : TILE_COLS;
        for (size_t r = 0; r < TILE_ROWS && first + r < rows; r++)
            memcpy(c + (first + r) * cols + left, sum[r], width * sizeof(float));
    }
}

void solution(const float *a, const float *b, float *c, size_t rows, size_t cols, size_t depth)
{
    size_t panels = (cols + TILE_COLS - 1) / TILE_COLS;
    float *packed = aligned_alloc(64, panels * TILE_COLS * depth * sizeof(float));
    if (!packed)
        return;
#pragma omp parallel if (rows * cols * depth > 100000)
    {
#pragma omp for
        for (size_t i = 0; i < panels; i++)
            pack_panel(b, cols, depth, i * TILE_COLS, packed + i * TILE_COLS * depth);
#pragma omp for
        for (size_t first = 0; first < rows; first += TILE_ROWS)
            multiply_stripe(a, packed, c, rows, cols, depth, first);
    }
    free(packed);
}
