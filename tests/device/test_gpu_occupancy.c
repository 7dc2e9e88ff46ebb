#include "../support/test.h"
#include "device/gpu_occupancy.h"

#include <math.h>

static const struct gpu_multiprocessor h200 = {.threads = 2048,
                                               .blocks = 32,
                                               .registers = 65536,
                                               .shared_bytes = 233472,
                                               .warp_threads = 32,
                                               .reserved_bytes = 1024};

/* As NVIDIA's own calculator (cuda_occupancy.h of CUDA 13.0) has them for this multiprocessor. */
static const struct {
    uint32_t threads, registers, shared_bytes, blocks;
    double fraction;
    const char *limit;
} rows[] = {
    {1024, 32, 0, 2, 1, "threads"},
    {1024, 33, 0, 1, 0.5, "registers"},
    {1024, 64, 0, 1, 0.5, "registers"},
    {256, 32, 0, 8, 1, "threads"},
    {256, 96, 0, 2, 0.25, "registers"},
    {256, 255, 0, 1, 0.125, "registers"},
    {32, 16, 0, 32, 0.5, "blocks"},
    {1, 25, 7554, 26, 26.0 / 64, "shared memory"},
    {128, 40, 100000, 2, 0.125, "shared memory"},
    {100, 40, 0, 12, 0.75, "registers"},
    {128, 0, 0, 16, 1, "threads"},
    {128, 32, 232448, 1, 4.0 / 64, "shared memory"},
    {128, 32, 240000, 0, 0, "shared memory"},
};

TEST(rows)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gpu_occupancy got;
        gpu_occupancy(&h200, rows[i].threads, rows[i].registers, rows[i].shared_bytes, &got);
        if (got.blocks != rows[i].blocks || fabs(got.fraction - rows[i].fraction) > 1e-12 ||
            strcmp(got.limit, rows[i].limit) != 0)
            fail_msg("row %zu: %u blocks, %g, by %s", i, got.blocks, got.fraction, got.limit);
    }
}

TEST(not_known)
{
    const struct gpu_multiprocessor nothing = {.threads = 0};
    struct gpu_occupancy got;
    const struct {
        const struct gpu_multiprocessor *each;
        uint32_t threads;
    } unknown[] = {{&nothing, 128}, {&h200, 0}, {&h200, 4096}, {&h200, UINT32_MAX}};
    for (size_t i = 0; i < COUNT(unknown); i++) {
        gpu_occupancy(unknown[i].each, unknown[i].threads, 32, 0, &got);
        assert_true(isnan(got.fraction));
        assert_int_equal(got.blocks, 0);
        assert_string_equal(got.limit, "");
    }
    gpu_occupancy(&h200, 128, UINT32_MAX, UINT32_MAX, &got); /* a stranger's numbers */
    assert_int_equal(got.blocks, 0);
}
