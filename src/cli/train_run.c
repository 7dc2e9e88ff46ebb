#include "cli/train_run.h"

#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/search_paths.h"
#include "rl/train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTE_BYTES 200

/* What the line tells: figures of the last step, and how far the phase is. */
struct told {
    bool quiet;
    struct progress *progress;
    uint64_t step;
    char figures[NOTE_BYTES];
};

static void add_figure(struct told *told, const json_t *metrics, const char *name,
                       const char *format, double factor)
{
    const json_t *value = json_object_get(metrics, name);
    size_t used = strlen(told->figures);
    if (!json_is_number(value))
        return;
    char text[64];
    snprintf(text, sizeof text, format, factor * json_number_value(value));
    snprintf(told->figures + used, sizeof told->figures - used, "%s%s", used ? ", " : "", text);
}

static void take_figures(struct told *told, const json_t *metrics)
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
    told->figures[0] = '\0';
    for (size_t i = 0; i < COUNT(rows); i++)
        add_figure(told, metrics, rows[i].name, rows[i].format, rows[i].factor);
}

static void on_progress(void *context, const struct trainer_progress *news)
{
    struct told *told = context;
    char note[NOTE_BYTES + 64];
    if (!told->progress) {
        told->progress = progress_new(STDERR_FILENO, "training", news->steps, told->quiet);
        log_set_hooks(progress_hide, progress_show, told->progress);
        for (; told->step < news->step; told->step++)
            progress_found(told->progress, true);
    }
    for (; told->step < news->step; told->step++)
        progress_add(told->progress, true);
    if (news->metrics)
        take_figures(told, news->metrics);
    int used = snprintf(note, sizeof note, "%s", news->phase);
    if (news->all > 0)
        used += snprintf(note + used, sizeof note - (size_t)used, " %zu/%zu", news->done,
                         news->all);
    snprintf(note + used, sizeof note - (size_t)used, "%s%s", told->figures[0] ? "; " : "",
             told->figures);
    progress_note(told->progress, note);
}

static void end_progress(struct told *told, uint64_t steps)
{
    for (; told->progress && told->step < steps; told->step++)
        progress_add(told->progress, true);
    log_set_hooks(NULL, NULL, NULL);
    progress_free(told->progress);
}

static int say_end(const struct train_run *run, int result, const struct trainer_result *end,
                   const struct told *told, const struct err *err)
{
    if (result < 0) {
        int status = cli_fail(cli_status(err), "%s", err->text);
        if (end->saved > 0)
            fprintf(stderr, "warpgym: step %" PRIu64 " is saved; `%s` goes on from there\n",
                    end->saved, run->again);
        return status;
    }
    if (!end->finished) {
        fprintf(stderr,
                "warpgym: interrupted; step %" PRIu64 " is saved, and `%s` goes on from there\n",
                end->saved, run->again);
        return EXIT_INTERRUPTED;
    }
    printf("%" PRIu64 " steps%s%s%s\n%s\n", end->steps,
           strcmp(end->why, "patience") == 0 ? ", ended for want of progress" : "",
           told->figures[0] ? "; at last " : "", told->figures, run->directory);
    return EXIT_PASSED;
}

static int keep(const struct train_run *run, struct settings *settings, struct err *err)
{
    struct buf path;
    int result = 0;
    buf_init(&path, CLI_SEARCH_PATHS_BYTES);
    cli_search_paths_save(run->search_paths, settings, &path);
    if (run->server)
        result = settings_set(settings, "client.url", run->server, ORIGIN_COMMAND_LINE, err);
    if (result == 0 && path.len > 0 && strcmp(path.data, settings->problems_path) != 0)
        result = settings_set(settings, "problems.path", path.data, ORIGIN_COMMAND_LINE, err);
    buf_deinit(&path);
    return result;
}

int train_run(const struct train_run *run, struct settings *settings)
{
    struct told told = {.quiet = run->quiet};
    const struct cli_words none = {0};
    struct paths_list search_paths;
    struct trainer_result end = {0};
    struct err err = {0};
    if (keep(run, settings, &err) < 0 || cli_search_paths(&none, settings, &search_paths, &err) < 0)
        return cli_fail(cli_status(&err), "%s", err.text);
    const struct trainer_options options = {.settings = settings,
                                            .directory = run->directory,
                                            .search_paths = search_paths.items,
                                            .search_path_count = search_paths.count,
                                            .cancelled = &cli_cancelled,
                                            .on_progress = on_progress,
                                            .context = &told};
    cli_catch_signals();
    int result = trainer_run(&options, &end, &err);
    end_progress(&told, end.steps);
    int status = say_end(run, result, &end, &told, &err);
    paths_list_deinit(&search_paths);
    return status;
}
