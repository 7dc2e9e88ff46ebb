#include "compile/compile.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const variables[] = {"PATH",         "WARPGYM_CC",     "WARPGYM_CXX",
                                        "WARPGYM_NVCC", "XDG_CACHE_HOME", "HOME",
                                        "CUDA_HOME"};
#define VARIABLES COUNT(variables)

static char *saved[VARIABLES];
static char *place; /* of one test; it is the home, too */

FIXTURE(begin)
{
    place = realpath(support_directory(), NULL);
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *value = getenv(variables[i]);
        saved[i] = value ? mem_strdup(value) : NULL;
        if (i > 0)
            unsetenv(variables[i]);
    }
    return place && setenv("HOME", place, 1) == 0 ? 0 : -1;
}

FIXTURE(end)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        if (saved[i])
            setenv(variables[i], saved[i], 1);
        else
            unsetenv(variables[i]);
        mem_free(saved[i]);
    }
    mem_free(place);
    return 0;
}

TEST_EACH(begin, end);

/* A program at PLACE/name; returns its path, the caller's. */
static char *make_program(const char *name, const char *text)
{
    char *path = support_text("%s/%s", place, name);
    char *directory = support_text("%s", path);
    *strrchr(directory, '/') = '\0';
    assert_int_equal(file_make_directories(directory, 0755, NULL), 0);
    assert_int_equal(file_write_atomic(path, text, strlen(text), 0755, NULL), 0);
    return path;
}

static bool is_readable(const struct toolchain *toolchain, const char *path)
{
    for (char **at = toolchain->readable; *at; at++) {
        size_t length = strlen(*at);
        if (strncmp(path, *at, length) == 0 && (path[length] == '/' || path[length] == '\0'))
            return true;
    }
    return false;
}

