/* work: the judge's kernels against the plain functions that they stand for, on a real GPU.
 *
 *   work CUBIN      prints what it compared; exit status 1 at the first difference
 *
 * No cmocka: it runs on machines that have nothing of ours. Started by test_gpu.py.
 */
#include "../support/gpu_checks.h"
#include "base/array.h"
#include "base/file.h"

#include <stdio.h>

/* The last is more than all threads of a launch. */
static const uint64_t counts[] = {1, 31, 1000, 65537, 3000017};

int main(int argc, char **argv)
{
    struct gpu_context gpu;
    struct gpu_work work;
    struct err err;
    char text[GPU_CHECKS_TEXT] = "";
    char *image;
    size_t bytes;
    if (argc != 2)
        return 2;
    if (file_read(argv[1], (size_t)16 << 20, &image, &bytes, &err) < 0 ||
        gpu_context_open(&gpu, NULL, 0, &err) < 0 || gpu_work_open(&work, &gpu, image, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    struct gpu_checks checks = {.work = &work, .counts = counts, .count_count = COUNT(counts)};
    for (size_t i = 0; i < gpu_check_count; i++) {
        int compared = gpu_checks[i].run(&checks, text);
        if (compared <= 0) {
            printf("%s\n", text);
            return 1;
        }
        printf("%d %s\n", compared, gpu_checks[i].what);
    }
    return 0;
}
