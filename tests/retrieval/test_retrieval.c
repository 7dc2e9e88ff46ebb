/* From pairs to an index and back: what is found, what is kept back, and indexes that are none. */
#include "retrieval/retrieval.h"

#include "../support/test.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "retrieval/index_build.h"
#include "retrieval/index_db.h"
#include "retrieval/index_stats.h"

#include <pthread.h>
#include <stdio.h>

#define MODULE(name, body)                                                                         \
    "import torch\nfrom torch import nn\n\n\nclass " name "(nn.Module):\n"                         \
    "    def forward(self, x, y):\n" body
#define SOFTMAX                                                                                    \
    MODULE("Model", "        most = x.amax(dim=1, keepdim=True)\n"                                 \
                    "        weights = torch.exp(x - most)\n"                                      \
                    "        return weights / weights.sum(dim=1, keepdim=True)\n")
/* The same thing: other names, other layout, comments, annotations. */
#define SOFTMAX_AGAIN                                                                              \
    "# by somebody else\nimport torch as th\nimport torch.nn as nn\n\n\nclass Net(nn.Module):\n"   \
    "    def forward(self, inp: th.Tensor, other: th.Tensor) -> th.Tensor:\n"                      \
    "        top = inp.amax(dim=1,\n                       keepdim=True)  # the largest\n"         \
    "        e = th.exp(inp - top)\n        return e / e.sum(dim=1, keepdim=True)\n"
#define LAYER_NORM                                                                                 \
    MODULE("Model", "        mean = x.mean(dim=1, keepdim=True)\n"                                 \
                    "        centred = x - mean\n"                                                 \
                    "        return centred * torch.rsqrt((centred**2).mean(dim=1) + 1e-5)\n")
#define LOG_SOFTMAX MODULE("Model", "        return x - torch.logsumexp(x, dim=1, keepdim=True)\n")
#define MATMUL MODULE("Model", "        return torch.matmul(x, y.t())\n")
#define KERNEL                                                                                     \
    "@triton.jit\ndef softmax_kernel(x, y, cols, BLOCK: tl.constexpr):\n"                          \
    "    row = tl.program_id(0)\n    at = tl.arange(0, BLOCK)\n"                                   \
    "    values = tl.load(x + row * cols + at, mask=at < cols, other=-float('inf'))\n"             \
    "    values = tl.exp(values - tl.max(values, 0))\n"                                            \
    "    tl.store(y + row * cols + at, values / tl.sum(values, 0), mask=at < cols)\n"
#define KERNEL_AGAIN                                                                               \
    "# renamed\n@triton.jit\ndef k(a, b, n, SIZE: tl.constexpr):\n    i = tl.program_id(0)\n"      \
    "    j = tl.arange(0, SIZE)\n"                                                                 \
    "    v = tl.load(a + i * n + j, mask=j < n, other=-float('inf'))\n"                            \
    "    v = tl.exp(v - tl.max(v, 0))\n    tl.store(b + i * n + j, v / tl.sum(v, 0), mask=j < "    \
    "n)\n"

struct pair {
    const char *name, *language, *problem, *reference, *solution;
    double speedup;
};

static const struct pair pairs[] = {
    {"ours", "triton", "level1/23", SOFTMAX, KERNEL, 1.5},
    {"stranger", "triton", "", SOFTMAX_AGAIN, "def other(x):\n    return a_library_call(x)\n", 2},
    {"thief", "triton", "", LAYER_NORM "        # softmax softmax\n", KERNEL_AGAIN, 3},
    {"log_softmax", "triton", "", LOG_SOFTMAX, "def log_softmax_kernel(x):\n    pass\n", 1.25},
    {"log_softmax", "triton", "", LOG_SOFTMAX, "def faster(x, y):\n    return tl.dot(x, y)\n", 4},
    {"layer_norm", "triton", "", LAYER_NORM, "def layer_norm_kernel(x):\n    return x\n", 0},
    {"matmul", "triton", "", MATMUL, "def matmul_kernel(a, b, c):\n    return a * b\n", 0},
    {"matmul", "cuda", "", MATMUL, "__global__ void matmul(const float *a) { a[0] = wmma(); }\n",
     0},
};

