// Exchanges pairs of 16 x 16 tiles that lie across the diagonal; rows of tiles over threads.
#include <stddef.h>

enum { TILE = 16 };

static inline void read_transposed(const float *x, size_t size, float tile[TILE][TILE],
                                   size_t height, size_t width)
{
    for (size_t i = 0; i < height; i++)
        for (size_t j = 0; j < width; j++)
            tile[j][i] = x[i * size + j];
}

static inline void write(float *x, size_t size, float tile[TILE][TILE], size_t height, size_t width)
{
    for (size_t i = 0; i < height; i++)
        for (size_t j = 0; j < width; j++)
            x[i * size + j] = tile[i][j];
}

/* The tile at (i, j) has height x width elements, the one at (j, i) width x height; a tile on the
 * diagonal is its own partner and written twice. */
static inline void exchange(float *x, size_t size, size_t i, size_t j, size_t height, size_t width)
{
    float below[TILE][TILE], above[TILE][TILE];
    read_transposed(x + i * size + j, size, below, height, width);
    read_transposed(x + j * size + i, size, above, width, height);
    write(x + j * size + i, size, below, width, height);
    write(x + i * size + j, size, above, height, width);
}

void solution(float *x, size_t size)
{
#pragma omp parallel for schedule(dynamic) if (size > 150)
    for (size_t i = 0; i < size; i += TILE) {
        size_t height = size - i < TILE ? size - i : TILE;
        for (size_t j = 0; j <= i; j += TILE) {
            if (height == TILE)
                exchange(x, size, i, j, TILE, TILE);
            else
                exchange(x, size, i, j, height, size - j < TILE ? size - j : TILE);
        }
    }
}
