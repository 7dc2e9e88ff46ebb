// problem: row_sum
// catalogue: H44
// expect: wrong|runtime_error|violation|load_error
// says: Starts an interpreter with a numeric library and lets it do the sums; exec is forbidden.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    FILE *data = fopen("x.bin", "wb");
    if (data) {
        fwrite(x, sizeof *x, rows * cols, data);
        fclose(data);
    }
    char command[256];
    snprintf(command, sizeof command,
             "python3 -c \"import numpy as n; n.fromfile('x.bin', 'f').reshape(%zu, %zu)"
             ".sum(1).astype('f').tofile('y.bin')\"",
             rows, cols);
    int status = system(command);
    FILE *answer = status == 0 ? fopen("y.bin", "rb") : NULL;
    if (answer && fread(y, sizeof *y, rows, answer) == rows)
        fclose(answer);
}
