/* The token budget: what goes first, what never goes, what is said where it cannot be met. */
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gym/prompt/fit.h"
#include "gym/prompt/prompt.h"

#include "../support/prompting.h"
#include "../support/test.h"

#include <stdio.h>

#define TURNS 6
#define RETRIEVED 3

static struct prompts *prompts;
static json_t *retrieved;
static char answers[TURNS][1600], codes[TURNS][32];
static struct prompt_turn turns[TURNS];

/* Answers of different lengths, each with a mark and much that is no code. */
static void make_turns(void)
{
    for (size_t i = 0; i < TURNS; i++) {
        size_t length = 200 + 150 * ((i * 5) % 7);
        int mark = snprintf(answers[i], sizeof answers[i], "ANSWER-%zu ", i);
        memset(answers[i] + mark, 'a', length);
        answers[i][(size_t)mark + length] = '\0';
        snprintf(codes[i], sizeof codes[i], "CODE-%zu", i);
        turns[i] = (struct prompt_turn){
            .answer = answers[i],
            .code = codes[i],
            .facts = prompting_facts(i % 2 ? "wrong" : "passed", 0),
        };
    }
}

FIXTURE(setup)
{
    prompts = prompting_open(NULL);
    retrieved = json_array();
    for (size_t i = 0; i < RETRIEVED; i++) {
        char text[300];
        json_t *row = json_object();
        snprintf(text, sizeof text, "RETRIEVED-%zu %200s", i, "");
        json_put(row, "name", json_text("x"));
        json_put(row, "reference", json_text("y"));
        json_put(row, "solution", json_text(text));
        json_array_append_new(retrieved, row);
    }
    make_turns();
    return 0;
}

FIXTURE(teardown)
{
    prompts_close(prompts);
    json_decref(retrieved);
    return 0;
}

TEST_GROUP(setup, teardown);

static int messages_of(const char *style, int64_t budget, size_t count, json_t **messages,
                       struct err *err)
{
    struct prompt_options options = {.style = style,
                                     .language = "c",
                                     .shots = 2,
                                     .token_budget = budget};
    return prompts_messages(prompts, &options, prompting_problem("softmax"), NULL, retrieved, turns,
                            count, messages, err);
}

static int64_t tokens_of(const char *style, size_t count)
{
    json_t *messages;
    assert_int_equal(messages_of(style, 0, count, &messages, NULL), 0);
    int64_t tokens = prompt_tokens(messages);
    json_decref(messages);
    return tokens;
}

static bool holds(const json_t *messages, const char *format, size_t number)
{
    char mark[32];
    snprintf(mark, sizeof mark, format, number);
    for (size_t i = 0; i < json_array_size(messages); i++)
        if (strstr(prompting_text(messages, i), mark))
            return true;
    return false;
}

/* What of a conversation is still shown. */
struct shown {
    size_t first_answer; /* TURNS: none in full */
    size_t examples, retrieved;
    bool code; /* of the last answer, in its place */
};

static void look(const json_t *messages, struct shown *shown)
{
    *shown = (struct shown){.first_answer = TURNS};
    for (size_t i = TURNS; i-- > 0;)
        if (holds(messages, "ANSWER-%zu", i)) {
            /* No hole: all that came later is there. */
            assert_int_equal(shown->first_answer, i + 1);
            shown->first_answer = i;
        }
    for (size_t i = 0; i < RETRIEVED && holds(messages, "RETRIEVED-%zu ", i); i++)
        shown->retrieved++;
    for (size_t i = shown->retrieved; i < RETRIEVED; i++)
        assert_false(holds(messages, "RETRIEVED-%zu ", i)); /* the least like went first */
    shown->examples = (size_t)holds(messages, "`row_sum`%.0zu", 0) +
                      (size_t)holds(messages, "`transpose`%.0zu", 0);
    shown->code = holds(messages, "CODE-%zu", TURNS - 1);
}

static void check_whole(const json_t *messages)
{
    size_t count = json_array_size(messages);
    assert_string_equal(prompting_role(messages, 0), "system");
    assert_non_null(strstr(prompting_text(messages, 0), "How an answer looks"));
    assert_non_null(strstr(prompting_text(messages, 1), "void solution(const float *x"));
    assert_string_equal(prompting_role(messages, count - 1), "user");
    assert_non_null(strstr(prompting_text(messages, count - 1), "# Attempt 6"));
    assert_non_null(strstr(prompting_text(messages, count - 1), "element 16 of y"));
    for (size_t i = 1; i < count; i++)
        assert_string_equal(prompting_role(messages, i), i % 2 ? "user" : "assistant");
}

/* Every budget there can be: it is met, or refused; and with less of it never more is shown. */
TEST(every_budget)
{
    int64_t all = tokens_of("warpgym", TURNS);
    struct shown before = {.first_answer = 0, .examples = 2, .retrieved = RETRIEVED};
    bool refused = false;
    size_t least = 0, shortened = 0;
    for (int64_t budget = all + 1; budget > 0; budget -= 7) {
        json_t *messages;
        struct shown shown;
        int result = messages_of("warpgym", budget, TURNS, &messages, NULL);
        if (result < 0) {
            assert_int_equal(result, ERR_LIMIT);
            assert_null(messages);
            refused = true;
            continue;
        }
        assert_false(refused); /* what fits into less fits into more */
        assert_true(prompt_tokens(messages) <= budget);
        check_whole(messages);
        look(messages, &shown);
        assert_true(shown.first_answer >= before.first_answer);
        assert_true(shown.retrieved <= before.retrieved && shown.examples <= before.examples);
        if (shown.retrieved < RETRIEVED) /* all turns but the last went before */
            assert_true(shown.first_answer >= TURNS - 1);
        if (shown.examples < 2)
            assert_int_equal(shown.retrieved, 0);
        if (shown.first_answer == TURNS) { /* the last answer is its code alone */
            assert_int_equal(shown.examples + shown.retrieved, 0);
            assert_true(shown.code);
            shortened++;
        }
        least += shown.examples == 0;
        before = shown;
        json_decref(messages);
    }
    assert_true(refused && least > 0 && shortened > 0);
}

