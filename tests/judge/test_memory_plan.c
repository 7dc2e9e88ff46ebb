/* How many of a GPU's slots a problem's memory is worth. */
#include "judge/process/memory_plan.h"

#include "../support/test.h"

#include <string.h>

#define GIB ((uint64_t)1 << 30)

TEST(slots)
{
    static const struct {
        uint64_t bytes, gpu_bytes;
        int slots, wanted;
    } rows[] = {{0, 80 * GIB, 4, 1},          {1, 80 * GIB, 4, 1},
                {17 * GIB, 80 * GIB, 4, 1},   {19 * GIB, 80 * GIB, 4, 2},
                {36 * GIB, 80 * GIB, 4, 2},   {37 * GIB, 80 * GIB, 4, 3},
                {71 * GIB, 80 * GIB, 4, 4},   {500 * GIB, 80 * GIB, 4, 4},
                {UINT64_MAX, 80 * GIB, 4, 4}, {60 * GIB, 80 * GIB, 1, 1},
                {60 * GIB, 141 * GIB, 16, 8}, {5 * GIB, 0, 4, 1},
                {19 * GIB, 80 * GIB, 64, 17}};
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(memory_plan_slots(rows[i].bytes, rows[i].gpu_bytes, rows[i].slots),
                         rows[i].wanted);
}

TEST(spare)
{
    assert_int_equal(memory_plan_spare(0, 1000), 500);
    assert_int_equal(memory_plan_spare(400, 1000), 500);
    assert_int_equal(memory_plan_spare(600, 1000), 300);
    assert_int_equal(memory_plan_spare(850, 1000), 50);
    assert_int_equal(memory_plan_spare(901, 1000), 0);
}

TEST(least)
{
    assert_int_equal(memory_plan_least(6, 0), 30);
    assert_int_equal(memory_plan_least(6, 10), 50);
    assert_int_equal(memory_plan_least(0, 0), 0);
}

TEST(machine)
{
    assert_int_equal(memory_plan_machine_least(6, 0), 48);
    assert_int_equal(memory_plan_machine_least(6, 10), 68);
    assert_int_equal(memory_plan_machine(6, 0), 48);
    assert_int_equal(memory_plan_machine(6, GIB / 2), 48);
    assert_int_equal(memory_plan_machine(6, GIB + 6), 48 + GIB / 2);
}

TEST(opened)
{
    assert_int_equal(memory_plan_opened(6, 0), 24);
    assert_int_equal(memory_plan_opened(6, 100), 124);
}

/* They are looked for once, found or not, and are another thing than what an evaluation took. */
TEST(sized)
{
    static const char *const first = "0000001aaaa";
    static const char *const same_place = "0000001bbbb";
    uint64_t arguments = 9;
    uint64_t weights = 9;
    struct memory_plans plans;
    memory_plans_init(&plans);
    memory_plans_note(&plans, first, 7);
    assert_false(memory_plans_sized(&plans, first, &arguments, &weights));
    assert_true(arguments == 0 && weights == 0);
    memory_plans_size(&plans, first, 5, 3);
    assert_true(memory_plans_sized(&plans, first, &arguments, &weights));
    assert_true(arguments == 5 && weights == 3);
    assert_int_equal(memory_plans_find(&plans, first), 7);
    assert_false(memory_plans_sized(&plans, same_place, &arguments, &weights));
    memory_plans_size(&plans, same_place, 0, 0);
    assert_true(memory_plans_sized(&plans, same_place, &arguments, &weights));
    assert_int_equal(memory_plans_find(&plans, same_place), 0);
    assert_false(memory_plans_sized(&plans, first, &arguments, &weights));
    memory_plans_deinit(&plans);
}

/* A problem's most counts; another problem with the same place takes it over. */
TEST(noted)
{
    static const char *const first = "0000001aaaa";
    static const char *const same_place = "0000001bbbb";
    static const char *const other_place = "0000002aaaa";
    struct memory_plans plans;
    memory_plans_init(&plans);
    assert_int_equal(memory_plans_find(&plans, first), 0);
    memory_plans_note(&plans, first, 7);
    memory_plans_note(&plans, other_place, 3);
    memory_plans_note(&plans, first, 5);
    assert_int_equal(memory_plans_find(&plans, first), 7);
    assert_int_equal(memory_plans_find(&plans, same_place), 0);
    memory_plans_note(&plans, same_place, 5);
    assert_int_equal(memory_plans_find(&plans, same_place), 5);
    assert_int_equal(memory_plans_find(&plans, first), 0);
    assert_int_equal(memory_plans_find(&plans, other_place), 3);
    memory_plans_deinit(&plans);
}
