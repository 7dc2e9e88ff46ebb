#include "../support/test.h"
#include "cli/options.h"

#include <stdio.h>

static bool quiet;
static int verbose;
static const char *output;
static int64_t jobs;
static double budget;
static int format;
static struct cli_words sets;

static const char *const formats[] = {"text", "json", "markdown", NULL};

static const struct cli_option options[] = {
    OPTION_GROUP("Output"),
    OPTION_FLAG('q', "quiet", &quiet, "print verdicts only"),
    OPTION_COUNT('v', "verbose", &verbose, "say more; may be repeated"),
    OPTION_STRING('o', "output", &output, "FILE", "write to FILE"),
    OPTION_CHOICE('f', "format", &format, formats, "FORMAT", "how to print"),
    OPTION_GROUP("Work"),
    OPTION_INT('j', "jobs", &jobs, 1, 64, "N", "evaluations at the same time"),
    OPTION_FLOAT(0, "budget", &budget, 0, 10, "SECONDS",
                 "how long sampling may take for each candidate, which is explained at such length "
                 "here that it needs several lines"),
    OPTION_LIST('s', "set", &sets, "KEY=VALUE", "change a setting; may be repeated"),
    OPTION_END,
};

FIXTURE(reset)
{
    quiet = false;
    verbose = 0;
    output = NULL;
    jobs = -1;
    budget = -1;
    format = -1;
    cli_words_deinit(&sets);
    return 0;
}

/* The values after parsing, in one line. */
static void show(const struct cli_words *words, struct buf *out)
{
    buf_printf(out, "q%d v%d o%s j%d b%g f%d", quiet, verbose, output ? output : "", (int)jobs,
               budget, format);
    for (size_t i = 0; i < sets.count; i++)
        buf_printf(out, " s[%s]", sets.items[i]);
    for (size_t i = 0; i < words->count; i++)
        buf_printf(out, " %s", words->items[i]);
}

/* Splits at spaces; "''" is an empty word. */
static int split(char *line, char **argv)
{
    static char command[] = "eval", empty[] = "";
    char *rest = NULL;
    int argc = 0;
    argv[argc++] = command;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = strcmp(word, "''") == 0 ? empty : word;
    argv[argc] = NULL;
    return argc;
}

static const struct {
    const char *line, *expected; /* values, or the error */
    int code;
} rows[] = {
    {"", "q0 v0 o j-1 b-1 f-1", 0},
    {"a b", "q0 v0 o j-1 b-1 f-1 a b", 0},
    {"-q", "q1 v0 o j-1 b-1 f-1", 0},
    {"--quiet a", "q1 v0 o j-1 b-1 f-1 a", 0},
    {"--quiet --no-quiet", "q0 v0 o j-1 b-1 f-1", 0},
    {"-vvv -v --verbose", "q0 v5 o j-1 b-1 f-1", 0},
    {"-vv --no-verbose", "q0 v0 o j-1 b-1 f-1", 0},
    {"-j4", "q0 v0 o j4 b-1 f-1", 0},
    {"-j 4", "q0 v0 o j4 b-1 f-1", 0},
    {"-qvj4 a", "q1 v1 o j4 b-1 f-1 a", 0},
    {"-qj 4 a", "q1 v0 o j4 b-1 f-1 a", 0},
    {"--jobs=4", "q0 v0 o j4 b-1 f-1", 0},
    {"--jobs 4 --jobs 5", "q0 v0 o j5 b-1 f-1", 0},
    {"a --jobs 4 b", "q0 v0 o j4 b-1 f-1 a b", 0},
    {"-- --jobs 4 -q", "q0 v0 o j-1 b-1 f-1 --jobs 4 -q", 0},
    {"a -- -- b", "q0 v0 o j-1 b-1 f-1 a -- b", 0},
    {"-", "q0 v0 o j-1 b-1 f-1 -", 0},
    {"-o - -", "q0 v0 o- j-1 b-1 f-1 -", 0},
    {"--output=", "q0 v0 o j-1 b-1 f-1", 0},
    {"--output=a=b", "q0 v0 oa=b j-1 b-1 f-1", 0},
    {"--budget 2.5e0", "q0 v0 o j-1 b2.5 f-1", 0},
    {"-f markdown", "q0 v0 o j-1 b-1 f2", 0},
    {"-s a=1 --set b=2 --set=c=3", "q0 v0 o j-1 b-1 f-1 s[a=1] s[b=2] s[c=3]", 0},
    {"-h", "", OPTIONS_HELP},
    {"-qh", "", OPTIONS_HELP},
    {"a --help --unknown", "", OPTIONS_HELP},
    {"--jobs", "--jobs needs a value: --jobs N", ERR_INPUT},
    {"-j", "-j needs a value: -j N", ERR_INPUT},
    {"-j0", "-j: '0' is not a whole number from 1 to 64", ERR_INPUT},
    {"--jobs=65", "--jobs: '65' is not a whole number from 1 to 64", ERR_INPUT},
    {"--jobs=4x", "'4x' is not a whole number", ERR_INPUT},
    {"--jobs ''", "'' is not a whole number", ERR_INPUT},
    {"--jobs=99999999999999999999", "is not a whole number", ERR_INPUT},
    {"--budget=nan", "'nan' is not a number from 0 to 10", ERR_INPUT},
    {"--quiet=yes", "--quiet takes no value", ERR_INPUT},
    {"--no-quiet=yes", "--no-quiet takes no value", ERR_INPUT},
    {"--no-jobs", "--no-jobs: --jobs takes a value and has no opposite", ERR_INPUT},
    {"--job 4", "unknown option '--job'; did you mean '--jobs'?", ERR_INPUT},
    {"--no-quite", "unknown option '--no-quite'; did you mean '--no-quiet'?", ERR_INPUT},
    {"--hepl", "did you mean '--help'?", ERR_INPUT},
    {"--Output", "did you mean '--output'?", ERR_INPUT}, /* a group's heading is no option */
    {"--xyzzyx", "unknown option '--xyzzyx'; --help lists all of them", ERR_INPUT},
    {"-x", "unknown option '-x'; --help", ERR_INPUT},
    {"-f jsn", "-f: unknown value 'jsn'; did you mean 'json'?", ERR_INPUT},
    {"--=x", "unknown option '--';", ERR_INPUT},
};

