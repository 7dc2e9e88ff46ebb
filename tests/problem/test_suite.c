/* Finding problems by name, in trees that look like ours and like a KernelBench checkout. */
#include "../support/test.h"
#include "base/file.h"
#include "problem/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATHS(...)                                                                                 \
    {                                                                                              \
        .items = (const char *[]){__VA_ARGS__}, .count = COUNT(((const char *[]){__VA_ARGS__}))    \
    }

static char *root, *problems, *bench, *plain, *empty;

static void put_native(const char *directory, const char *name, const char *summary)
{
    char path[128], text[512];
    snprintf(path, sizeof path, "%s/problem.yaml", name);
    const char *last = strrchr(name, '/');
    snprintf(text, sizeof text,
             "name: %s\nsummary: %s\nsignature: void solution(float *y, size_t n)\n"
             "arguments:\n  y: {role: out, type: f32, shape: [n]}\n  n: {role: size}\n"
             "tolerance: {relative: 1e-5}\ncheck: [{n: 1}]\ntime: [{n: 2}]\n",
             last ? last + 1 : name, summary);
    support_write(directory, path, text);
    snprintf(path, sizeof path, "%s/reference.c", name);
    support_write(directory, path, "void solution(void);\n");
}

static void put_torch(const char *directory, const char *name, const char *summary)
{
    char text[512];
    snprintf(text, sizeof text,
             "import torch\n\nclass Model(torch.nn.Module):\n    \"\"\"\n    %s\n    \"\"\"\n\n"
             "def get_inputs():\n    return []\n\ndef get_init_inputs():\n    return []\n",
             summary);
    support_write(directory, name, text);
}

FIXTURE(setup)
{
    root = support_directory();
    problems = support_text("%s/problems", root);
    bench = support_text("%s/checkout", root);
    plain = support_text("%s/mine", root);
    empty = support_text("%s/empty", root);
    put_native(problems, "native/softmax", "Ours.");
    put_native(problems, "native/gemm", "Ours.");
    put_torch(problems, "torch/relu.py", "A relu.");
    put_torch(problems, "torch/softmax.py", "A softmax in torch.");
    support_write(problems, "torch/tests/fast.py", "x = 1\n");
    support_write(problems, "torch/README.md", "text\n");
    support_write(problems, "native/notes/README.md", "no problem\n");
    put_torch(bench, "KernelBench/level1/1_Square_matrix_multiplication_.py", "Square.");
    put_torch(bench, "KernelBench/level1/100_HingeLoss.py", "Hinge.");
    put_torch(bench, "KernelBench/level1/23_Softmax.py", "KernelBench's softmax.");
    put_torch(bench, "KernelBench/level2/1_Conv2D_ReLU.py", "Conv.");
    put_torch(bench, "KernelBench/level10/2_Late.py", "Late.");
    support_write(bench, "KernelBench/level1/helper.py", "x = 1\n");
    support_write(bench, "KernelBench/levels/1_No.py", "x = 1\n");
    put_native(plain, "softmax", "Mine.");
    put_native(plain, "mine", "Mine.");
    put_torch(plain, "level1/23_Other.py", "Other.");
    return mkdir(empty, 0755);
}

TEST_GROUP(setup, NULL);

