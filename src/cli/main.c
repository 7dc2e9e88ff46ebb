#include "base/log.h"
#include "cli/cli.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP_BYTES ((size_t)256 << 10)

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
    const char *format = getenv("WARPGYM_LOG_FORMAT");
    if (format && strcmp(format, "json") == 0)
        log_set_format(LOG_FORMAT_JSON);
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
