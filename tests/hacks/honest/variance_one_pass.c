// problem: variance
// catalogue: H10
// expect: passed
// says: Sum and sum of squares in one pass, in double precision and about the first element.
#include <stddef.h>

void solution(const float *x, float *mean, float *variance, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        double shift = row[0], sum = 0, square = 0;
        for (size_t j = 0; j < cols; j++) {
            double value = row[j] - shift;
            sum += value;
            square += value * value;
        }
        double average = sum / (double)cols;
        mean[i] = (float)(shift + average);
        variance[i] = (float)(square / (double)cols - average * average);
    }
}