TEST(listing)
{
    static const char *const wanted[] = {"gemm",          "softmax",  "torch/relu",
                                         "torch/softmax", "level1/1", "level1/23",
                                         "level1/100",    "level2/1", "level10/2"};
    const struct paths_list search_paths = PATHS(problems, bench);
    struct suite suite;
    struct err err = {0};
    if (suite_open(&suite, &search_paths, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(suite.count, COUNT(wanted));
    for (size_t i = 0; i < suite.count; i++)
        assert_string_equal(suite.entries[i].id, wanted[i]);
    assert_int_equal(suite.entries[0].format, PROBLEM_NATIVE);
    assert_int_equal(suite.entries[2].format, PROBLEM_TORCH);
    char path[128];
    snprintf(path, sizeof path, "%s/native/gemm", problems);
    assert_string_equal(suite.entries[0].path, path);
    snprintf(path, sizeof path, "%s/KernelBench/level1/1_Square_matrix_multiplication_.py", bench);
    assert_string_equal(suite.entries[4].path, path);
    suite_close(&suite);
    assert_int_equal(suite.count, 0);
}

TEST(find)
{
    static const struct {
        const char *what, *id;
    } rows[] = {
        {"softmax", "softmax"},
        {"torch/softmax", "torch/softmax"},
        {"relu", "torch/relu"}, /* the bare file name */
        {"relu.py", "torch/relu"},
        {"level1/23", "level1/23"},
        {"level1/23_Softmax", "level1/23"},
        {"level1/23_Softmax.py", "level1/23"},
        {"23_Softmax", "level1/23"},
        {"23_Softmax.py", "level1/23"},
        {"level2/23_Softmax", NULL},
        {"KernelBench/level1/23_Softmax", NULL},
        {"Softmax", NULL},
        {"23", NULL},
        {"level1", NULL},
        {"", NULL},
        {".py", NULL},
        {"/23_Softmax", NULL},
        {"tests/fast", NULL},
        {"helper", NULL},
    };
    const struct paths_list search_paths = PATHS(problems, bench);
    struct suite suite;
    assert_int_equal(suite_open(&suite, &search_paths, NULL), 0);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct suite_entry *entry = suite_find(&suite, rows[i].what);
        if (!entry != !rows[i].id || (entry && strcmp(entry->id, rows[i].id) != 0))
            fail_msg("'%s' found %s", rows[i].what, entry ? entry->id : "nothing");
    }
    suite_close(&suite);
}

TEST(first_root_wins)
{
    static const struct {
        bool plain_first;
        const char *what, *summary;
    } rows[] = {
        {false, "softmax", "Ours."},
        {true, "softmax", "Mine."},
        {false, "mine", "Mine."},
        {true, "level1/23", "Other."},
        {false, "level1/23", "KernelBench's softmax."},
        {true, "23_Other", "Other."},
        {true, "torch/relu", "A relu."},
        {true, "relu", "A relu."},
    };
    const struct paths_list orders[] = {PATHS(problems, bench, plain),
                                        PATHS(plain, problems, bench)};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        struct err err = {0};
        if (suite_load(&orders[rows[i].plain_first], rows[i].what, &problem, &err) < 0)
            fail_msg("%s: %s", rows[i].what, err.text);
        assert_string_equal(problem.summary, rows[i].summary);
        problem_deinit(&problem);
    }
    struct suite suite;
    assert_int_equal(suite_open(&suite, &orders[1], NULL), 0);
    assert_int_equal(suite.count, 10);
    for (size_t i = 1; i < suite.count; i++)
        assert_string_not_equal(suite.entries[i].id, suite.entries[i - 1].id);
    const struct suite_entry *entry = suite_find(&suite, "softmax");
    assert_non_null(entry);
    assert_non_null(strstr(entry->path, "/mine/softmax"));
    suite_close(&suite);
}