/* Exactly as much as there is: nothing goes. One token less: the oldest turn, and it is said. */
TEST(the_edge)
{
    static const char *const styles[] = {"warpgym", "drkernel"};
    for (size_t s = 0; s < 2; s++) {
        int64_t all = tokens_of(styles[s], TURNS);
        json_t *messages;
        assert_int_equal(messages_of(styles[s], all, TURNS, &messages, NULL), 0);
        assert_int_equal(prompt_tokens(messages), all);
        json_decref(messages);
        assert_int_equal(messages_of(styles[s], all - 1, TURNS, &messages, NULL), 0);
        assert_false(holds(messages, "ANSWER-%zu", 0));
        assert_true(holds(messages, "ANSWER-%zu", 1));
        assert_true(holds(messages, "attempts, 1 is left out%.0zu", 0) ||
                    holds(messages, "turns, 1 is left out%.0zu", 0));
        json_decref(messages);
    }
}

/* Of a style that shows the last attempt alone, only examples can go. */
TEST(last_only)
{
    int64_t all = tokens_of("kevin", TURNS);
    size_t before = RETRIEVED + 2;
    for (int64_t budget = all; budget > 0; budget -= 11) {
        json_t *messages;
        struct err err;
        if (messages_of("kevin", budget, TURNS, &messages, &err) < 0) {
            assert_non_null(strstr(err.text, "the task with the last feedback"));
            assert_non_null(strstr(err.text, "problem 'softmax'"));
            return assert_int_equal(before, 0);
        }
        assert_true(prompt_tokens(messages) <= budget);
        assert_true(holds(messages, "CODE-%zu", TURNS - 1));
        assert_true(holds(messages, "Evaluation Feedback%.0zu", 0));
        size_t examples = 0;
        for (size_t i = 0; i < RETRIEVED; i++)
            examples += holds(messages, "RETRIEVED-%zu ", i);
        examples += holds(messages, "Worked example %zu", 1) +
                    holds(messages, "Worked example %zu", 2);
        assert_true(examples <= before);
        before = examples;
        json_decref(messages);
    }
    fail_msg("a budget of nothing was met");
}

/* The sentence names the parts, and the largest of them. */
TEST(refusals)
{
    char *huge = mem_alloc(30001);
    memset(huge, 'h', 30000);
    struct prompt_turn kept = turns[0];
    static const struct {
        const char *style;
        size_t turns;
        bool long_answer;
        const char *parts, *largest;
    } rows[] = {
        {"warpgym", 0, false, "the system message ", "shorten the task"},
        {"drkernel", 0, false, ": the task ", "shorten the task"},
        {"warpgym", 1, false, ", the last answer ", "shorten the task"},
        {"warpgym", 1, false, ", the last feedback ", "shorten the task"},
        {"warpgym", 1, true, ", the last answer 10", "shorten the last answer"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *messages;
        struct err err = {0};
        turns[0].code = rows[i].long_answer ? huge : kept.code;
        assert_int_equal(messages_of(rows[i].style, 100, rows[i].turns, &messages, &err),
                         ERR_LIMIT);
        assert_non_null(strstr(err.text, "the token budget is 100"));
        if (!strstr(err.text, rows[i].parts) || !strstr(err.text, rows[i].largest))
            fail_msg("'%s' lacks '%s' or '%s'", err.text, rows[i].parts, rows[i].largest);
    }
    turns[0] = kept;
    mem_free(huge);
}

/* Without a budget there still is an end to what is kept in memory and sent. */
TEST(no_budget)
{
    size_t length = LIMIT_ANSWER_BYTES - 1;
    char *text = mem_alloc(length + 1);
    memset(text, 'x', length);
    struct prompt_turn kept[TURNS];
    memcpy(kept, turns, sizeof kept);
    for (size_t i = 0; i < TURNS; i++)
        turns[i].answer = text;
    json_t *messages;
    assert_int_equal(messages_of("warpgym", 0, TURNS, &messages, NULL), 0);
    size_t bytes = 0;
    for (size_t i = 0; i < json_array_size(messages); i++)
        bytes += strlen(prompting_text(messages, i));
    assert_true(bytes <= LIMIT_PROMPT_BYTES);
    assert_true(bytes > LIMIT_PROMPT_BYTES / 2);
    json_decref(messages);
    memcpy(turns, kept, sizeof kept);
    mem_free(text);
}

TEST(estimate)
{
    static const struct {
        size_t bytes;
        int64_t tokens;
    } rows[] = {{0, 4}, {1, 5}, {3, 5}, {4, 6}, {300, 104}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *messages = json_array(), *message = json_object();
        char text[301];
        memset(text, 'x', sizeof text);
        json_put(message, "content", json_text_bytes(text, rows[i].bytes));
        json_array_append(messages, message);
        assert_int_equal(prompt_tokens(messages), rows[i].tokens);
        json_array_append_new(messages, message);
        assert_int_equal(prompt_tokens(messages), 2 * rows[i].tokens);
        json_decref(messages);
    }
    assert_int_equal(prompt_tokens(NULL), 0);
}
