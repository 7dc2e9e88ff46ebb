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

static const char head[] =
    "Judges compute kernels that models wrote: right, how fast, honest. Trains models on that.\n"
    "\n"
    "Usage: warpgym COMMAND [options] [arguments]\n"
    "\n";
static const char tail[] =
    "\n"
    "Examples:\n"
    "  warpgym eval --problem softmax my_softmax.c\n"
    "  warpgym eval --problems ~/KernelBench answers/ --html report.html\n"
    "  warpgym serve\n"
    "  warpgym rollout --policy http://localhost:8000/v1 --model NAME -n 4 native\n"
    "  warpgym train configs/laptop-cpu.yaml -o runs/first\n"
    "\n"
    "`warpgym COMMAND --help` explains one, `warpgym help all` lists all of them, and\n"
    "`warpgym doctor` says what this machine offers.\n";

static void print_first_screen(FILE *stream)
{
    struct buf help;
    buf_init(&help, HELP_BYTES);
    buf_puts(&help, head);
    options_groups(cli_commands, cli_families, style_width(STDOUT_FILENO), &help);
    buf_puts(&help, tail);
    fputs(help.data, stream);
    buf_deinit(&help);
}

/* Of a family such as "jobs", or all. False: there is no such family. */
static bool print_overview(const char *family)
{
    struct buf help;
    buf_init(&help, HELP_BYTES);
    const char *wanted = strcmp(family, "all") == 0 ? NULL : family;
    bool found = options_overview(cli_commands, wanted, style_width(STDOUT_FILENO), &help) > 0;
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

/* The argument of `warpgym help`: a command, a family, "all", or nothing. */
static int help_with(int argc, char **argv)
{
    if (argc == 0)
        print_first_screen(stdout);
    else if (argc > 1 || !print_overview(argv[0]))
        return run_command(argc, argv, true);
    return EXIT_PASSED;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_first_screen(stderr);
        return EXIT_USAGE;
    }
    if (is_help(argv[1]))
        return help_with(argc - 2, argv + 2);
    if (argc > 2 && is_help(argv[2]) && print_overview(argv[1]))
        return EXIT_PASSED;
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        puts("warpgym " WARPGYM_VERSION " (" WARPGYM_COMMIT ", " COMPILER ")");
        return EXIT_PASSED;
    }
    return run_command(argc - 1, argv + 1, false);
}
