/* runs resume: resumes a run with its original settings. */
#include "cli/runs/runs.h"

#include "base/mem.h"
#include "cli/train_run.h"
#include "rl/run/run_settings.h"

static int runs_resume_run(struct cli_call *call, void *arguments, struct err *err)
{
    struct train_run run = *(const struct train_run *)arguments;
    struct settings settings;
    char *directory;
    int result = runs_find(call->words.items[0], &directory, err);
    if (result < 0)
        return result;
    char *file = mem_printf("%s/" RUN_CONFIG, directory);
    run.directory = directory;
    result = EXIT_USAGE;
    if (cli_settings_of(&settings, file, call->words.items + 1, call->words.count - 1)) {
        result = train_run(&run, &settings, err);
        settings_deinit(&settings);
    }
    mem_free(file);
    mem_free(directory);
    return result;
}

int runs_resume_main(struct cli_call *call)
{
    struct train_run run = {0};
    const struct cli_option options[] = {
        OPTION_LIST(0, "problems", &run.search_paths, "DIR",
                    "search problems here first; saved with the run; may be repeated"),
        OPTION_STRING(0, "server", &run.server, "URL",
                      "judge on a server (http://HOST:PORT); saved with the run"),
        OPTION_FLAG('q', "quiet", &run.quiet, "no progress"),
        OPTION_END,
    };
    return cli_run(call, options, runs_resume_run, &run);
}