TEST_WITH(parse, reset, reset)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        char line[256], *argv[32];
        struct cli_words words = {0};
        struct err err = {0};
        struct buf shown;
        reset(state);
        snprintf(line, sizeof line, "%s", rows[i].line);
        int argc = split(line, argv);
        int code = options_parse(options, argc, argv, &words, &err);
        buf_init(&shown, 1000);
        show(&words, &shown);
        if (code != rows[i].code || (code == 0 && strcmp(shown.data, rows[i].expected) != 0) ||
            (code < 0 && !strstr(err.text, rows[i].expected)))
            fail_msg("%s: %d, %s, %s", rows[i].line, code, shown.data, err.text);
        buf_deinit(&shown);
        cli_words_deinit(&words);
    }
}

static const struct cli_command commands[] = {
    {.name = "eval",
     .heading = "Judge",
     .arguments = "PROBLEM CANDIDATE...",
     .summary = "Judge candidates",
     .description = "Compiles, checks and times each candidate, and says honestly what it is worth "
                    "compared with the reference.\n\n  exactly as written\n",
     .examples = "warpgym eval softmax fast.c\nwarpgym eval --format json softmax *.c\n"},
    {.name = "problem check", .summary = "Check a problem"},
    {.name = "problem list", .summary = "List problems"},
    {.name = "serve", .heading = "Serve", .summary = "Serve"},
    {0},
};
static const struct cli_family families[] = {{"problem", "problems"}, {0}};

TEST(commands)
{
    static const struct {
        const char *line, *name, *error;
        int used;
    } lines[] = {
        {"eval x", "eval", NULL, 1},
        {"problem check x", "problem check", NULL, 2},
        {"problem list", "problem list", NULL, 2},
        {"problem", NULL, "'problem' needs one of: check, list", 0},
        {"problem chek", NULL, "'problem' needs one of: check, list", 0},
        {"evil", NULL, "unknown command 'evil'; did you mean 'eval'?", 0},
        {"xyzzy", NULL,
         "unknown command 'xyzzy'; choose one of eval, problem check, problem list, serve", 0},
        {"", NULL, "a command is missing", 0},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char line[256], *argv[32];
        struct err err = {0};
        int used;
        snprintf(line, sizeof line, "%s", lines[i].line);
        int argc = split(line, argv);
        const struct cli_command *command = options_command(commands, argc - 1, argv + 1, &used,
                                                            &err);
        assert_int_equal(used, lines[i].used);
        if (lines[i].name)
            assert_string_equal(command->name, lines[i].name);
        else
            assert_string_equal(err.text, lines[i].error);
    }
}

TEST(help)
{
    static const char expected[] = "Usage: warpgym eval [options] PROBLEM CANDIDATE...\n"
                                   "\n"
                                   "Judge candidates\n"
                                   "\n"
                                   "Compiles, checks and times each candidate, and says honestly\n"
                                   "what it is worth compared with the reference.\n"
                                   "\n"
                                   "  exactly as written\n"
                                   "\n"
                                   "Output:\n"
                                   "  -q, --quiet               print verdicts only\n"
                                   "  -v, --verbose             say more; may be repeated\n"
                                   "  -o, --output FILE         write to FILE\n"
                                   "  -f, --format FORMAT       how to print: text, json,\n"
                                   "                            markdown\n"
                                   "\n"
                                   "Work:\n"
                                   "  -j, --jobs N              evaluations at the same time\n"
                                   "      --budget SECONDS      how long sampling may take for\n"
                                   "                            each candidate, which is\n"
                                   "                            explained at such length here\n"
                                   "                            that it needs several lines\n"
                                   "  -s, --set KEY=VALUE       change a setting; may be\n"
                                   "                            repeated\n"
                                   "  -h, --help                show this help\n"
                                   "\n"
                                   "Examples:\n"
                                   "  warpgym eval softmax fast.c\n"
                                   "  warpgym eval --format json softmax *.c\n";
    struct buf out;
    buf_init(&out, 10000);
    options_help(&commands[0], options, "warpgym", 60, &out);
    assert_string_equal(out.data, expected);
    buf_reset(&out);
    assert_int_equal(options_overview(commands, NULL, 0, &out), 4);
    assert_string_equal(out.data, "  eval           Judge candidates\n"
                                  "  problem check  Check a problem\n"
                                  "  problem list   List problems\n"
                                  "  serve          Serve\n");
    buf_reset(&out);
    assert_int_equal(options_overview(commands, "problem", 0, &out), 2);
    assert_string_equal(out.data, "  problem check  Check a problem\n"
                                  "  problem list   List problems\n");
    buf_reset(&out);
    options_groups(commands, families, 0, &out);
    assert_string_equal(out.data, "Judge:\n"
                                  "  eval        Judge candidates\n"
                                  "  problem     problems: check, list\n"
                                  "\n"
                                  "Serve:\n"
                                  "  serve       Serve\n");
    assert_int_equal(options_overview(commands, "prob", 0, &out), 0);
    assert_int_equal(options_overview(commands, "serve", 0, &out), 0);
    buf_deinit(&out);
}
