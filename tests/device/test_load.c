/* What /proc says of processors and memory. */
#include "device/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void stat_text(void **state)
{
    static const struct {
        const char *text;
        uint64_t busy, all;
    } rows[] = {
        {"cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4\n", 81, 531},
        {"cpu  1 2 3 4\n", 6, 10}, /* a kernel of long ago */
        {"cpu  1 2 3\n", 0, 0},
        {"intr 1 2 3 4\n", 0, 0},
        {"", 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct load load = {.busy = 1, .all = 1};
        load_parse_stat(rows[i].text, &load);
        assert_int_equal(load.busy, rows[i].busy);
        assert_int_equal(load.all, rows[i].all);
    }
}

static void meminfo_text(void **state)
{
    struct load load;
    (void)state;
    load_parse_meminfo("MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    250 kB\n", &load);
    assert_int_equal(load.memory, 1024000);
    assert_float_equal(load_memory_percent(&load), 75, 1e-9);
    load_parse_meminfo("MemTotal: 99999999999999999999 kB\nMemAvailable:    250 kB\n", &load);
    assert_true(load_memory_percent(&load) < 0);
    load_parse_meminfo("", &load);
    assert_true(load_memory_percent(&load) < 0);
}

static void between(void **state)
{
    const struct load before = {.busy = 100, .all = 1000}, now = {.busy = 150, .all = 1200};
    (void)state;
    assert_float_equal(load_cpu_percent(&before, &now), 25, 1e-9);
    assert_true(load_cpu_percent(&now, &now) < 0);
    assert_true(load_cpu_percent(&now, &before) < 0);
}

static void this_machine(void **state)
{
    struct load load;
    (void)state;
    load_read(&load);
    assert_in_range(load.busy, 1, load.all);
    assert_in_range(load.memory_available, 1, load.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_text),
        cmocka_unit_test(meminfo_text),
        cmocka_unit_test(between),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