static char *directory, *index_path, *source_path; /* of all tests */
static struct settings settings;

static void write_pairs(const struct pair *list, size_t count)
{
    struct buf out;
    buf_init(&out, (size_t)16 << 20);
    for (size_t i = 0; i < count; i++) {
        json_t *line = json_object();
        json_put(line, "name", json_text(list[i].name));
        json_put(line, "language", json_text(list[i].language));
        json_put(line, "problem", json_text(list[i].problem));
        json_put(line, "reference", json_text(list[i].reference));
        json_put(line, "solution", json_text(list[i].solution));
        json_put(line, "speedup", json_number(list[i].speedup));
        assert_int_equal(json_line_write(line, &out, NULL), 0);
        json_decref(line);
    }
    assert_int_equal(file_write_atomic(source_path, out.data, out.len, 0644, NULL), 0);
    buf_deinit(&out);
}

static int build(const char *path, const _Atomic int *cancelled, struct err *err)
{
    const struct index_source source = {source_path, NULL};
    const struct index_build wanted = {.directory = path,
                                       .sources = &source,
                                       .source_count = 1,
                                       .settings = &settings,
                                       .cancelled = cancelled};
    return index_build(&wanted, err);
}

FIXTURE(begin)
{
    directory = support_directory();
    index_path = support_text("%s/index?#1", directory);
    source_path = support_text("%s/pairs.jsonl", directory);
    settings_init(&settings);
    write_pairs(pairs, COUNT(pairs));
    return build(index_path, NULL, NULL);
}

FIXTURE(end)
{
    settings_deinit(&settings);
    return 0;
}

TEST_GROUP(begin, end);

static struct retrieval *open_index(const char *path)
{
    struct retrieval *retrieval;
    struct err err;
    assert_ok(retrieval_open(&retrieval, path, &settings, &err), &err);
    return retrieval;
}

/* The path of another index, of these pairs. */
static char *build_of(const char *name, const struct pair *list, size_t count)
{
    char *path = support_text("%s/%s", directory, name);
    struct err err;
    write_pairs(list, count);
    assert_ok(build(path, NULL, &err), &err);
    write_pairs(pairs, COUNT(pairs));
    return path;
}

/* "name/language name/language " of what is found. */
static void find(struct retrieval *retrieval, const struct retrieval_query *query, char *text,
                 size_t text_bytes)
{
    json_t *examples, *example;
    struct err err;
    size_t i;
    text[0] = '\0';
    assert_ok(retrieval_search(retrieval, query, &examples, &err), &err);
    json_array_foreach(examples, i, example)
    {
        size_t used = strlen(text);
        snprintf(text + used, text_bytes - used, "%s/%s ",
                 json_string_value(json_object_get(example, "name")),
                 json_string_value(json_object_get(example, "language")));
    }
    json_decref(examples);
}

TEST(finds)
{
    static const struct {
        struct retrieval_query query;
        const char *found;
    } rows[] = {
        /* Everything about the problem is kept back: by its name, by its text, by its solution. */
        {{.text = SOFTMAX, .title = "softmax", .problem_id = "level1/23", .count = 9},
         "log_softmax/triton layer_norm/triton "},
        {{.text = SOFTMAX, .title = "softmax", .count = 9},
         "log_softmax/triton layer_norm/triton "},
        {{.text = SOFTMAX_AGAIN, .title = "softmax", .count = 9},
         "log_softmax/triton layer_norm/triton "},
        {{.text = "softmax", .problem_id = "level1/23", .count = 2}, "log_softmax/triton "},
        {{.text = LAYER_NORM, .title = "layer norm", .count = 1}, "log_softmax/triton "},
        {{.text = "wmma", .anywhere = true, .count = 3}, "matmul/cuda "},
        {{.text = "wmma", .count = 3}, ""},
        {{.text = "matmul", .count = 9}, "matmul/triton "},
        {{.text = "matmul", .language = "cuda", .count = 9}, "matmul/cuda "},
        {{.text = "matmul", .language = "c", .count = 9}, ""},
        {{.text = "", .count = 9}, ""},
        {{.text = "\" OR ) * { near: \x01", .count = 9}, ""},
        {{.text = "matmul", .count = 0}, ""},
    };
    struct retrieval *retrieval = open_index(index_path);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char found[512];
        find(retrieval, &rows[i].query, found, sizeof found);
        if (strcmp(found, rows[i].found) != 0)
            fail_msg("row %zu: %s", i, found);
    }
    retrieval_close(retrieval);
}