static int count_lines(const char *path)
{
    char *text;
    size_t count;
    int lines = 0;
    if (file_read(path, 65536, &text, &count, NULL) < 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        lines += text[i] == '\n';
    mem_free(text);
    return lines;
}

TEST(this_machine)
{
    struct toolchain toolchain;
    toolchain_init(&toolchain, NULL);
    assert_non_null(toolchain.cc);
    assert_int_equal(toolchain.cc[0], '/');
    assert_int_equal(access(toolchain.cc, X_OK), 0);
    assert_non_null(toolchain.cc_version);
    assert_null(strchr(toolchain.cc_version, '\n'));
    assert_int_equal(toolchain.nvcc != NULL, toolchain.nvcc_version != NULL);
    assert_non_null(toolchain.cpu);
    assert_null(toolchain.root);
    for (char **path = toolchain.readable; *path; path++) {
        struct stat facts;
        assert_int_equal((*path)[0], '/');
        assert_int_equal(lstat(*path, &facts), 0);
        assert_string_not_equal(*path, "/usr");
        assert_string_not_equal(*path, "/usr/local");
    }
    assert_true(is_readable(&toolchain, toolchain.cc));
    assert_true(is_readable(&toolchain, "/usr/include/math.h"));
    assert_false(is_readable(&toolchain, "/etc/passwd"));
    assert_false(is_readable(&toolchain, place));
    toolchain_deinit(&toolchain);
    assert_null(toolchain.cc);
}

TEST(cpu_is_stable)
{
    struct toolchain first;
    struct toolchain second;
    toolchain_init(&first, NULL);
    toolchain_init(&second, NULL);
    assert_string_equal(first.cpu, second.cpu);
    assert_true(strlen(first.cpu) > 14); /* a name and the features' digest */
    toolchain_deinit(&first);
    toolchain_deinit(&second);
}

TEST(named_compiler)
{
    char *cc = make_program("opt/gcc-99/bin/mycc", "#!/bin/sh\necho 'mycc 99.1'\necho more\n");
    char *tree = support_text("%s/opt/gcc-99", place);
    char *path = support_text("%s/opt/gcc-99/bin:%s", place, saved[0] ? saved[0] : "/usr/bin");
    setenv("PATH", path, 1);
    const struct {
        const char *named, *found;
    } rows[] = {
        {cc, cc},     {"mycc", cc}, {"no-such-compiler", NULL}, {"/no/such/compiler", NULL},
        {tree, NULL}, /* a directory */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct toolchain toolchain;
        setenv("WARPGYM_CC", rows[i].named, 1);
        toolchain_init(&toolchain, place);
        if (!rows[i].found) {
            assert_null(toolchain.cc);
            assert_null(toolchain.cc_version);
        } else {
            assert_string_equal(toolchain.cc, rows[i].found);
            assert_string_equal(toolchain.cc_version, "mycc 99.1");
            assert_true(is_readable(&toolchain, tree));
            assert_false(is_readable(&toolchain, place));
        }
        toolchain_deinit(&toolchain);
    }
}

TEST(cpp_compiler)
{
    static const char version[] = "#!/bin/sh\necho \"${0##*/} 1\"\n";
    char *gcc = make_program("opt/bin/gcc-13", version);
    char *gxx = make_program("opt/bin/g++-13", version);
    char *clang = make_program("opt/bin/clang", version);
    char *clangxx = make_program("opt/bin/clang++", version);
    char *alone = make_program("opt/bin/target-gcc", version);
    char *path_gxx = make_program("path/g++", version);
    char *path = support_text("%s/path:/usr/bin", place);
    const struct {
        const char *cc, *cxx, *found, *version;
    } rows[] = {
        {gcc, NULL, gxx, "g++-13 1"},     {clang, NULL, clangxx, "clang++ 1"},
        {alone, NULL, path_gxx, "g++ 1"}, {gcc, clangxx, clangxx, "clang++ 1"},
        {gcc, "", gxx, "g++-13 1"},       {gcc, "/no/such/g++", NULL, NULL},
    };
    setenv("PATH", path, 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct toolchain toolchain;
        setenv("WARPGYM_CC", rows[i].cc, 1);
        setenv("WARPGYM_CXX", rows[i].cxx ? rows[i].cxx : "", 1);
        toolchain_init(&toolchain, NULL);
        if (rows[i].found) {
            assert_string_equal(toolchain.cxx, rows[i].found);
            assert_string_equal(toolchain.cxx_version, rows[i].version);
            assert_true(is_readable(&toolchain, rows[i].found));
        } else {
            assert_null(toolchain.cxx);
            assert_null(toolchain.cxx_version);
        }
        toolchain_deinit(&toolchain);
    }
}

TEST(empty_name_is_no_name)
{
    struct toolchain toolchain;
    setenv("WARPGYM_CC", "", 1);
    toolchain_init(&toolchain, NULL);
    assert_non_null(toolchain.cc);
    toolchain_deinit(&toolchain);
}

TEST(compiler_proxies_are_passed_over)
{
    make_program("lib/ccache", "#!/bin/sh\nexit 1\n");
    char *link = support_text("%s/lib/gcc", place);
    char *path = support_text("%s/lib:%s", place, saved[0] ? saved[0] : "/usr/bin");
    assert_int_equal(symlink("ccache", link), 0);
    setenv("PATH", path, 1);
    struct toolchain toolchain;
    toolchain_init(&toolchain, NULL);
    assert_non_null(toolchain.cc);
    assert_string_not_equal(toolchain.cc, link);
    toolchain_deinit(&toolchain);
}

/* The version is asked for once for each program that lies there. */
TEST(version_is_remembered)
{
    char *log = support_text("%s/log", place);
    char *text = support_text("#!/bin/sh\necho x >>%s\necho 'mycc 1'\n", log);
    char *cc = make_program("bin/mycc", text);
    struct toolchain toolchain;
    setenv("WARPGYM_CC", cc, 1);
    for (int i = 0; i < 3; i++) {
        toolchain_init(&toolchain, NULL);
        assert_string_equal(toolchain.cc_version, "mycc 1");
        toolchain_deinit(&toolchain);
        assert_int_equal(count_lines(log), 1);
    }
    text = support_text("#!/bin/sh\necho x >>%s\necho 'mycc 2.0'\n", log);
    make_program("bin/mycc", text);
    toolchain_init(&toolchain, NULL);
    assert_string_equal(toolchain.cc_version, "mycc 2.0");
    toolchain_deinit(&toolchain);
    assert_int_equal(count_lines(log), 2);
    /* Where nothing can be remembered, it is asked for each time. */
    char *notes = support_text("%s/.cache/warpgym/toolchain", place);
    file_remove_tree(notes);
    assert_int_equal(file_write_atomic(notes, "x", 1, 0600, NULL), 0);
    for (int i = 0; i < 2; i++) {
        toolchain_init(&toolchain, NULL);
        assert_string_equal(toolchain.cc_version, "mycc 2.0");
        toolchain_deinit(&toolchain);
    }
    assert_int_equal(count_lines(log), 4);
}

TEST(odd_versions)
{
    static const struct {
        const char *script, *version;
    } rows[] = {
        {"exit 1", "unknown version"},         {"echo; echo; echo third", "third"},
        {"printf 'no newline'", "no newline"}, {"printf 'odd\\033[1m bytes\\n'", "odd?[1m bytes"},
        {"kill -9 $$", "unknown version"},     {":", "unknown version"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *name = support_text("bin/cc-%zu", i);
        char *text = support_text("#!/bin/sh\n%s\n", rows[i].script);
        char *cc = make_program(name, text);
        struct toolchain toolchain;
        setenv("WARPGYM_CC", cc, 1);
        toolchain_init(&toolchain, NULL);
        assert_string_equal(toolchain.cc_version, rows[i].version);
        toolchain_deinit(&toolchain);
    }
}

/* nvcc behind a script, behind links: what is needed is readable, what is beside it is not. */
TEST(nvcc_behind_a_script)
{
    static const char version[] = "#!/bin/sh\necho 'nvcc: NVIDIA'\n"
                                  "echo 'Cuda compilation tools, release 13.0, V13.0.88'\n";
    char *real = make_program("opt/cuda-13/bin/nvcc", version);
    char *text = support_text("#!/bin/sh\nexec \"%s\" \"$@\"\n", real);
    char *wrapper = make_program("local/bin/nvcc", text);
    char *link = support_text("%s/nvcc-link", place);
    char *cuda = support_text("%s/cuda", place);
    char *through = support_text("%s/cuda/bin/nvcc", place);
    char *include = support_text("%s/opt/cuda-13/include/cuda.h", place);
    char *beside = support_text("%s/local/lib/secret", place);
    assert_int_equal(symlink("local/bin/nvcc", link), 0);
    assert_int_equal(symlink("opt/cuda-13", cuda), 0);
    const struct {
        const char *named, *found;
        bool wrapped;
    } rows[] = {{real, real, false},
                {wrapper, wrapper, true},
                {link, link, true},
                {through, real, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct toolchain toolchain;
        setenv("WARPGYM_NVCC", rows[i].named, 1);
        toolchain_init(&toolchain, NULL);
        assert_string_equal(toolchain.nvcc, rows[i].found);
        assert_string_equal(toolchain.nvcc_version,
                            "Cuda compilation tools, release 13.0, V13.0.88");
        assert_true(is_readable(&toolchain, toolchain.nvcc));
        assert_true(is_readable(&toolchain, real));
        assert_true(is_readable(&toolchain, include));
        assert_int_equal(is_readable(&toolchain, wrapper), rows[i].wrapped);
        assert_false(is_readable(&toolchain, beside));
        toolchain_deinit(&toolchain);
    }
}

TEST(cuda_home)
{
    struct toolchain toolchain;
    char *path = support_text("%s/nothing", place);
    char *nvcc = make_program("cuda/bin/nvcc", "#!/bin/sh\necho 'release 1'\n");
    char *home = support_text("%s/cuda", place);
    setenv("CUDA_HOME", home, 1);
    setenv("PATH", path, 1);
    toolchain_init(&toolchain, NULL);
    /* The usual places come first. */
    if (access("/usr/local/bin/nvcc", X_OK) < 0 && access("/usr/bin/nvcc", X_OK) < 0)
        assert_string_equal(toolchain.nvcc, nvcc);
    else
        assert_string_not_equal(toolchain.nvcc, nvcc);
    toolchain_deinit(&toolchain);
}

/* The bundled toolchain is for machines that have none: not for those that have, nor for a user
 * that named one. */
TEST(bundled_is_the_last_resort)
{
    struct toolchain toolchain;
    make_program("usr/bin/gcc", "#!/bin/sh\necho bundled\n");
    toolchain_init(&toolchain, place);
    assert_non_null(toolchain.cc);
    assert_null(toolchain.root);
    toolchain_deinit(&toolchain);
    setenv("WARPGYM_CC", "/no/such/compiler", 1);
    toolchain_init(&toolchain, place);
    assert_null(toolchain.cc);
    assert_null(toolchain.root);
    toolchain_deinit(&toolchain);
}
