#include "../support/test.h"
#include "device/cpu.h"

#include <sched.h>

TEST(this_machine)
{
    struct cpu cpu;
    cpu_detect(&cpu);
    assert_true(strlen(cpu.model) > 0);
    assert_true(cpu.cores >= 1 && cpu.cores <= cpu.cores_online);
    assert_true(cpu.quota >= 0);
    assert_true(cpu.l1_total >= cpu.l1_bytes && cpu.l2_total >= cpu.l2_bytes);
    assert_true(cpu.l1_total <= cpu.l1_bytes * (uint64_t)cpu.cores);
    assert_true(cpu.l1_bytes == 0 || (cpu.l1_bytes >= 4096 && cpu.l1_bytes <= 1 << 20));
    assert_true(cpu.line_bytes == 0 || (cpu.line_bytes & (cpu.line_bytes - 1)) == 0);
    assert_null(strchr(cpu.model, '\n'));
    assert_null(strchr(cpu.governor, '\n'));
    assert_true(cpu.frequency_mhz >= 0 && cpu.frequency_mhz < 20000);
}

TEST(the_key_is_stable_and_printable)
{
    struct cpu one, two;
    cpu_detect(&one);
    cpu_detect(&two);
    assert_string_equal(one.key, two.key);
    const char *digest = strrchr(one.key, '#');
    assert_non_null(digest);
    assert_int_equal(strspn(digest + 1, "0123456789abcdef"), 16);
    for (const char *at = one.key; *at; at++)
        assert_true(*at >= ' ' && *at < 127);
}

TEST(affinity_counts)
{
    cpu_set_t before, single;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&single);
    CPU_SET(first, &single);
    assert_int_equal(sched_setaffinity(0, sizeof single, &single), 0);
    struct cpu all, cpu;
    cpu_detect(&cpu);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    cpu_detect(&all);
    assert_int_equal(cpu.cores, 1);
    assert_int_equal(cpu.l2_total, cpu.l2_bytes);
    assert_int_equal(all.cores, CPU_COUNT(&before));
    assert_string_equal(all.key, cpu.key); /* what is compiled does not depend on it */
}

TEST(flags)
{
    assert_false(cpu_has_flag("no_such_flag"));
    assert_false(cpu_has_flag("avx51"));
#if defined(__x86_64__)
    assert_true(cpu_has_flag("sse2"));
    assert_int_equal(cpu_has_flag("avx2"), __builtin_cpu_supports("avx2") != 0);
#endif
}

TEST(lists_of_processors)
{
    static const struct {
        const char *list;
        int count, last; /* of the set; of them */
    } rows[] = {
        {"0-3,8", 5, 8}, {"7", 1, 7},   {"14-15", 2, 15}, {"", 0, -1},    {"x", 0, -1},
        {"-3", 0, -1},   {"5-", 0, -1}, {"3-1", 0, -1},   {"1,,2", 1, 1}, {"0,99999999999", 1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cpu_set_t set;
        CPU_ZERO(&set);
        cpu_list_add(rows[i].list, sizeof set, &set);
        assert_int_equal(CPU_COUNT(&set), rows[i].count);
        assert_true(rows[i].last < 0 || CPU_ISSET(rows[i].last, &set));
    }
}
