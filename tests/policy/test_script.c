/* Scripts: which line answers, and what is no script. */
#include "../support/test.h"
#include "policy/script.h"

TEST(find)
{
    static const char text[] =
        "{\"problem\": \"*\", \"turn\": 0, \"answer\": \"any 0\"}\n"
        "\n"
        "{\"problem\": \"*\", \"turn\": 3, \"answer\": \"any 3\"}\r\n"
        "{\"problem\": \"a\", \"turn\": 0, \"answer\": \"a 0\"}\n"
        "{\"problem\": \"a\", \"turn\": 0, \"sample\": 2, \"answer\": \"a 0 of 2\"}\n"
        "{\"problem\": \"a\", \"turn\": 1, \"answer\": \"a 1\"}\n"
        "{\"problem\": \"*\", \"turn\": 0, \"sample\": 2, \"answer\": \"any 0 of 2\"}\n"
        "{\"problem\": \"b\", \"turn\": 1, \"answer\": \"b 1\"}";
    static const struct {
        const char *problem;
        int64_t sample, turn;
        const char *answer;
    } rows[] = {
        {"a", 0, 0, "a 0"},   {"a", 2, 0, "a 0 of 2"},   {"a", 2, 1, "a 1"},
        {"a", 0, 2, "a 1"},   {"a", 0, 3, "any 3"},      {"a", 0, 60, "any 3"},
        {"b", 0, 0, "any 0"}, {"b", 2, 0, "any 0 of 2"}, {"b", 0, 1, "b 1"},
        {"c", 0, 2, "any 0"}, {"", 0, 0, "any 0"},
    };
    struct script script;
    struct err err = {0};
    assert_ok(script_parse(&script, "s", text, sizeof text - 1, &err), &err);
    assert_int_equal(script.count, 7);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct script_line *line = script_find(&script, rows[i].problem, rows[i].sample,
                                                     rows[i].turn);
        assert_non_null(line);
        if (strcmp(line->text, rows[i].answer) != 0)
            fail_msg("row %zu: %s", i, line->text);
    }
    assert_int_equal(script_find(&script, "a", 0, 3)->number, 3);
    script_deinit(&script);
}

TEST(fields)
{
    static const char text[] =
        "{\"problem\": \"a\", \"turn\": 2, \"sample\": 1, \"answer\": {\"file\": \"x/y.md\"},"
        " \"reasoning\": \"hm\", \"finish\": \"length\", \"delay_ms\": 7,"
        " \"usage\": {\"prompt_tokens\": 5, \"completion_tokens\": 0}}";
    struct script script;
    assert_int_equal(script_parse(&script, "s", text, sizeof text - 1, NULL), 0);
    const struct script_line *line = script_find(&script, "a", 1, 2);
    assert_non_null(line);
    assert_null(line->text);
    assert_string_equal(line->file, "x/y.md");
    assert_string_equal(line->reasoning, "hm");
    assert_string_equal(line->finish, "length");
    assert_int_equal(line->delay_ms, 7);
    assert_int_equal(line->prompt_tokens, 5);
    assert_int_equal(line->completion_tokens, 0);
    assert_int_equal(line->cached_tokens, -1);
    assert_null(script_find(&script, "a", 0, 2));
    assert_null(script_find(&script, "a", 1, 1));
    assert_null(script_find(&script, "b", 1, 2));
    script_deinit(&script);
}

#define GOOD "{\"problem\": \"a\", \"turn\": 0, \"answer\": \"x\"}\n"
#define BAD(members) GOOD "{\"problem\": \"a\", " members "}"

TEST(refused)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "the script is empty"},
        {" \n\t\n", "the script is empty"},
        {GOOD "nonsense", "s:2"},
        {GOOD "[1]", "s:2"},
        {GOOD "{\"turn\": 0, \"answer\": \"x\"}", "problem"},
        {GOOD "{\"problem\": \"\", \"turn\": 0, \"answer\": \"x\"}", "is empty"},
        {BAD("\"answer\": \"x\""), "turn"},
        {BAD("\"turn\": 0"), "answer"},
        {BAD("\"turn\": -1, \"answer\": \"x\""), "negative"},
        {BAD("\"turn\": \"0\", \"answer\": \"x\""), "turn"},
        {BAD("\"turn\": 0, \"answer\": 5"), "neither"},
        {BAD("\"turn\": 0, \"answer\": {}"), "file"},
        {BAD("\"turn\": 0, \"answer\": {\"path\": \"x\"}"), "path"},
        {BAD("\"turn\": 0, \"answer\": \"x\", \"sample\": -1"), "negative"},
        {BAD("\"turn\": 0, \"answer\": \"x\", \"delay_ms\": -1"), "negative"},
        {BAD("\"turn\": 0, \"answer\": \"x\", \"delay_ms\": 86400001"), "above"},
        {BAD("\"turn\": 0, \"answer\": \"x\", \"usage\": {\"tokens\": 1}"), "tokens"},
        {BAD("\"turn\": 0, \"answer\": \"x\", \"usage\": {\"prompt_tokens\": -1}"), "negative"},
        {BAD("\"turn\": 0, \"answer\": \"x\", \"delay\": 1"), "delay"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct script script;
        struct err err = {0};
        int result = script_parse(&script, "s", rows[i].text, strlen(rows[i].text), &err);
        if (result != ERR_INPUT || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %d %s", i, result, err.text);
        if (i > 1 && !strstr(err.text, "s:2"))
            fail_msg("row %zu does not say where: %s", i, err.text);
    }
}

TEST(paths)
{
    static const struct {
        const char *path;
        int result;
    } rows[] = {
        {"a", 0},
        {"a/b.md", 0},
        {".hidden", 0},
        {"a..b/c", 0},
        {"", ERR_INPUT},
        {"/a", ERR_INPUT},
        {"..", ERR_INPUT},
        {"../a", ERR_INPUT},
        {"a/../b", ERR_INPUT},
        {"a/..", ERR_INPUT},
        {"./a", ERR_INPUT},
        {"a//b", ERR_INPUT},
        {"a/", ERR_INPUT},
        {".", ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (script_check_path(rows[i].path, NULL) != rows[i].result)
            fail_msg("'%s'", rows[i].path);
    }
}
