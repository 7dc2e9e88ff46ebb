#include "cli/cli.h"
#include "cli/table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HELP_BYTES ((size_t)256 << 10)

static int print_overview(int status)
{
    struct buf help;
    buf_init(&help, HELP_BYTES);
    (void)options_overview(cli_commands, NULL, style_width(STDOUT_FILENO), &help);
    if (status == EXIT_PASSED)
        cli_print(&help);
    else
        fputs(help.data, stderr);
    buf_deinit(&help);
    return status;
}

/* "jobs" is a group of commands, not a command. */
static bool print_group(const char *word)
{
    struct buf help;
    buf_init(&help, HELP_BYTES);
    bool found = options_overview(cli_commands, word, style_width(STDOUT_FILENO), &help) > 0;
    if (found)
        cli_print(&help);
    buf_deinit(&help);
    return found;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* The argument of `warpgym help`: a command, a group, or nothing. */
static int help_with(int argc, char **argv)
{
    struct err err;
    int used = 0;
    if (argc == 0)
        return print_overview(EXIT_PASSED);
    if (argc == 1 && print_group(argv[0]))
        return EXIT_PASSED;
    const struct cli_command *command = options_command(cli_commands, argc, argv, &used, &err);
    if (!command)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    char option[] = "--help";
    char *words[] = {argv[used - 1], option, NULL};
    return command->run(2, words);
}

int main(int argc, char **argv)
{
    struct err err;
    int used = 0;
    if (argc < 2)
        return print_overview(EXIT_USAGE);
    if (is_help(argv[1]))
        return help_with(argc - 2, argv + 2);
    if (argc > 2 && is_help(argv[2]) && print_group(argv[1]))
        return EXIT_PASSED;
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
