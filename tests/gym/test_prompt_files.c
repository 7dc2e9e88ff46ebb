/* A user's own templates: what they replace and add, and what is said of those that are broken. */
#include "gym/gym_settings.h"
#include "gym/prompt/prompt.h"

#include "../support/prompting.h"
#include "../support/test.h"

#include <stdio.h>

struct put {
    const char *name, *text;
};

static char *root; /* a directory with these files alone */

static void put_all(const struct put *files)
{
    root = support_directory();
    for (; files->name; files++)
        support_write(root, files->name, files->text);
}

static const json_t *messages_of(const struct prompts *prompts, const char *style,
                                 const char *language, size_t count)
{
    struct prompt_turn turns[4];
    struct prompt_options options = {.style = style, .language = language, .shots = 1};
    for (size_t i = 0; i < count; i++)
        turns[i] = (struct prompt_turn){.answer = &"0123"[i],
                                        .code = "code",
                                        .facts = prompting_facts("wrong", 0)};
    return prompting_messages(prompts, &options, prompting_problem("relu"), NULL, NULL, turns,
                              count);
}

TEST(replaces_one_file)
{
    put_all(
        (const struct put[]){{"warpgym/system.txt", "I am {{language.title}}.\n{{>parts/more}}"},
                             {"parts/more.txt", "And more.\n"},
                             {".git/config", "\xff"},
                             {"warpgym/.system.txt.swp", "{{"},
                             {"warpgym/first.txt~", "{{"},
                             {"README.md", "{{"},
                             {NULL, NULL}});
    struct prompts *prompts = prompting_open(root);
    const json_t *messages = messages_of(prompts, "warpgym", "c", 0);
    assert_string_equal(prompting_text(messages, 0), "I am C.\nAnd more.");
    assert_non_null(strstr(prompting_text(messages, 1), "# Task: `relu`")); /* ours */
    struct buf out;
    buf_init(&out, 4096);
    assert_int_equal(prompts_describe(prompts, &out), 2);
    assert_string_equal(out.data, "parts/more.txt: new\n"
                                  "warpgym/system.txt: replaces a built-in template\n");
    buf_deinit(&out);
    prompts_close(prompts);
}

/* Nothing but a comment: the message is gone. */
TEST(takes_a_message_away)
{
    put_all((const struct put[]){{"warpgym/system.txt", "{{! none }}\n"}, {NULL, NULL}});
    struct prompts *prompts = prompting_open(root);
    const json_t *messages = messages_of(prompts, "warpgym", "c", 1);
    assert_int_equal(json_array_size(messages), 3);
    assert_string_equal(prompting_role(messages, 0), "user");
    prompts_close(prompts);
}

TEST(style_of_its_own)
{
    put_all((const struct put[]){
        {"mine/first.txt", "Do {{problem.id}}: {{>language/target}}{{#each examples}} like "
                           "{{problem}}{{/each}}\n"},
        {"mine/later.txt", "{{left_out}} out, {{turn.number}} shown: {{feedback}}\n"},
        {"mine/feedback.txt", "{{status}} {{language.name}} {{code}}\n"},
        {"mine/style.json", "{\"recent_turns\": 2}"},
        {NULL, NULL},
    });
    struct prompts *prompts = prompting_open(root);
    const json_t *messages = messages_of(prompts, "mine", "c", 4);
    assert_int_equal(json_array_size(messages), 5);
    assert_string_equal(prompting_text(messages, 0),
                        "Do relu: a C function `solution` like row_sum");
    assert_string_equal(prompting_text(messages, 1), "23"); /* turns 0 and 1 are not shown */
    assert_string_equal(prompting_text(messages, 2), "2 out, 3 shown: wrong c code");
    assert_string_equal(prompting_text(messages, 4), "0 out, 4 shown: wrong c code");
    prompts_close(prompts);
}

TEST(language_of_its_own)
{
    put_all((const struct put[]){
        {"opencl/language.json",
         "{\"title\": \"OpenCL\", \"fence\": \"c\", \"format\": \"native\", \"examples\": "
         "[{\"problem\": \"gemv\", \"reference\": \"a.c\", \"solution\": \"a.cl\"}]}"},
        {"opencl/a.c", "REFERENCE {{\n\n"},
        {"opencl/a.cl", "__kernel\n"},
        {"opencl/rules.txt", "Write OpenCL."},
        {"opencl/target.txt", "an OpenCL kernel"},
        {"opencl/device.txt", "Some device."},
        {"opencl/hints.txt", "{{! none }}"},
        {NULL, NULL},
    });
    struct prompts *prompts = prompting_open(root);
    struct err err;
    const json_t *messages = messages_of(prompts, "warpgym", "opencl", 0);
    prompting_in_order(prompting_text(messages, 1),
                       (const char *const[]){"```c\nREFERENCE {{\n```", "```c\n__kernel\n```",
                                             "Write OpenCL.", "an OpenCL kernel", NULL});
    assert_ok(prompts_try(prompts, &err), &err); /* every style has what it needs */
    prompts_close(prompts);
}

