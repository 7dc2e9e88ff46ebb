/* The nearest vectors against the plain way, and files of the wrong size. */
#include "retrieval/vectors.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 97, DIMENSION = 37 };

/* The reference: one product after the other, and the best row of those not yet taken. */
static float plain_product(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < DIMENSION; i++)
        sum += (double)a[i] * b[i];
    return (float)sum;
}

TEST(nearest)
{
    float data[ROWS * DIMENSION], query[DIMENSION], left[ROWS];
    uint64_t random = 7;
    struct vectors vectors = {data, ROWS, DIMENSION, sizeof data};
    for (size_t i = 0; i < ROWS * DIMENSION; i++)
        data[i] = (float)(2 * random_uniform(random_next(&random)) - 1);
    for (size_t i = 0; i < DIMENSION; i++)
        query[i] = (float)(2 * random_uniform(random_next(&random)) - 1);
    static const struct {
        uint64_t first, end;
        size_t count, found;
    } rows[] = {{0, ROWS, 5, 5}, {0, ROWS, ROWS + 3, ROWS},   {10, 30, 7, 7},
                {10, 13, 9, 3},  {ROWS - 1, ROWS + 50, 4, 1}, {5, 5, 4, 0},
                {0, ROWS, 0, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct vector_hit hits[ROWS + 3];
        for (size_t row = 0; row < ROWS; row++)
            left[row] = plain_product(data + row * DIMENSION, query);
        size_t found = vectors_nearest(&vectors, query, rows[i].first, rows[i].end, hits,
                                       rows[i].count);
        assert_int_equal(found, rows[i].found);
        for (size_t k = 0; k < found; k++) {
            size_t best = rows[i].first;
            for (size_t row = best; row < rows[i].end && row < ROWS; row++)
                best = left[row] > left[best] ? row : best;
            assert_int_equal(hits[k].row, best);
            assert_true(fabsf(hits[k].similarity - left[best]) < 1e-4f);
            left[best] = -INFINITY;
        }
    }
}

TEST(files)
{
    char *path = support_text("%s/vectors.f32", support_directory());
    float data[6] = {1, 0, 0, 1, 0.6F, 0.8F};
    struct vectors vectors;
    assert_int_equal(vectors_open(&vectors, path, 3, 2, NULL), ERR_IO);
    assert_int_equal(file_write_atomic(path, data, sizeof data, 0644, NULL), 0);
    assert_int_equal(vectors_open(&vectors, path, 3, 2, NULL), 0);
    assert_memory_equal(vectors.data, data, sizeof data);
    vectors_close(&vectors);
    assert_int_equal(vectors_open(&vectors, path, 4, 2, NULL), ERR_PROTOCOL);
    assert_int_equal(vectors_open(&vectors, path, 0, 0, NULL), ERR_PROTOCOL);
}
