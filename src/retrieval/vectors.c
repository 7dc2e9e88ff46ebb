#include "retrieval/vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LANES 16

typedef float lanes_t __attribute__((vector_size(4 * LANES)));

int vectors_open(struct vectors *vectors, const char *path, size_t rows, size_t dimension,
                 struct err *err)
{
    struct stat status;
    *vectors = (struct vectors){.rows = rows, .dimension = dimension};
    vectors->bytes = rows * dimension * sizeof(float);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0) {
        int code = err_sys(err, errno, "cannot open %s", path);
        if (fd >= 0)
            close(fd);
        return code;
    }
    void *data = MAP_FAILED;
    int result = 0;
    if (status.st_size < 0 || (size_t)status.st_size != vectors->bytes || vectors->bytes == 0)
        result = err_set(err, ERR_PROTOCOL,
                         "%s has %lld bytes, but %zu vectors of %zu numbers are %zu: rebuild the "
                         "index",
                         path, (long long)status.st_size, rows, dimension, vectors->bytes);
    else
        data = mmap(NULL, vectors->bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (result == 0 && data == MAP_FAILED)
        result = err_sys(err, errno, "cannot map %s", path);
    close(fd);
    if (result == 0)
        vectors->data = data;
    return result;
}

void vectors_close(struct vectors *vectors)
{
    if (vectors->data)
        munmap((void *)vectors->data, vectors->bytes);
    *vectors = (struct vectors){0};
}

/* The inner product, summed in lanes: the order of the sum may differ from a plain loop's. */
static float vectors_product(const float *a, const float *b, size_t count)
{
    lanes_t sums = {0};
    float sum = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        lanes_t left, right;
        memcpy(&left, a + i, sizeof left);
        memcpy(&right, b + i, sizeof right);
        sums += left * right;
    }
    for (; i < count; i++)
        sum += a[i] * b[i];
    for (int lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

size_t vectors_nearest(const struct vectors *vectors, const float *query, uint64_t first,
                       uint64_t end, struct vector_hit *hits, size_t count)
{
    size_t held = 0;
    for (uint64_t row = first; row < end && row < vectors->rows && count > 0; row++) {
        float similarity = vectors_product(vectors->data + row * vectors->dimension, query,
                                           vectors->dimension);
        if (held == count && !(similarity > hits[held - 1].similarity))
            continue;
        size_t at = held < count ? held++ : held - 1;
        for (; at > 0 && similarity > hits[at - 1].similarity; at--)
            hits[at] = hits[at - 1];
        hits[at] = (struct vector_hit){row, similarity};
    }
    return held;
}
