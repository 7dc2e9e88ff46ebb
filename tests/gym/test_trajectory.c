#include "../support/test.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gym/episode/trajectory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ONE "{\"schema\": 1, \"episode\": \"a\", \"problem\": \"relu\", \"turns\": []}"
#define TWO                                                                                        \
    "{\"problem\": \"gelu\", \"level\": \"native\", \"sample\": 3, \"return\": 1, \"later\": {},"  \
    " \"turns\": [{\"turn\": 0, \"correct\": true, \"speedup\": 2, \"code\": \"x\","               \
    " \"return\": 0.5, \"logprobs\": [1], \"usage\": {\"cost\": -1}}]}"

/* Reads `text` as the file "t.jsonl" to its end; the number of trajectories, or the error. */
static int read_all(const char *text, size_t count, bool *cut, struct err *err)
{
    int fd = file_memory_from("t.jsonl", text, count, err);
    assert_true(fd >= 0);
    struct lines *lines = lines_open_fd(fd, "t.jsonl", LIMIT_TRAJECTORY_BYTES);
    struct trajectory trajectory;
    int found = 0, result;
    while ((result = trajectory_next(lines, &trajectory, cut, err)) > 0) {
        found++;
        trajectory_deinit(&trajectory);
    }
    lines_close(lines);
    return result < 0 ? result : found;
}

TEST(files)
{
    static const struct {
        const char *text;
        int found;
        bool cut;
        const char *error;
    } rows[] = {
        {"", 0, false, NULL},
        {ONE "\n" TWO "\n", 2, false, NULL},
        {ONE "\n\n  \r\n" TWO, 2, false, NULL}, /* whole, if without its newline */
        {ONE "\n{\"problem\": \"re", 1, true, NULL},
        {ONE "\n{", 1, true, NULL},
        {"{\"problem\": \"re\n" ONE "\n", ERR_INPUT, false, "t.jsonl:1:"},
        {ONE "\n" ONE "}\n", ERR_INPUT, false, "t.jsonl:2:"},
        {ONE "\n[]\n", ERR_INPUT, false, "t.jsonl:2: must be an object"},
        {"{\"turns\": []}\n", ERR_INPUT, false, "t.jsonl:1: 'problem' is missing"},
        {"{\"problem\": \"a\"}\n", ERR_INPUT, false, "t.jsonl:1: 'turns' is missing"},
        {"{\"problem\": 3, \"turns\": []}\n", ERR_INPUT, false,
         "t.jsonl:1: 'problem' must be a string"},
        {"{\"problem\": \"a\", \"turns\": [3]}\n", ERR_INPUT, false,
         "t.jsonl:1: turns[0] must be an object"},
        {"{\"problem\": \"a\", \"turns\": [{}, {\"speedup\": \"2\"}]}\n", ERR_INPUT, false,
         "t.jsonl:1: turns[1]: 'speedup' must be a number"},
        {"{\"schema\": 2, \"problem\": \"a\", \"turns\": []}\n", ERR_UNSUPPORTED, false,
         "t.jsonl:1: a trajectory of schema 2"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err;
        bool cut;
        int found = read_all(rows[i].text, strlen(rows[i].text), &cut, &err);
        assert_int_equal(found, rows[i].found);
        assert_int_equal(cut, rows[i].cut);
        if (rows[i].error && strncmp(err.text, rows[i].error, strlen(rows[i].error)) != 0)
            fail_msg("'%s', not '%s…'", err.text, rows[i].error);
    }
}

TEST(fields)
{
    struct trajectory one, two;
    assert_int_equal(trajectory_parse(&one, "t", 1, ONE, strlen(ONE), NULL), 0);
    assert_string_equal(one.episode, "a");
    assert_string_equal(one.problem, "relu");
    assert_string_equal(one.model, ""); /* missing: its empty value */
    assert_int_equal(one.turn_count, 0);
    assert_int_equal(trajectory_parse(&two, "t", 1, TWO, strlen(TWO), NULL), 0);
    assert_int_equal(two.sample, 3);
    assert_true(two.first_return == 1);
    assert_int_equal(two.turn_count, 1);
    const struct trajectory_turn *turn = &two.turns[0];
    assert_true(turn->correct && turn->speedup == 2 && turn->turn_return == 0.5);
    assert_string_equal(turn->code, "x");
    assert_null(turn->verdict);
    assert_int_equal(json_array_size(turn->logprobs), 1);
    assert_null(turn->prompt);
    trajectory_deinit(&one);
    trajectory_deinit(&two);
}

TEST(limits)
{
    struct buf text;
    struct err err;
    bool cut;
    buf_init(&text, (size_t)1 << 20);
    buf_puts(&text, "{\"problem\": \"a\", \"turns\": [");
    for (int i = 0; i <= LIMIT_TURNS; i++)
        buf_puts(&text, i > 0 ? ",{}" : "{}");
    buf_puts(&text, "]}\n");
    assert_int_equal(read_all(text.data, text.len, &cut, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "'turns' has 1025 elements, 1024 are the limit"));
    buf_deinit(&text);
    char *line = mem_alloc(LIMIT_TRAJECTORY_BYTES + 2);
    memset(line, ' ', LIMIT_TRAJECTORY_BYTES + 1);
    assert_int_equal(read_all(line, LIMIT_TRAJECTORY_BYTES + 1, &cut, &err), ERR_LIMIT);
    assert_non_null(strstr(err.text, "t.jsonl:1: a line of more than"));
    mem_free(line);
}

TEST(paths)
{
    char *folder = support_directory(), *file = support_text("%s/trajectories.jsonl", folder);
    struct lines *lines;
    struct trajectory trajectory;
    struct err err;
    bool cut;
    assert_int_equal(trajectory_open(&lines, folder, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "holds no trajectories.jsonl"));
    assert_int_equal(trajectory_open(&lines, file, &err), ERR_MISSING);
    assert_null(lines);
    assert_int_equal(file_write_atomic(file, "\n" ONE "\n", strlen(ONE) + 2, 0600, &err), 0);
    const char *const paths[] = {folder, file};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(trajectory_open(&lines, paths[i], &err), 0);
        assert_int_equal(trajectory_next(lines, &trajectory, &cut, &err), 1);
        assert_string_equal(lines_path(lines), file);
        assert_int_equal(lines_number(lines), 2);
        trajectory_deinit(&trajectory);
        assert_int_equal(trajectory_next(lines, &trajectory, &cut, &err), 0);
        lines_close(lines);
    }
    lines_close(NULL);
}
