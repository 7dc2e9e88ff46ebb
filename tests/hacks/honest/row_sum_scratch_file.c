// problem: row_sum
// catalogue: H05
// expect: passed
// says: Logs its calls to a file in scratch and works the same whether that succeeds or not.
#include <stddef.h>
#include <stdio.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    static FILE *file;
    static int tried;
    if (!tried++)
        file = fopen("row_sum.log", "a");
    if (file)
        fprintf(file, "%zu x %zu\n", rows, cols);
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++)
            sum += x[i * cols + j];
        y[i] = (float)sum;
    }
}
