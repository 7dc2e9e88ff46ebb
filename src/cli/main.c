#include "cli/cli.h"

#include "cli/table.h"
#include "base/log.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP_BYTES ((size_t)256 << 10)

_Atomic int cli_cancelled;

const struct cli_command cli_commands[] = {
    {.name = "eval",
     .arguments = "CANDIDATE...",
     .summary = "judge candidates: correct, how fast, honest",
     .description =
         "With --problem, each CANDIDATE is a source file (.c, .cu, .py) or a directory of them.\n\n"
         "Without it, each CANDIDATE is a .jsonl file of {\"problem\": ID, \"candidate\": PATH} lines "
         "(PATH relative to that file; \"source\" with the text itself instead of a path is fine), or "
         "a directory whose files say `problem: ID` in their first lines or lie in a directory "
         "named like the problem.\n\n"
         "Exit status: 0 all passed, 1 some did not, 2 bad usage or input, 3 the judge failed, "
         "130 interrupted (every finished verdict is kept).",
     .examples = "warpgym eval --problem softmax my_softmax.c\n"
                 "warpgym eval --problem level1/23 --problems ~/KernelBench answer.py\n"
                 "warpgym eval --jobs 2 --out verdicts.jsonl batch.jsonl\n"
                 "warpgym eval --json --problem ./my_problem a.c b.c | jq .status",
     .run = eval_main},
    {.name = "problem list",
     .arguments = "",
     .summary = "the problems that there are",
     .examples = "warpgym problem list\nwarpgym problem list --problems ~/KernelBench",
     .run = problem_list_main},
    {.name = "problem show",
     .arguments = "PROBLEM",
     .summary = "one problem: arguments, sizes, tolerance, reference",
     .examples = "warpgym problem show softmax",
     .run = problem_show_main},
    {.name = "problem check",
     .arguments = "PROBLEM...",
     .summary = "admission test: can this problem be gamed, and why",
     .description =
         "Answers that do no work must fail: zeros, constants, copies of inputs, a run in lower "
         "precision, inputs with a slice left out. The outputs must respond to every input and "
         "every weight. Exit status 1 when a problem can be gamed.",
     .examples = "warpgym problem check ./my_problem\nwarpgym problem check --all",
     .run = problem_check_main},
    {.name = "doctor",
     .arguments = "",
     .summary = "what this machine offers: sandbox layers, compilers, devices",
     .examples = "warpgym doctor\nwarpgym doctor --json",
     .run = doctor_main},
    {.name = "settings",
     .arguments = "",
     .summary = "every setting with its value, origin and meaning",
     .examples = "warpgym settings\nwarpgym settings --describe",
     .run = settings_main},
    {0},
};

const struct cli_command *cli_command_of(int (*run)(int argc, char **argv))
{
    for (const struct cli_command *command = cli_commands; command->name; command++)
        if (command->run == run)
            return command;
    return NULL;
}

void cli_print(const struct buf *out)
{
    size_t done = 0;
    while (done < out->len) {
        ssize_t written = write(STDOUT_FILENO, out->data + done, out->len - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            exit(errno == EPIPE ? EXIT_PASSED
                                : cli_fail(EXIT_INFRASTRUCTURE, "standard output: %s",
                                           strerror(errno)));
        done += (size_t)written;
    }
}

int cli_fail(int status, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "warpgym: %s\n", text);
    return status;
}

int cli_status(const struct err *err)
{
    switch (err->code) {
    case ERR_INPUT:
    case ERR_MISSING:
    case ERR_LIMIT:
        return EXIT_USAGE;
    case ERR_CANCELLED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_INFRASTRUCTURE;
    }
}

bool cli_parse(int (*run)(int argc, char **argv), const struct cli_option *options, int argc,
               char **argv, struct cli_words *words, int *status)
{
    struct err err;
    int result = options_parse(options, argc, argv, words, &err);
    if (result == 0)
        return true;
    if (result == OPTIONS_HELP) {
        struct buf help;
        buf_init(&help, HELP_BYTES);
        options_help(cli_command_of(run), options, "warpgym", style_width(STDOUT_FILENO), &help);
        cli_print(&help);
        buf_deinit(&help);
        *status = EXIT_PASSED;
    } else {
        *status = cli_fail(EXIT_USAGE, "%s; try `warpgym %s --help`", err.text,
                           cli_command_of(run)->name);
    }
    cli_words_deinit(words);
    return false;
}

int cli_settings(struct settings *settings, const struct cli_words *assignments, struct err *err)
{
    settings_init(settings);
    int result = settings_load(settings, err);
    for (size_t i = 0; result == 0 && i < assignments->count; i++)
        result = settings_assign(settings, assignments->items[i], err);
    if (result == 0)
        result = settings_check(settings, err);
    if (result < 0)
        settings_deinit(settings);
    return result;
}

static void on_signal(int signal)
{
    if (cli_cancelled)
        _exit(128 + signal);
    cli_cancelled = 1;
}

void cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int overview(int status)
{
    struct buf help;
    buf_init(&help, HELP_BYTES);
    options_overview(cli_commands, style_width(STDOUT_FILENO), &help);
    if (status == EXIT_PASSED)
        cli_print(&help);
    else
        fputs(help.data, stderr);
    buf_deinit(&help);
    return status;
}

int main(int argc, char **argv)
{
    struct err err;
    int used = 0;
    const char *level = getenv("WARPGYM_LOG");
    if (level && strcmp(level, "debug") == 0)
        log_set_level(LOG_LEVEL_DEBUG);
    else if (level && strcmp(level, "info") == 0)
        log_set_level(LOG_LEVEL_INFO);
    if (argc < 2)
        return overview(EXIT_USAGE);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return overview(EXIT_PASSED);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        puts("warpgym " WARPGYM_VERSION);
        return EXIT_PASSED;
    }
    const struct cli_command *command = options_command(cli_commands, argc - 1, argv + 1, &used,
                                                        &err);
    if (!command)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    return command->run(argc - used, argv + used);
}