TEST(unguarded)
{
    struct retrieval_query query = {.text = SOFTMAX,
                                    .title = "softmax",
                                    .count = 9,
                                    .unguarded = true};
    char found[512];
    struct retrieval *retrieval = open_index(index_path);
    find(retrieval, &query, found, sizeof found);
    assert_non_null(strstr(found, "ours/triton "));
    assert_non_null(strstr(found, "stranger/triton "));
    retrieval_close(retrieval);
}

/* What gives a withheld problem away is never shown, whatever is asked. */
TEST(withheld)
{
    static const struct retrieval_query withheld[] = {
        {.text = SOFTMAX, .title = "softmax", .problem_id = "level1/23"},
        {.text = "nothing like it", .title = "another", .problem_id = "level1/23"},
        {.text = SOFTMAX_AGAIN, .title = "softmax"},
    };
    static const char *const kept[] = {"", "stranger/triton ", ""}; /* where the id alone decides */
    const struct retrieval_query query = {.text = LOG_SOFTMAX, .title = "softmax", .count = 9};
    char found[512];
    for (size_t i = 0; i < COUNT(withheld); i++) {
        struct retrieval *retrieval = open_index(index_path);
        find(retrieval, &query, found, sizeof found);
        assert_non_null(strstr(found, "thief/triton "));
        assert_int_equal(retrieval_withhold(retrieval, &withheld[i], NULL), 0);
        find(retrieval, &query, found, sizeof found);
        assert_null(strstr(found, "ours/triton "));
        assert_null(strstr(found, "thief/triton "));
        assert_int_equal(strstr(found, "stranger/triton ") != NULL, *kept[i] != '\0');
        assert_non_null(strstr(found, "layer_norm/triton "));
        retrieval_close(retrieval);
    }
}

/* Of two solutions of one reference, the faster; all that an example has. */
TEST(whole_example)
{
    struct retrieval_query query = {.text = "log_softmax", .language = "triton", .count = 1};
    json_t *examples;
    struct retrieval *retrieval = open_index(index_path);
    assert_int_equal(retrieval_search(retrieval, &query, &examples, NULL), 0);
    const json_t *example = json_array_get(examples, 0);
    static const char *const texts[][2] = {{"name", "log_softmax"},
                                           {"source", "pairs"},
                                           {"language", "triton"},
                                           {"category", ""},
                                           {"reference", LOG_SOFTMAX},
                                           {"summary", ""},
                                           {"problem", ""},
                                           {"solution",
                                            "def faster(x, y):\n    return tl.dot(x, y)\n"}};
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_string_equal(json_string_value(json_object_get(example, texts[i][0])), texts[i][1]);
    assert_true(json_number_value(json_object_get(example, "speedup")) == 4);
    assert_true(json_number_value(json_object_get(example, "score")) > 0);
    json_decref(examples);
    retrieval_close(retrieval);
}

static void *search_often(void *context)
{
    static char wrong[] = "wrong";
    struct retrieval_query query = {.text = SOFTMAX, .title = "softmax", .count = 2};
    for (int i = 0; i < 50; i++) {
        json_t *examples;
        if (retrieval_search(context, &query, &examples, NULL) < 0 ||
            json_array_size(examples) != 2)
            return wrong;
        json_decref(examples);
    }
    return NULL;
}

TEST(threads)
{
    pthread_t threads[4];
    struct retrieval *retrieval = open_index(index_path);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, search_often, retrieval), 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    retrieval_close(retrieval);
}

