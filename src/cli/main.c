#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HELP_BYTES ((size_t)256 << 10)

#ifndef WARPGYM_COMMIT
#define WARPGYM_COMMIT "unknown" /* the Makefile has it from git: "a1b2c3d4, 2026-11-30" */
#endif
#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* All commands (NULL), or those of a group such as "jobs". False: there is no such group. */
static bool print_overview(const char *group, bool as_error)
{
    struct buf help;
    buf_init(&help, HELP_BYTES);
    bool found = options_overview(cli_commands, group, style_width(STDOUT_FILENO), &help) > 0;
    if (as_error)
        fputs(help.data, stderr);
    else
        cli_print(&help);
    buf_deinit(&help);
    return found;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* The command that argv begins with; `help`: its help instead of its work. */
static int run_command(int argc, char **argv, bool help)
{
    struct err err;
    int used = 0;
    struct cli_call call = {.command = options_command(cli_commands, argc, argv, &used, &err)};
    char option[] = "--help", *words[] = {argv[0], option, NULL};
    if (!call.command)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    call.argc = help ? 2 : argc - used + 1;
    call.argv = help ? words : argv + used - 1;
    return call.command->run(&call);
}

/* The argument of `warpgym help`: a command, a group, or nothing. */
static int help_with(int argc, char **argv)
{
    if (argc <= 1 && print_overview(argv[0], false))
        return EXIT_PASSED;
    return run_command(argc, argv, true);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(NULL, true);
        return EXIT_USAGE;
    }
    if (is_help(argv[1]))
        return help_with(argc - 2, argv + 2);
    if (argc > 2 && is_help(argv[2]) && print_overview(argv[1], false))
        return EXIT_PASSED;
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        puts("warpgym " WARPGYM_VERSION " (" WARPGYM_COMMIT ", " COMPILER ")");
        return EXIT_PASSED;
    }
    return run_command(argc - 1, argv + 1, false);
}
