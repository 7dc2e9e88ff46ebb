#include "cli/train_run.h"

#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/search_paths.h"
#include "problem/problem_settings.h"
#include "rl/train/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BYTES 200

/* The progress line: figures of the last step, and the state of the phase. */
struct run_progress {
    bool quiet;
    struct progress *progress;
    uint64_t step;
    char figures[STATUS_BYTES];
};

static void add_figure(struct run_progress *run_progress, const json_t *metrics, const char *name,
                       const char *format, double factor)
{
    const json_t *value = json_object_get(metrics, name);
    size_t used = strlen(run_progress->figures);
    if (!json_is_number(value))
        return;
    char text[64];
    snprintf(text, sizeof text, format, factor * json_number_value(value));
    snprintf(run_progress->figures + used, sizeof run_progress->figures - used, "%s%s",
             used ? ", " : "", text);
}

static void take_figures(struct run_progress *run_progress, const json_t *metrics)
{
    static const struct {
        const char *name, *format;
        double factor;
    } rows[] = {
        {"sft/loss", "loss %.4f", 1},
        {"reward/mean", "reward %.3f", 1},
        {"kernel/correct_rate", "correct %.0f %%", 100},
        {"kernel/mean_speedup", "speedup %.2f", 1},
        {"eval/correct_rate", "held out %.0f %%", 100},
    };
    run_progress->figures[0] = '\0';
    for (size_t i = 0; i < COUNT(rows); i++)
        add_figure(run_progress, metrics, rows[i].name, rows[i].format, rows[i].factor);
}

static void on_trainer_event(void *context, const struct trainer_progress *progress)
{
    struct run_progress *run_progress = context;
    char status[STATUS_BYTES + 64];
    if (!run_progress->progress) {
        run_progress->progress = progress_new(STDERR_FILENO, "training", progress->steps,
                                              run_progress->quiet);
        log_set_hooks(progress_hide, progress_show, run_progress->progress);
        for (; run_progress->step < progress->step; run_progress->step++)
            progress_found(run_progress->progress, true);
    }
    for (; run_progress->step < progress->step; run_progress->step++)
        progress_add(run_progress->progress, true);
    if (progress->metrics)
        take_figures(run_progress, progress->metrics);
    int used = snprintf(status, sizeof status, "%s", progress->phase);
    if (progress->all > 0)
        used += snprintf(status + used, sizeof status - (size_t)used, " %zu/%zu", progress->done,
                         progress->all);
    snprintf(status + used, sizeof status - (size_t)used, "%s%s",
             run_progress->figures[0] ? "; " : "", run_progress->figures);
    progress_note(run_progress->progress, status);
}

static void end_progress(struct run_progress *run_progress, uint64_t steps)
{
    for (; run_progress->progress && run_progress->step < steps; run_progress->step++)
        progress_add(run_progress->progress, true);
    log_set_hooks(NULL, NULL, NULL);
    progress_free(run_progress->progress);
}

static int say_end(const struct train_run *run, int result, const struct trainer_result *end,
                   const struct run_progress *run_progress, const struct err *err)
{
    if (result < 0) {
        int status = cli_fail_err(err);
        if (end->saved > 0)
            fprintf(stderr,
                    "warpgym: step %" PRIu64 " is saved; `warpgym runs resume %s` resumes\n",
                    end->saved, run->directory);
        return status;
    }
    if (!end->finished) {
        fprintf(stderr,
                "warpgym: interrupted; step %" PRIu64
                " is saved; `warpgym runs resume %s` resumes\n",
                end->saved, run->directory);
        return EXIT_INTERRUPTED;
    }
    printf("%" PRIu64 " steps%s%s%s\n%s\n", end->steps,
           strcmp(end->why, "early stop") == 0 ? ", ended early: no improvement" : "",
           run_progress->figures[0] ? "; at last " : "", run_progress->figures, run->directory);
    return EXIT_PASSED;
}

static int save_settings(const struct train_run *run, struct settings *settings, struct err *err)
{
    struct buf path;
    int result = 0;
    buf_init(&path, CLI_SEARCH_PATHS_BYTES);
    cli_search_paths_save(&run->search_paths, settings, &path);
    if (run->server)
        result = settings_set(settings, "client.url", run->server, ORIGIN_COMMAND_LINE, err);
    if (result == 0 && path.len > 0 && strcmp(path.data, problems_settings(settings)->path) != 0)
        result = settings_set(settings, "problems.path", path.data, ORIGIN_COMMAND_LINE, err);
    buf_deinit(&path);
    return result;
}

int train_run(const struct train_run *run, struct settings *settings, struct err *err)
{
    struct run_progress run_progress = {.quiet = run->quiet};
    const struct cli_words none = {0};
    struct paths_list search_paths;
    struct trainer_result end = {0};
    int result = save_settings(run, settings, err);
    if (result == 0)
        result = cli_search_paths(&none, settings, &search_paths, err);
    if (result < 0)
        return result;
    const struct trainer_options options = {.settings = settings,
                                            .directory = run->directory,
                                            .search_paths = &search_paths,
                                            .cancelled = &cli_cancelled,
                                            .on_progress = on_trainer_event,
                                            .context = &run_progress};
    cli_catch_signals();
    result = trainer_run(&options, &end, err);
    end_progress(&run_progress, end.steps);
    int status = say_end(run, result, &end, &run_progress, err);
    paths_list_deinit(&search_paths);
    return status;
}