/* A language with few examples is found among many of another: the filter is in the search. */
TEST(rare_language)
{
    enum { MANY = 3000 };
    struct pair *many = mem_alloc((MANY + 1) * sizeof *many);
    char(*texts)[256] = mem_alloc((MANY + 1) * sizeof *texts);
    struct retrieval_query query = {
        .text = MATMUL, .title = "matmul", .language = "cuda", .count = 3, .unguarded = true};
    char found[512];
    for (size_t i = 0; i <= MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "%s# %zu\n", MATMUL, i);
        many[i] = (struct pair){"matmul", i == MANY ? "cuda" : "triton", "", texts[i], texts[i], 0};
    }
    char *path = build_of("many", many, MANY + 1);
    struct retrieval *retrieval = open_index(path);
    find(retrieval, &query, found, sizeof found);
    assert_string_equal(found, "matmul/cuda ");
    retrieval_close(retrieval);
    mem_free(texts);
    mem_free(many);
}

TEST(duplicates_and_stats)
{
    struct pair twice[] = {pairs[0], pairs[0], pairs[7], pairs[6]};
    struct err err;
    json_t *stats;
    char *path = build_of("twice", twice, COUNT(twice));
    assert_ok(index_stats(path, &stats, &err), &err);
    const json_t *source = json_array_get(json_object_get(stats, "sources"), 0);
    assert_int_equal(json_integer_value(json_object_get(stats, "examples")), 3);
    assert_int_equal(json_integer_value(json_object_get(stats, "references")), 2);
    assert_int_equal(json_integer_value(json_object_get(source, "taken")), 3);
    assert_int_equal(json_integer_value(json_object_get(source, "duplicates")), 1);
    const json_t *languages = json_object_get(stats, "languages");
    assert_int_equal(json_integer_value(json_object_get(languages, "triton")), 2);
    assert_int_equal(json_integer_value(json_object_get(languages, "cuda")), 1);
    assert_true(json_is_null(json_object_get(stats, "embeddings")));
    json_decref(stats);
}

/* A build that fails leaves the old index, and nothing beside it. */
TEST(failed_builds)
{
    const _Atomic int cancelled = 1;
    struct err err;
    assert_int_equal(build(index_path, &cancelled, &err), ERR_CANCELLED);
    assert_int_equal(file_write_atomic(source_path, "{}\n", 3, 0644, &err), 0);
    assert_int_equal(build(index_path, NULL, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "no examples in"));
    retrieval_close(open_index(index_path));
    write_pairs(pairs, COUNT(pairs));
}

/* Not an index: another directory, another file, a newer format, a broken one. */
TEST(other_directories)
{
    struct retrieval *retrieval;
    struct index_db db;
    char *path = support_text("%s/other", directory), *file = support_text("%s/" INDEX_FILE, path);
    assert_int_equal(retrieval_open(&retrieval, "", &settings, NULL), ERR_INPUT);
    assert_int_equal(retrieval_open(&retrieval, path, &settings, NULL), ERR_MISSING);
    assert_int_equal(file_make_directories(path, 0755, NULL), 0);
    assert_int_equal(file_write_atomic(file, "no database, but long enough to be one", 38, 0644,
                                       NULL),
                     0);
    assert_int_equal(retrieval_open(&retrieval, path, &settings, NULL), ERR_INPUT);
    assert_int_equal(build(path, NULL, NULL), ERR_INPUT); /* it is somebody's */
    assert_true(file_exists(file));
    file_remove_tree(path);
    assert_int_equal(file_make_directories(path, 0755, NULL), 0);
    assert_int_equal(index_db_create(&db, path, NULL), 0);
    assert_int_equal(index_db_run(&db, "pragma user_version = 99", NULL), 0);
    index_db_close(&db);
    assert_int_equal(retrieval_open(&retrieval, path, &settings, NULL), ERR_UNSUPPORTED);
    assert_int_equal(build(path, NULL, NULL), 0); /* it is ours */
}
