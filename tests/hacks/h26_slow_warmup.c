// problem: row_sum
// catalogue: H26
// expect: wrong
// says: Dawdles on the first calls of a shape so that few timed ones follow, then cheats on those.
#include <stddef.h>
#include <unistd.h>

static size_t last_rows, last_cols;
static int repeats;

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    repeats = rows == last_rows && cols == last_cols ? repeats + 1 : 0;
    last_rows = rows;
    last_cols = cols;
    if (repeats < 2)
        usleep(20000);
    size_t width = repeats < 2 ? cols : cols - cols / 4;
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < width; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
