/* train: `warpgym train`: fine-tuning and reinforcement learning against the judge. */
#include "cli/cli.h"

#include "cli/train_run.h"
#include "rl/train/config.h"

static int train_work(struct cli_call *call, void *arguments, struct err *err)
{
    struct train_run run = *(const struct train_run *)arguments;
    struct settings settings;
    struct setting_errors errors = {0};
    char standard[64];
    if (!run.directory)
        run.directory = cli_new_run(standard, sizeof standard);
    if (!cli_settings_of(&settings, call->words.items[0], call->words.items + 1,
                         call->words.count - 1))
        return EXIT_USAGE;
    train_config_check_run(&settings, &errors);
    cli_setting_errors(&errors);
    int result = errors.code ? EXIT_USAGE : train_run(&run, &settings, err);
    setting_errors_deinit(&errors);
    settings_deinit(&settings);
    return result;
}

int train_main(struct cli_call *call)
{
    struct train_run run = {0};
    const struct cli_option options[] = {
        OPTION_STRING('o', "out", &run.directory, "DIR",
                      "directory of the run; an existing run is resumed; runs/DATE-TIME"),
        OPTION_LIST(0, "problems", &run.search_paths, "DIR",
                    "search problems here first; saved with the run; may be repeated"),
        OPTION_STRING(0, "server", &run.server, "URL",
                      "judge on a server (http://HOST:PORT); saved with the run"),
        OPTION_FLAG('q', "quiet", &run.quiet, "no progress"),
        OPTION_END,
    };
    return cli_run(call, options, train_work, &run);
}