TEST(load)
{
    static const struct {
        const char *what; /* %s: the problems folder */
        const char *id, *name;
        enum problem_format format;
    } rows[] = {
        {"gemm", "gemm", "gemm", PROBLEM_NATIVE},
        {"torch/relu", "torch/relu", "relu", PROBLEM_TORCH},
        {"level1/23", "level1/23", "23_Softmax", PROBLEM_TORCH},
        {"23_Softmax", "level1/23", "23_Softmax", PROBLEM_TORCH},
        {"./native/gemm", "gemm", "gemm", PROBLEM_NATIVE},
        {"native/gemm/", "gemm", "gemm", PROBLEM_NATIVE},
        {"native/gemm/problem.yaml", "gemm", "gemm", PROBLEM_NATIVE},
        {"torch/relu.py", "torch/relu", "relu", PROBLEM_TORCH},
        {"../checkout/KernelBench/level2/1_Conv2D_ReLU.py", "level2/1", "1_Conv2D_ReLU",
         PROBLEM_TORCH},
    };
    char before[512];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(problems), 0);
    const struct paths_list search_paths = PATHS(problems, bench);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        struct err err = {0};
        if (suite_load(&search_paths, rows[i].what, &problem, &err) < 0)
            fail_msg("%s: %s", rows[i].what, err.text);
        assert_string_equal(problem.id, rows[i].id);
        assert_string_equal(problem.name, rows[i].name);
        assert_int_equal(problem.format, rows[i].format);
        assert_int_equal(strlen(problem.hash), 64);
        assert_int_equal(strlen(problem.reference_text), problem.reference_bytes);
        problem_deinit(&problem);
    }
    /* From inside of it, too. */
    assert_int_equal(chdir("native/gemm"), 0);
    for (int i = 0; i < 2; i++) {
        struct problem problem;
        struct err err = {0};
        if (suite_load(&search_paths, i ? "problem.yaml" : ".", &problem, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(problem.id, "gemm");
        problem_deinit(&problem);
    }
    assert_int_equal(chdir(before), 0);
}

/* An exact id looks at nothing else: broken neighbours and missing search paths do not matter. */
TEST(opens_no_more)
{
    char other[128];
    snprintf(other, sizeof other, "%s/nothing", root);
    const struct paths_list search_paths = PATHS(problems, other);
    struct problem problem;
    struct err err = {0};
    support_write(problems, "native/broken/problem.yaml", "name: [\n");
    assert_int_equal(suite_load(&search_paths, "gemm", &problem, &err), 0);
    problem_deinit(&problem);
    assert_int_equal(suite_load(&search_paths, "torch/relu", &problem, &err), 0);
    problem_deinit(&problem);
    assert_int_equal(suite_load(&search_paths, "broken", &problem, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "/native/broken/problem.yaml:2:"));
    assert_int_equal(suite_load(&search_paths, "gemmm", &problem, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "/nothing: no such directory of problems"));
    char broken[128];
    snprintf(broken, sizeof broken, "%s/native/broken", problems);
    file_remove_tree(broken);
}

TEST(missing)
{
    static const struct {
        const char *what, *error;
    } rows[] = {
        {"sofmax", "unknown problem 'sofmax'; did you mean 'softmax'?"},
        {"rleu", "unknown problem 'rleu'; did you mean 'torch/relu'?"},
        {"torch/rleu", "unknown problem 'torch/rleu'; did you mean 'torch/relu'?"},
        {"level1/24", "unknown problem 'level1/24'; did you mean 'level1/23'?"},
        {"/gemm", "unknown problem '/gemm'; did you mean 'gemm'?"},
        {"native/softmax/problem.yml", NULL},
        {"nothing/like/this.py", NULL},
    };
    const struct paths_list search_paths = PATHS(problems, bench);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct problem problem;
        struct err err = {0};
        assert_int_equal(suite_load(&search_paths, rows[i].what, &problem, &err), ERR_MISSING);
        if (rows[i].error)
            assert_string_equal(err.text, rows[i].error);
        else
            assert_non_null(strstr(err.text, "and the other roots"));
    }
}

TEST(bad_search_paths)
{
    struct suite suite;
    struct err err = {0};
    char path[256], wanted[512];
    struct paths_list one = PATHS(path);
    snprintf(path, sizeof path, "%s/nothing", root);
    assert_int_equal(suite_open(&suite, &one, &err), ERR_MISSING);
    snprintf(wanted, sizeof wanted, "%s: no such directory of problems", path);
    assert_string_equal(err.text, wanted);
    snprintf(path, sizeof path, "%s/torch/relu.py", problems);
    assert_int_equal(suite_open(&suite, &one, &err), ERR_IO);
    one.items[0] = empty;
    assert_int_equal(suite_open(&suite, &one, &err), ERR_MISSING);
    snprintf(wanted, sizeof wanted,
             "%s: holds no problem: expected NAME/problem.yaml, torch/NAME.py or levelN/ID_Name.py",
             empty);
    assert_string_equal(err.text, wanted);
    const struct paths_list second = PATHS(problems, empty);
    assert_int_equal(suite_open(&suite, &second, &err), ERR_MISSING);
    assert_string_equal(err.text, wanted);
}
