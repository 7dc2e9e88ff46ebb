/* Every form of a corpus, what is left out of it, and lines that are none. */
#include "retrieval/corpus.h"

#include "../support/test.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/paths.h"

#include <stdio.h>
#include <stdlib.h>

#define ARCHIVE(correct, rest)                                                                     \
    "{\"PyTorch_Code_Module\": \"m\", \"CUDA_Code\": \"__global__ k\", \"Correct\": " correct rest \
    "}"

static struct example read_one(const char *text, const struct corpus_options *options,
                               enum corpus_fate *fate, int *result, struct err *err, json_t **line)
{
    struct corpus *corpus;
    struct example example;
    *line = json_loads(text, 0, NULL);
    assert_non_null(*line);
    assert_int_equal(corpus_open(&corpus, options, err), 0);
    *result = corpus_read_line(corpus, *line, &example, fate, err);
    corpus_close(corpus);
    return example;
}

TEST(lines)
{
    static const struct {
        const char *text, *name, *language, *source;
        enum corpus_fate fate;
    } rows[] = {
        {"{\"python_code\": \"p\", \"triton_code\": \"t\", \"entry_point\": \"Net\"}", "Net",
         "triton", "kernelbook", CORPUS_TAKEN},
        {"{\"python_code\": \"p\", \"triton_code\": \"t\", \"module_name\": \"M\", \"repo\": 7}",
         "M", "triton", "kernelbook", CORPUS_TAKEN},
        {"{\"python_code\": \" \\n\", \"triton_code\": \"t\"}", "", "triton", "kernelbook",
         CORPUS_EMPTY},
        {"{\"python_code\": \"p\", \"triton_code\": null}", "", "triton", "kernelbook",
         CORPUS_EMPTY},
        {ARCHIVE("true", ", \"Op_Name\": \"relu\", \"CUDA_Speedup_Native\": 2.5"), "relu", "cuda",
         "archive", CORPUS_TAKEN},
        {ARCHIVE("true", ", \"Kernel_Name\": \"k1\""), "k1", "cuda", "archive", CORPUS_TAKEN},
        {ARCHIVE("false", ""), "", "cuda", "archive", CORPUS_WRONG},
        {ARCHIVE("null", ""), "", "cuda", "archive", CORPUS_WRONG},
        {"{\"PyTorch_Code_Module\": \"m\", \"CUDA_Code\": \"#include <torch/extension.h>\", "
         "\"Correct\": true}",
         "", "torch-cuda", "archive", CORPUS_TAKEN},
        {"{\"reference\": \"r\", \"solution\": \"s\", \"language\": \"c\", \"name\": \"n\"}", "n",
         "c", "pairs", CORPUS_TAKEN},
        {"{\"reference\": \"r\", \"solution\": \"s\", \"language\": \"c\", \"source\": \"me\"}", "",
         "c", "me", CORPUS_TAKEN},
        {"{\"episode\": \"e\", \"turns\": [], \"problem\": \"softmax\", \"language\": \"c\", "
         "\"best_turn\": -1}",
         "", "c", "trajectories", CORPUS_UNSOLVED},
        {"{\"episode\": \"e\", \"turns\": [{\"correct\": true, \"excluded\": true, \"code\": "
         "\"x\"}], \"problem\": \"softmax\", \"language\": \"c\", \"best_turn\": 0}",
         "", "c", "trajectories", CORPUS_UNSOLVED},
        {"{\"episode\": \"e\", \"turns\": [{\"correct\": true, \"code\": \"x\"}], \"problem\": "
         "\"nowhere\", \"language\": \"c\", \"best_turn\": 0}",
         "", "c", "trajectories", CORPUS_FOREIGN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct corpus_options options = {0};
        enum corpus_fate fate;
        struct err err = {0};
        json_t *line;
        int result;
        struct example example = read_one(rows[i].text, &options, &fate, &result, &err, &line);
        if (result < 0)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(fate, rows[i].fate);
        assert_string_equal(example.name, rows[i].name);
        assert_string_equal(example.language, rows[i].language);
        assert_string_equal(example.source, rows[i].source);
        json_decref(line);
    }
}

TEST(bad_lines)
{
    static const struct {
        const char *text, *format, *complaint;
    } rows[] = {
        {"{}", NULL, "of no known form"},
        {"{\"python_code\": \"p\"}", NULL, "of no known form"},
        {"{\"python_code\": 7, \"triton_code\": \"t\"}", NULL, "python_code"},
        {"{\"python_code\": \"p\", \"triton_code\": \"t\"}", "archive", "PyTorch_Code_Module"},
        {"{\"reference\": \"r\", \"solution\": \"s\", \"language\": \"C++\"}", NULL, "language"},
        {"{\"reference\": \"r\", \"solution\": \"s\", \"language\": \"c\", \"category\": \"x\"}",
         NULL, "category"},
        {"{\"episode\": 1, \"turns\": [], \"language\": \"c\"}", NULL, "problem"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct corpus_options options = {.format = rows[i].format};
        enum corpus_fate fate;
        struct err err = {0};
        json_t *line;
        int result;
        read_one(rows[i].text, &options, &fate, &result, &err, &line);
        assert_int_equal(result, ERR_INPUT);
        if (!strstr(err.text, rows[i].complaint))
            fail_msg("row %zu: %s", i, err.text);
        json_decref(line);
    }
}

/* The archive's own fields: whose problem it is, its levels, and what is wrong by its own word. */
TEST(archive)
{
    static const char text[] = ARCHIVE("true", ", \"Level_ID\": 2, \"Task_ID\": 17, "
                                               "\"CUDA_Speedup_Native\": 1.5");
    static const struct {
        struct corpus_options options;
        const char *text;
        enum corpus_fate fate;
    } rows[] = {
        {{0}, text, CORPUS_TAKEN},
        {{.levels = 1 << 2}, text, CORPUS_TAKEN},
        {{.levels = 1 << 1 | 1 << 3}, text, CORPUS_FOREIGN},
        {{.levels = 1 << 1}, ARCHIVE("true", ""), CORPUS_FOREIGN},
        {{.include_incorrect = true}, ARCHIVE("false", ""), CORPUS_TAKEN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum corpus_fate fate;
        struct corpus *corpus;
        struct example example;
        json_t *line = json_loads(rows[i].text, 0, NULL);
        assert_int_equal(corpus_open(&corpus, &rows[i].options, NULL), 0);
        assert_int_equal(corpus_read_line(corpus, line, &example, &fate, NULL), 0);
        assert_int_equal(fate, rows[i].fate);
        if (rows[i].text == text) {
            assert_string_equal(example.problem, "level2/17");
            assert_true(example.speedup == 1.5);
        }
        corpus_close(corpus);
        json_decref(line);
    }
}

TEST(formats)
{
    struct corpus_options options = {.format = "kernelbok"};
    struct corpus *corpus;
    struct err err;
    assert_int_equal(corpus_open(&corpus, &options, &err), ERR_INPUT);
    assert_string_equal(err.text, "unknown format 'kernelbok'; did you mean 'kernelbook'?");
    corpus_close(corpus);
}

struct seen {
    size_t count;
    char names[1024];
};

static int see(void *context, const struct example *example)
{
    struct seen *seen = context;
    size_t used = strlen(seen->names);
    snprintf(seen->names + used, sizeof seen->names - used, "%s:%s ", example->name,
             example->language);
    seen->count++;
    return 0;
}

static int read_path(const char *path, const struct corpus_options *options, struct seen *seen,
                     struct corpus_counts *counts, struct err *err)
{
    struct corpus *corpus;
    *seen = (struct seen){0};
    assert_int_equal(corpus_open(&corpus, options, err), 0);
    int result = corpus_read(corpus, path, see, seen, counts, err);
    corpus_close(corpus);
    return result;
}

TEST(file)
{
    char *directory = support_directory();
    struct corpus_options options = {0};
    struct corpus_counts counts;
    struct seen seen;
    struct buf text;
    buf_init(&text, (size_t)16 << 20);
    buf_puts(&text, "{\"python_code\": \"p\", \"triton_code\": \"t\", \"entry_point\": \"A\"}\n"
                    "no json\n\n  \n{\"reference\": \"r\", \"solution\": \"s\", \"language\": "
                    "\"c\"}\n{\"python_code\": \"p\", \"triton_code\": \"t\", \"a\": 1, \"a\": 2}\n"
                    "{\"python_code\": \"p\\u0000\", \"triton_code\": \"t\"}\n");
    /* One line beyond the bound, and one text beyond its own. */
    buf_puts(&text, "{\"python_code\": \"");
    for (size_t i = 0; i < LIMIT_JSONL_LINE_BYTES / 16 + 1; i++)
        buf_puts(&text, "aaaaaaaaaaaaaaaa");
    buf_puts(&text, "\", \"triton_code\": \"t\"}\n{\"python_code\": \"");
    for (size_t i = 0; i < LIMIT_EXAMPLE_REFERENCE_CHARS + 1; i++)
        buf_puts(&text, "\xc3\xa4");
    buf_puts(&text, "\", \"triton_code\": \"t\"}\n"
                    "{\"python_code\": \"p\", \"triton_code\": \"t\", \"entry_point\": \"Z\"}");
    support_write(directory, "a.jsonl", text.data);
    support_write(directory, "b.jsonl",
                  "{\"reference\": \"r\", \"solution\": \"s\", \"language\": "
                  "\"c\", \"name\": \"B\"}\n");
    support_write(directory, "notes.txt", "none\n");
    assert_int_equal(read_path(directory, &options, &seen, &counts, NULL), 0);
    assert_string_equal(seen.names, "A:triton Z:triton B:c ");
    assert_int_equal(counts.fates[CORPUS_TAKEN], 3);
    assert_int_equal(counts.fates[CORPUS_LARGE], 1);
    assert_int_equal(counts.bad, 5);
    assert_non_null(strstr(counts.complaints[0], "a.jsonl:2"));
    assert_non_null(strstr(counts.complaints[1], "a.jsonl:5"));
    assert_non_null(strstr(counts.complaints[2], "a.jsonl:6"));
    buf_deinit(&text);
}

TEST(directories)
{
    char *directory = support_directory();
    struct corpus_options options = {0};
    struct corpus_counts counts;
    struct seen seen;
    struct err err;
    assert_int_equal(read_path(directory, &options, &seen, &counts, &err), ERR_INPUT);
    assert_non_null(strstr(err.text, "holds no examples"));
    support_write(directory, "relu/reference.py", "class Model: pass\n");
    support_write(directory, "relu/a.cu", "__global__ void solution() {}\n");
    support_write(directory, "relu/b.py", "import triton\n@triton.jit\ndef k(): pass\n");
    support_write(directory, "relu/readme.md", "no source\n");
    support_write(directory, "relu/c.c", "");
    assert_int_equal(read_path(directory, &options, &seen, &counts, &err), 0);
    assert_string_equal(seen.names, "relu:cuda relu:triton ");
    assert_int_equal(counts.bad, 1);
    assert_int_equal(read_path("/nowhere/at/all", &options, &seen, &counts, &err), ERR_MISSING);
}

/* Our own problems, and what somebody solved of them. */
TEST(problems_and_trajectories)
{
    char *directory = support_directory();
    char *repository = support_keep(paths_root());
    char *root = support_text("%s/problems", repository);
    const struct paths_list search_paths = {.items = (const char *[]){root}, .count = 1};
    struct corpus_options options = {.search_paths = &search_paths};
    struct corpus_counts counts;
    struct seen seen;
    assert_int_equal(read_path(root, &options, &seen, &counts, NULL), 0);
    assert_true(seen.count > 90);
    assert_non_null(strstr(seen.names, "attention:c attention:cuda "));
    assert_int_equal(counts.bad, 0);

    support_write(
        directory, "t.jsonl",
        "{\"episode\": \"1\", \"problem\": \"softmax\", \"problem_hash\": \"\", "
        "\"language\": \"c\", \"best_turn\": 1, \"turns\": [{\"correct\": false, \"code\": "
        "\"bad\"}, {\"correct\": true, \"code\": \"good\", \"speedup\": 2}]}\n"
        "{\"episode\": \"2\", \"problem\": \"softmax\", \"problem_hash\": \"0123\", "
        "\"language\": \"c\", \"best_turn\": 0, \"turns\": [{\"correct\": true, \"code\": "
        "\"old\"}]}\n");
    assert_int_equal(read_path(directory, &options, &seen, &counts, NULL), 0);
    assert_string_equal(seen.names, "softmax:c ");
    assert_int_equal(counts.fates[CORPUS_FOREIGN], 1); /* of a problem that was another one then */
}