/* Nothing of it but the row says what C++ is; what it lacks is C's. */
TEST(language_of_the_table)
{
    put_all((const struct put[]){
        {"c/hints.txt", "Hints in {{language.title}}, {{language.fence}}."},
        {"cpp/language.json", "{\"title\": \"Modern C++\"}"},
        {NULL, NULL},
    });
    struct prompts *prompts = prompting_open(root);
    const json_t *messages = messages_of(prompts, "warpgym", "cpp", 0);
    prompting_in_order(prompting_text(messages, 1),
                       (const char *const[]){"extern \"C\"", "Hints in Modern C++, cpp.",
                                             "a Modern C++ function `solution`", NULL});
    prompts_close(prompts);
}

#define MINE(later, feedback)                                                                      \
    {"mine/first.txt", "x"}, {"mine/later.txt", later},                                            \
    {                                                                                              \
        "mine/feedback.txt", feedback                                                              \
    }

/* `tried`: it opens, and only trying shows. */
static const struct {
    struct put files[6];
    const char *error;
    bool tried;
} broken[] = {
    {{{"kevin/first.txt", "one\n {{#if x}}\n"}}, "/kevin/first.txt:2:2: {{#if}} without", false},
    {{{"notes/any.txt", "{{"}}, "/notes/any.txt:1:1: this tag has no }}", false},
    {{{"kevin/first.txt", ""}}, "/kevin/first.txt", false},
    {{{"kevin/first.txt", "a\xff"}}, "/kevin/first.txt", false},
    {{{"mine/first.txt", "x"}}, "style 'mine' has a first.txt and no later.txt", false},
    {{{"kevin/style.json", "{\"history\": \"some\"}"}},
     "/kevin/style.json: history is \"all\" or \"last\", not \"some\"",
     false},
    {{{"kevin/style.json", "{\"histroy\": \"all\"}"}}, "/kevin/style.json: ", false},
    {{{"kevin/style.json", "{\"shots\": -1}"}}, "are not negative", false},
    {{{"kevin/style.json", "{"}}, "/kevin/style.json:1:", false},
    {{{"x/language.json", "{\"title\": \"X\"}"}}, "/x/language.json: ", false},
    {{{"x/language.json", "{\"title\": \"X\", \"fence\": \"x\", \"format\": \"simple\"}"}},
     "format is \"native\" or \"torch\"",
     false},
    {{{"x/language.json",
       "{\"title\": \"X\", \"fence\": \"x\", \"format\": \"torch\", \"examples\": "
       "[{\"problem\": \"a\", \"reference\": \"b\", \"solution\": \"c\"}]}"}},
     "/x/language.json: example 1: there is no x/b",
     false},
    {{{"x/language.json",
       "{\"title\": \"X\", \"fence\": \"x\", \"format\": \"torch\", \"examples\": "
       "[3]}"}},
     "example 1: an example is an object",
     false},
    {{MINE("{{feedbakc}}", "y")},
     "/mine/later.txt:1:3: unknown name 'feedbakc'; did you mean 'feed",
     true},
    {{MINE("x", "{{#if mismatch}}{{mismatch.idx}}{{/if}}")},
     "/mine/feedback.txt:1:19: 'mismatch.idx'",
     true},
    {{MINE("x", "{{error.message}}")}, "/mine/feedback.txt:1:3: 'error.message' is missing", true},
    {{MINE("{{>style/fist}}", "y")},
     "/mine/later.txt:1:4: unknown template 'mine/fist.txt'; did you mean 'mine/first.txt'?",
     true},
    {{MINE("{{>language/ruls}}", "y")}, "rules.txt'?", true},
};

TEST(broken)
{
    for (size_t i = 0; i < COUNT(broken); i++) {
        struct prompts *prompts;
        struct settings settings;
        struct err err = {0};
        put_all(broken[i].files);
        settings_init(&settings);
        assert_int_equal(settings_set(&settings, "prompts.path", root, ORIGIN_FILE, &err), 0);
        int result = prompts_open(&prompts, &settings, &err);
        if ((result == 0) != broken[i].tried)
            fail_msg("%s: opened: %s", broken[i].error, err.text);
        if (result == 0)
            result = prompts_try(prompts, &err);
        if (result == 0 || !strstr(err.text, broken[i].error))
            fail_msg("'%s', not '%s'", err.text, broken[i].error);
        prompts_close(prompts);
        settings_deinit(&settings);
    }
}

TEST(no_directory)
{
    struct prompts *prompts;
    struct settings settings;
    struct err err;
    settings_init(&settings);
    assert_int_equal(settings_assign(&settings, "prompts.path=/nowhere/at/all", &err), 0);
    assert_int_equal(prompts_open(&prompts, &settings, &err), ERR_MISSING);
    assert_string_equal(err.text, "prompts.path: '/nowhere/at/all' is not a directory");
    assert_null(prompts);
    settings_deinit(&settings);
}
