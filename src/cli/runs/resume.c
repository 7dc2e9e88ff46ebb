/* runs resume: resumes a run with its original settings. */
#include "cli/runs/runs.h"

#include "base/mem.h"
#include "cli/train_run.h"
#include "rl/run/run_settings.h"

static int resume_run(const char *word, const struct train_run *asked,
                      const struct cli_words *changes)
{
    struct settings settings;
    struct err err = {0};
    char *directory;
    if (runs_find(word, &directory, &err) < 0)
        return cli_fail(EXIT_USAGE, "%s", err.text);
    char *file = mem_printf("%s/" RUN_CONFIG, directory);
    char *command = mem_printf("warpgym runs resume %s", directory);
    struct train_run run = *asked;
    run.directory = directory;
    run.again = command;
    int status = EXIT_USAGE;
    if (cli_settings_of(&settings, file, changes->items, changes->count)) {
        status = train_run(&run, &settings);
        settings_deinit(&settings);
    }
    mem_free(command);
    mem_free(file);
    mem_free(directory);
    return status;
}

int runs_resume_main(int argc, char **argv)
{
    struct cli_words words = {0}, search_paths = {0};
    struct train_run run = {.search_paths = &search_paths};
    const struct cli_option options[] = {
        OPTION_LIST(0, "problems", &search_paths, "DIR",
                    "search problems here first; saved with the run; may be repeated"),
        OPTION_STRING(0, "server", &run.server, "URL",
                      "judge on a server (http://HOST:PORT); saved with the run"),
        OPTION_FLAG('q', "quiet", &run.quiet, "no progress"),
        OPTION_END,
    };
    int status;
    if (!cli_parse(runs_resume_main, options, argc, argv, &words, &status))
        return status;
    if (words.count == 0) {
        status = cli_usage(runs_resume_main, "name a run");
    } else {
        const struct cli_words changes = {.items = words.items + 1, .count = words.count - 1};
        status = resume_run(words.items[0], &run, &changes);
    }
    return cli_end(options, &words, status);
}
