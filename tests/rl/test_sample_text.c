/* Answers as text: which ones, how much of them, and that nothing in them ends its block. */
#include "rl/train/sample_text.h"

#include "../support/test.h"
#include "../support/verdicts.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `verdict`: a part of one. */
static json_t *turn_of(const char *answer, const char *verdict, bool excluded)
{
    json_t *part = json_loads(verdict, JSON_DECODE_ANY, NULL);
    verdict_complete(part);
    return json_pack("{s:i, s:[{s:s}], s:s, s:s, s:f, s:f, s:b, s:o}", "turn", 0, "prompt",
                     "content", "Write it.", "answer", answer, "status", "passed", "speedup", 1.5,
                     "reward", 0.25, "excluded", excluded, "verdict", part);
}

static json_t *trajectory_of(const char *problem, int sample, json_t *turn)
{
    return json_pack("{s:s, s:i, s:[o]}", "problem", problem, "sample", sample, "turns", turn);
}

static char *text_of(const char *answer, const char *verdict, bool excluded)
{
    struct sample_text samples;
    json_t *trajectory = trajectory_of("relu", 3, turn_of(answer, verdict, excluded));
    sample_text_init(&samples);
    sample_text_add(&samples, trajectory);
    char *text = mem_strdup(samples.text.data);
    sample_text_deinit(&samples);
    json_decref(trajectory);
    return text;
}

TEST(text)
{
    static const struct {
        const char *answer, *verdict;
        bool excluded;
        const char *wanted;
    } rows[] = {
        {"a();\n```\nb();", "null", false,
         "### relu, sample 3\n\nPrompt:\n\n    Write it.\n\n"
         "**Turn 0: passed, 1.5x, reward 0.25**\n\n    a();\n    ```\n    b();\n\n"},
        {"", "{\"error\": {\"message\": \"line 1\\nline 2\"}}", true,
         "### relu, sample 3\n\nPrompt:\n\n    Write it.\n\n"
         "**Turn 0: passed, 1.5x, excluded**\n\n    \n\nThe judge:\n\n    line 1\n    line 2\n\n"},
        {"a\r# b\r\nc\r", "{}", false,
         "### relu, sample 3\n\nPrompt:\n\n    Write it.\n\n"
         "**Turn 0: passed, 1.5x, reward 0.25**\n\n    a\r    # b\r\n    c\r    \n\n"},
        {"x", "\"no verdict\"", false,
         "### relu, sample 3\n\nPrompt:\n\n    Write it.\n\n"
         "**Turn 0: passed, 1.5x, reward 0.25**\n\n    x\n\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = text_of(rows[i].answer, rows[i].verdict, rows[i].excluded);
        assert_string_equal(text, rows[i].wanted);
        mem_free(text);
    }
}

/* Cut at a character's end. */
TEST(long)
{
    char *answer = mem_alloc(3 * SAMPLE_TEXT_ANSWER_BYTES + 1);
    answer[0] = 'x';
    for (size_t i = 0; i < SAMPLE_TEXT_ANSWER_BYTES; i++)
        memcpy(answer + 1 + 2 * i, "ä", 2);
    char *text = text_of(answer, "null", false);
    size_t copied = 0;
    for (const char *at = text; (at = strstr(at, "ä")); at++)
        copied++;
    assert_int_equal(copied, (SAMPLE_TEXT_ANSWER_BYTES - 1) / 2);
    assert_non_null(strstr(text, "ä…\n"));
    mem_free(text);
    mem_free(answer);
}

/* The first of each problem, of the first SAMPLE_TEXT_PROBLEMS; from a file as from memory. */
TEST(choice)
{
    static const char *const problems[] = {"a", "a", "none", "b", "c", "c", "d", "e", "f"};
    static const char *const chosen[] = {"### a, sample 0", "### b, sample 3", "### c, sample 4",
                                         "### d, sample 6"};
    struct sample_text samples, read;
    struct buf lines;
    struct err err;
    char path[] = "/tmp/test_samples.XXXXXX";
    sample_text_init(&samples);
    sample_text_init(&read);
    buf_init(&lines, (size_t)1 << 20);
    for (size_t i = 0; i < COUNT(problems); i++) {
        json_t *trajectory = trajectory_of(problems[i], (int)i, turn_of("x", "null", false));
        if (strcmp(problems[i], "none") == 0)
            json_array_clear(json_object_get(trajectory, "turns"));
        sample_text_add(&samples, trajectory);
        assert_int_equal(json_line_write(trajectory, &lines, &err), 0);
        json_decref(trajectory);
    }
    sample_text_add(&samples, NULL);
    const char *at = samples.text.data;
    for (size_t i = 0; i < COUNT(chosen); i++)
        assert_non_null(at = strstr(at, chosen[i]));
    assert_int_equal(samples.count, SAMPLE_TEXT_PROBLEMS);

    assert_int_equal(sample_text_add_file(&read, "/nonexistent", &err), 0);
    assert_int_equal(read.count, 0);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(file_write_fd(fd, path, lines.data, lines.len, &err), 0);
    assert_int_equal(sample_text_add_file(&read, path, &err), 0);
    assert_string_equal(read.text.data, samples.text.data);
    sample_text_deinit(&read);
    sample_text_init(&read);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, "nonsense\n", 9, 0), 9);
    assert_true(sample_text_add_file(&read, path, &err) < 0);
    assert_non_null(strstr(err.text, ":1:"));
    close(fd);
    unlink(path);
    buf_deinit(&lines);
    sample_text_deinit(&read);
    sample_text_deinit(&samples);
}
