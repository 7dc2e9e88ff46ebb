#include "../support/test.h"
#include "judge/process/gpu_cores.h"

/* Beyond those of any machine that tests run on, so that each is a core. */
#define FIRST (CPU_SETSIZE - 100)

static cpu_set_t some(int count)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < count; i++)
        CPU_SET(FIRST + i, &set);
    return set;
}

TEST(the_last_processors_are_kept)
{
    struct gpu_cores cores;
    cpu_set_t left = some(16);
    gpu_cores_choose(&cores, 2, &left);
    assert_int_equal(cores.count, 2);
    assert_int_equal(gpu_cores_of(&cores, 0), FIRST + 15);
    assert_int_equal(gpu_cores_of(&cores, 1), FIRST + 14);
    assert_int_equal(gpu_cores_of(&cores, 2), FIRST + 15); /* of other visible ones */
    cpu_set_t rest = some(14);
    assert_true(CPU_EQUAL(&left, &rest));
}

TEST(few_processors_are_for_all)
{
    struct gpu_cores cores;
    static const int counts[][2] = {{16, 0}, {7, 2}, {3, 1}, {0, 1}, {90, GPU_CORES + 1}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        cpu_set_t left = some(counts[i][0]);
        cpu_set_t before = left;
        gpu_cores_choose(&cores, counts[i][1], &left);
        assert_int_equal(cores.count, 0);
        assert_int_equal(gpu_cores_of(&cores, 0), -1);
        assert_true(CPU_EQUAL(&left, &before));
    }
}

TEST(a_core_is_kept_with_all_of_its_processors)
{
    struct gpu_cores cores;
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < 4; i++) /* of which enough are left */
        CPU_SET(FIRST + i, &all);
    for (int i = 0; i < 4; i++)
        CPU_SET(i, &all);
    cpu_set_t left = all;
    gpu_cores_choose(&cores, CPU_COUNT(&all) / 4, &left);
    for (int i = 0; i < cores.count; i++)
        assert_false(CPU_ISSET(cores.processors[i], &left));
    assert_true(CPU_COUNT(&left) <= CPU_COUNT(&all) - cores.count);
}
