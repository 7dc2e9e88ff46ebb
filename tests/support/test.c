#include "test.h"

#include "base/file.h"
#include "base/mem.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct test_entry *entries; /* by line */
static size_t entry_count;

void test_register(struct test_entry *entry)
{
    struct test_entry **at = &entries;
    while (*at && (*at)->line <= entry->line)
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
    entry_count++;
}

/* Runs the tests up to the next group; returns the entry that begins it. */
static const struct test_entry *run_group(const struct test_entry *entry,
                                          const struct test_entry **each, int *failed)
{
    const struct CMUnitTest *group = &entry->test;
    struct CMUnitTest *tests = mem_alloc(entry_count * sizeof *tests);
    size_t count = 0;
    for (entry = entry->next; entry && entry->kind != TEST_BEGIN; entry = entry->next) {
        if (entry->kind == TEST_FIXTURES) {
            *each = entry;
            continue;
        }
        tests[count] = entry->test;
        if (entry->kind == TEST_PLAIN) {
            tests[count].setup_func = (*each)->test.setup_func;
            tests[count].teardown_func = (*each)->test.teardown_func;
        }
        count++;
    }
    if (count > 0)
        *failed += _cmocka_run_group_tests("tests", tests, count, group->setup_func,
                                           group->teardown_func);
    mem_free(tests);
    return entry;
}

int tests_run(void)
{
    const struct test_entry begin = {.next = entries}, *each = &begin;
    int failed = 0;
    for (const struct test_entry *entry = &begin; entry;)
        entry = run_group(entry, &each, &failed);
    return failed;
}

static struct arena texts;

char *support_text(const char *format, ...)
{
    char text[8192];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_in_range(length, 0, sizeof text - 1);
    return arena_strdup(&texts, text);
}

char *support_keep(char *taken)
{
    char *kept = taken ? arena_strdup(&texts, taken) : NULL;
    mem_free(taken);
    return kept;
}

json_t *support_json(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
    if (!value)
        fail_msg("%s: %s", text, error.text);
    return value;
}

void support_write(const char *directory, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", directory, name), *slash = strrchr(path, '/');
    struct err err = {0};
    *slash = '\0';
    assert_ok(file_make_directories(path, 0755, &err), &err);
    *slash = '/';
    assert_ok(file_write_atomic(path, text, strlen(text), 0644, &err), &err);
    mem_free(path);
}

static char *directories; /* holds those of this program */
static pid_t owner;

static void remove_directories(void)
{
    if (getpid() == owner)
        file_remove_tree(directories);
}

char *support_directory(void)
{
    static int count;
    const char *parent = getenv("TMPDIR");
    if (!directories) {
        directories = support_text("%s/warpgym-test-XXXXXX", parent && *parent ? parent : "/tmp");
        assert_non_null(mkdtemp(directories));
        owner = getpid();
        assert_int_equal(chmod(directories, 0711) | atexit(remove_directories), 0);
    }
    char *made = support_text("%s/%d", directories, ++count);
    assert_int_equal(mkdir(made, 0700), 0);
    return made;
}

struct setting_after {
    _Atomic int *flag;
    int64_t ms;
};

static void *set_after(void *argument)
{
    struct setting_after *setting = argument;
    support_pause(setting->ms);
    *setting->flag = 1;
    mem_free(setting);
    return NULL;
}

pthread_t support_set_after(_Atomic int *flag, int64_t ms)
{
    struct setting_after *setting = mem_alloc(sizeof *setting);
    pthread_t thread;
    *setting = (struct setting_after){flag, ms};
    assert_int_equal(pthread_create(&thread, NULL, set_after, setting), 0);
    return thread;
}

void support_pause(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A program's argument is a pattern of names, such as 'test_*refused*': only those run. */
int __attribute__((weak)) main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return tests_run();
}

void support_fail(const char *text, const char *file, int line)
{
    print_error("%s\n", text);
    _fail(file, line);
    abort(); /* cmocka does not declare that _fail never returns */
}
