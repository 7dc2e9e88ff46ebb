/* train: `warpgym train`: fine-tuning and reinforcement learning against the judge. */
#include "cli/cli.h"

#include "base/mem.h"
#include "cli/train_run.h"
#include "rl/train/config.h"

struct arguments {
    const char *out, *server;
    struct cli_words words, search_paths;
    bool quiet;
};

static int train_start(const struct arguments *arguments)
{
    struct settings settings;
    struct setting_errors errors = {0};
    char standard[64];
    const char *directory = arguments->out ? arguments->out
                                           : cli_new_run(standard, sizeof standard);
    if (!cli_settings_of(&settings, arguments->words.items[0], arguments->words.items + 1,
                         arguments->words.count - 1))
        return EXIT_USAGE;
    train_config_check_run(&settings, &errors);
    cli_setting_errors(&errors);
    char *command = mem_printf("warpgym runs resume %s", directory);
    const struct train_run run = {.directory = directory,
                                  .server = arguments->server,
                                  .search_paths = &arguments->search_paths,
                                  .quiet = arguments->quiet,
                                  .again = command};
    int status = errors.code ? EXIT_USAGE : train_run(&run, &settings);
    setting_errors_deinit(&errors);
    mem_free(command);
    settings_deinit(&settings);
    return status;
}

int train_main(int argc, char **argv)
{
    struct arguments arguments = {0};
    const struct cli_option options[] = {
        OPTION_STRING('o', "out", &arguments.out, "DIR",
                      "directory of the run; an existing run is resumed; runs/DATE-TIME"),
        OPTION_LIST(0, "problems", &arguments.search_paths, "DIR",
                    "search problems here first; saved with the run; may be repeated"),
        OPTION_STRING(0, "server", &arguments.server, "URL",
                      "judge on a server (http://HOST:PORT); saved with the run"),
        OPTION_FLAG('q', "quiet", &arguments.quiet, "no progress"),
        OPTION_END,
    };
    int status;
    if (!cli_parse(train_main, options, argc, argv, &arguments.words, &status))
        return status;
    if (arguments.words.count == 0)
        status = cli_usage(train_main, "name a configuration (configs/ has some)");
    else
        status = train_start(&arguments);
    return cli_end(options, &arguments.words, status);
}
