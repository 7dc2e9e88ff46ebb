/* What /proc says of processors and memory. */
#include "device/machine_load.h"

#include "../support/test.h"
#include "base/file.h"

#include <stdlib.h>

TEST(memory_kills)
{
    assert_int_equal(load_parse_kills("nr_free_pages 5\noom_kill 7\nballoon 1\n"), 7);
    assert_int_equal(load_parse_kills("nr_free_pages 5\ndrop_oom_kill 7\n"), 0);
    assert_int_equal(load_parse_kills("nr_free_pages 5\noom_kill x\n"), 0);
    assert_int_equal(load_parse_kills(""), 0);
}

TEST(stat_text)
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
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct load load = {.busy = 1, .all = 1};
        load_parse_stat(rows[i].text, &load);
        assert_int_equal(load.busy, rows[i].busy);
        assert_int_equal(load.all, rows[i].all);
    }
}

TEST(meminfo_text)
{
    struct load load;
    load_parse_meminfo("MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    250 kB\n", &load);
    assert_int_equal(load.memory, 1024000);
    assert_float_equal(load_memory_percent(&load), 75, 1e-9);
    load_parse_meminfo("MemTotal: 99999999999999999999 kB\nMemAvailable:    250 kB\n", &load);
    assert_true(load_memory_percent(&load) < 0);
    load_parse_meminfo("", &load);
    assert_true(load_memory_percent(&load) < 0);
}

TEST(between)
{
    const struct load before = {.busy = 100, .all = 1000}, now = {.busy = 150, .all = 1200};
    assert_float_equal(load_cpu_percent(&before, &now), 25, 1e-9);
    assert_true(load_cpu_percent(&now, &now) < 0);
    assert_true(load_cpu_percent(&now, &before) < 0);
}

TEST(this_machine)
{
    struct load load;
    load_read(&load);
    assert_in_range(load.busy, 1, load.all);
    assert_in_range(load.memory_available, 1, load.memory);
}

/* PATH=TEXT below `root`. */
static void write_below(const char *root, const char *pair)
{
    const char *equals = strchr(pair, '=');
    char *path = support_text("%s/%.*s", root, (int)(equals - pair), pair);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(file_make_directories(path, 0755, NULL), 0);
    *slash = '/';
    assert_int_equal(file_write_atomic(path, equals + 1, strlen(equals + 1), 0644, NULL), 0);
}

#define V2 "sys/fs/cgroup/"
#define V1 "sys/fs/cgroup/memory/"

TEST(groups)
{
    static const struct {
        const char *files[8];
        uint64_t available;
    } rows[] = {
        {{NULL}, UINT64_MAX},
        /* A container with a name space of its own. */
        {{"proc/self/cgroup=0::/\n", V2 "memory.max=1000\n", V2 "memory.current=400\n",
          V2 "memory.stat=anon 7\ninactive_file 100\nactive_file 50\n"},
         750},
        {{"proc/self/cgroup=0::/\n", V2 "memory.max=max\n"}, UINT64_MAX},
        /* The least of all that it lies in. */
        {{"proc/self/cgroup=0::/a/b\n", V2 "a/b/memory.max=900", V2 "a/memory.max=300",
          V2 "memory.max=800", V2 "a/b/memory.current=10", V2 "a/memory.current=20"},
         280},
        /* A path of the host's that is not seen here: what is mounted counts. */
        {{"proc/self/cgroup=0::/../host/pod\n", V2 "memory.max=500"}, 500},
        {{"proc/self/cgroup=9:name=systemd:/x\n8:memory:/x\n0::/\n",
          V1 "x/memory.limit_in_bytes=2000\n", V1 "x/memory.usage_in_bytes=1500\n",
          V1 "x/memory.stat=cache 1\ninactive_file 1\ntotal_inactive_file 400\n"
             "total_active_file 100\n"},
         1000},
        /* More than it may have is in use. */
        {{"proc/self/cgroup=0::/\n", V2 "memory.max=100", V2 "memory.current=400"}, 0},
        {{"proc/self/cgroup=nonsense\n::\n0:\n"}, UINT64_MAX},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *root = support_directory();
        for (size_t f = 0; f < 8 && rows[i].files[f]; f++)
            write_below(root, rows[i].files[f]);
        uint64_t available = load_group_available(root);
        if (available != rows[i].available)
            fail_msg("row %zu: %llu", i, (unsigned long long)available);
    }
}
