/* runs sync: a run's files at a tracker, by python/warpgym/sync.py. */
#include "cli/runs/runs.h"

#include "base/array.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MOST 24

struct arguments {
    const char *to, *project, *name, *python;
    bool follow;
    double interval_s;
    int64_t turns;
};

static int check_tracker(const char *name, struct err *err)
{
    static const char *const names[] = {"wandb", "mlflow", "trackio"};
    if (!name)
        return err_set(err, ERR_INPUT, "--to is missing: wandb, mlflow or trackio");
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return 0;
    return err_unknown(err, "tracker", name, names, COUNT(names));
}

static int search_our_package(struct err *err)
{
    char *package = paths_python_package(err);
    if (!package)
        return err->code;
    const char *others = getenv("PYTHONPATH");
    char *all = mem_printf("%s%s%s", package, others && *others ? ":" : "", others ? others : "");
    setenv("PYTHONPATH", all, 1);
    mem_free(all);
    mem_free(package);
    return 0;
}

static int sync_run(struct cli_call *call, void *context, struct err *err)
{
    const struct arguments *arguments = context;
    char interval[32], turns[32], *path = NULL;
    const char *words[WORDS_MOST] = {arguments->python, "-m", "warpgym.sync"};
    size_t count = 3;
    int result = check_tracker(arguments->to, err);
    if (result == 0)
        result = runs_find(call->words.items[0], &path, err);
    if (result == 0)
        result = search_our_package(err);
    if (result < 0) {
        mem_free(path);
        return result;
    }
    snprintf(interval, sizeof interval, "%.17g", arguments->interval_s);
    snprintf(turns, sizeof turns, "%lld", (long long)arguments->turns);
    const struct {
        const char *option, *value;
    } given[] = {
        {"--to", arguments->to},     {"--project", arguments->project},
        {"--name", arguments->name}, {"--interval", interval},
        {"--turns", turns},
    };
    words[count++] = path;
    for (size_t i = 0; i < COUNT(given); i++)
        if (given[i].value) {
            words[count++] = given[i].option;
            words[count++] = given[i].value;
        }
    if (arguments->follow)
        words[count++] = "--follow";
    execvp(words[0], (char *const *)words);
    result = err_set(err, ERR_MISSING, "%s: %s; name another with --python", words[0],
                     strerror(errno));
    mem_free(path);
    return result;
}

int runs_sync_main(struct cli_call *call)
{
    struct arguments arguments = {.python = "python3",
                                  .project = "warpgym",
                                  .interval_s = 5,
                                  .turns = 16};
    const struct cli_option options[] = {
        OPTION_STRING(0, "to", &arguments.to, "TRACKER", "wandb, mlflow or trackio; required"),
        OPTION_STRING(0, "project", &arguments.project, "NAME",
                      "project or experiment there (warpgym)"),
        OPTION_STRING(0, "name", &arguments.name, "NAME", "the run's name there (its directory's)"),
        OPTION_FLAG('f', "follow", &arguments.follow, "go on until the run ends"),
        OPTION_FLOAT(0, "interval", &arguments.interval_s, 0.01, 86400, "S",
                     "seconds between two looks at the files (5)"),
        OPTION_INT(0, "turns", &arguments.turns, 0, 1 << 20, "N",
                   "of each step's turns, in its table (16)"),
        OPTION_STRING(0, "python", &arguments.python, "FILE",
                      "a Python that has the tracker's package (python3)"),
        OPTION_END,
    };
    return cli_run(call, options, sync_run, &arguments);
}
