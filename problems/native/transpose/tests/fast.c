// Goes through tiles of 16 x 16, each of which fills whole cache lines of y; tiles over threads.
#include <stddef.h>

enum { TILE = 16 };

/* `height` and `width` are TILE but at the edges; as constants they let the compiler unroll. */
static inline void move_tile(const float *x, float *restrict y, size_t rows, size_t cols,
                             size_t height, size_t width)
{
    float tile[TILE][TILE];
    for (size_t i = 0; i < height; i++)
        for (size_t j = 0; j < width; j++)
            tile[j][i] = x[i * cols + j];
    for (size_t j = 0; j < width; j++)
        for (size_t i = 0; i < height; i++)
            y[j * rows + i] = tile[j][i];
}

void solution(const float *x, float *y, size_t rows, size_t cols)
{
#pragma omp parallel for if (rows * cols > 30000)
    for (size_t j = 0; j < cols; j += TILE) {
        for (size_t i = 0; i < rows; i += TILE) {
            size_t height = rows - i < TILE ? rows - i : TILE;
            size_t width = cols - j < TILE ? cols - j : TILE;
            if (height == TILE && width == TILE)
                move_tile(x + i * cols + j, y + j * rows + i, rows, cols, TILE, TILE);
            else
                move_tile(x + i * cols + j, y + j * rows + i, rows, cols, height, width);
        }
    }
}
