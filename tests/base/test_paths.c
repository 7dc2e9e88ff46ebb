#include "base/paths.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *place;

FIXTURE(setup)
{
    place = support_directory();
    static const char *const variables[] = {"XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME",
                                            "WARPGYM_PYTHON", "HOME"};
    for (size_t i = 0; i < COUNT(variables); i++)
        unsetenv(variables[i]);
    return 0;
}

TEST_EACH(setup, NULL);

static char *inside(const char *name)
{
    return support_text("%s/%s", place, name);
}

static void make_directory(const char *name)
{
    char *path = inside(name);
    assert_int_equal(file_make_directories(path, 0755, NULL), 0);
}

/* A copy of this program at `name`, run with --print-root: what it prints. */
static void root_of(const char *name, char *root, size_t root_bytes)
{
    char *program = inside(name);
    char *bytes;
    size_t count;
    assert_int_equal(file_read("/proc/self/exe", (size_t)256 << 20, &bytes, &count, NULL), 0);
    assert_int_equal(file_write_atomic(program, bytes, count, 0755, NULL), 0);
    mem_free(bytes);
    const char *const argv[] = {program, "--print-root", NULL};
    const struct command command = {.argv = argv, .timeout_ms = 10000};
    struct outcome outcome;
    outcome_init(&outcome, root_bytes - 1);
    assert_int_equal(process_runner.run(&process_runner, &command, &outcome, NULL), 0);
    assert_int_equal(outcome.exit_code, 0);
    snprintf(root, root_bytes, "%s", outcome.output.data);
    outcome_deinit(&outcome);
}

TEST(root)
{
    static const struct {
        const char *program, *problems, *mark, *root;
    } rows[] = {
        {"a/warpgym", "a/problems", "a/python/warpgym", "a"},
        {"b/warpgym", "b/problems", "b/warpgym-child", "b"},
        {"c/build/tests/base/test", "c/problems", "c/build/warpgym-child", "c"},
        {"d/bin/warpgym", "d/problems", "d/nothing", "d/bin"},
        {"e/bin/warpgym", "e/nothing", "e/python/warpgym", "e/bin"},
        {"f/1/2/3/4/warpgym", "f/problems", "f/python/warpgym", "f/1/2/3/4"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char root[512];
        char *directory = support_text("%s", rows[i].program);
        *strrchr(directory, '/') = '\0';
        make_directory(directory);
        make_directory(rows[i].problems);
        make_directory(rows[i].mark);
        root_of(rows[i].program, root, sizeof root);
        char *expected = inside(rows[i].root);
        assert_string_equal(root, expected);
    }
}

TEST(a_root_that_strangers_can_write_is_passed_over)
{
    char root[512];
    make_directory("open/bin");
    make_directory("open/problems");
    make_directory("open/python/warpgym");
    char *open_to_all = inside("open"), *expected = inside("open/bin");
    assert_int_equal(chmod(open_to_all, 01777), 0);
    root_of("open/bin/warpgym", root, sizeof root);
    assert_string_equal(root, expected);
}

static void assert_path(char *got, const char *below)
{
    char *expected = inside(below);
    assert_non_null(got);
    assert_string_equal(got, expected);
    struct stat stat_buffer;
    assert_int_equal(stat(got, &stat_buffer), 0);
    assert_true(S_ISDIR(stat_buffer.st_mode));
    assert_int_equal(stat_buffer.st_mode & 077, 0);
    mem_free(got);
}

TEST(own_directories)
{
    char *home = inside("home"), *xdg = inside("xdg"), *named = inside("named/cache");
    make_directory("home");
    setenv("HOME", home, 1);
    assert_path(paths_cache(NULL, NULL), "home/.cache/warpgym");
    assert_path(paths_cache("", NULL), "home/.cache/warpgym");
    assert_path(paths_state(NULL), "home/.local/state/warpgym");
    char *config = support_keep(paths_config_file());
    assert_non_null(strstr(config, "/home/.config/warpgym/config.yaml"));
    setenv("XDG_CACHE_HOME", xdg, 1);
    setenv("XDG_STATE_HOME", xdg, 1);
    assert_path(paths_cache(NULL, NULL), "xdg/warpgym");
    assert_path(paths_state(NULL), "xdg/warpgym");
    assert_path(paths_cache(named, NULL), "named/cache");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_path(paths_cache(NULL, NULL), "home/.cache/warpgym");
}

TEST(without_a_home)
{
    static const char *const homes[] = {NULL, "/", "/no/such/home"};
    for (size_t i = 0; i < COUNT(homes); i++) {
        if (homes[i])
            setenv("HOME", homes[i], 1);
        char *cache = support_keep(paths_cache(NULL, NULL));
        assert_non_null(cache);
        char expected[64];
        snprintf(expected, sizeof expected, "/var/tmp/warpgym-%u", (unsigned)geteuid());
        assert_string_equal(cache, expected);
        assert_null(paths_config_file());
    }
}

TEST(a_cache_that_cannot_be)
{
    char *file = inside("file");
    struct err err = {0};
    assert_int_equal(file_write_atomic(file, "", 0, 0600, NULL), 0);
    assert_null(paths_cache(file, &err));
    assert_non_null(strstr(err.text, "cache.directory"));
}

TEST(python)
{
    char *python = NULL;
    struct err err = {0};
    assert_int_equal(paths_python("/bin/sh", &python, &err), 0);
    assert_string_equal(python, "/bin/sh");
    mem_free(python);
    setenv("WARPGYM_PYTHON", "/bin/cat", 1);
    assert_int_equal(paths_python("", &python, &err), 0);
    assert_string_equal(python, "/bin/cat");
    mem_free(python);
    assert_int_equal(paths_python("/no/python", &python, &err), ERR_MISSING);
    assert_null(python);
    assert_non_null(strstr(err.text, "python.path"));
    setenv("WARPGYM_PYTHON", "/bin", 1);
    assert_int_equal(paths_python(NULL, &python, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "WARPGYM_PYTHON"));
}

TEST(problems)
{
    struct paths_list search_paths;
    struct err err = {0};
    make_directory("one");
    make_directory("two");
    char *one = inside("one"), *two = inside("two");
    char *setting = support_text(":%s::%s:", one, two);
    assert_int_equal(paths_problems(setting, &search_paths, &err), 0);
    assert_true(search_paths.count >= 2 && search_paths.count <= 3);
    assert_string_equal(search_paths.items[0], one);
    assert_string_equal(search_paths.items[1], two);
    assert_null(search_paths.items[search_paths.count]);
    paths_list_deinit(&search_paths);
    assert_int_equal(paths_problems("/no/such/place", &search_paths, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "/no/such/place"));
    assert_int_equal(paths_problems(NULL, &search_paths, &err), 0);
    assert_true(search_paths.count <= 1);
    paths_list_deinit(&search_paths);
}

TEST(lock_directory)
{
    char *home = inside("home");
    make_directory("home");
    setenv("HOME", home, 1);
    char *one = support_keep(paths_lock_directory(NULL));
    char *two = support_keep(paths_lock_directory(NULL));
    assert_non_null(one);
    assert_string_equal(one, two);
    struct stat stat_buffer;
    assert_int_equal(lstat(one, &stat_buffer), 0);
    assert_true(S_ISDIR(stat_buffer.st_mode));
    assert_int_equal(access(one, W_OK | X_OK), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print-root") == 0) {
        char *root = support_keep(paths_root());
        fputs(root, stdout);
        return 0;
    }
    return tests_run();
}
