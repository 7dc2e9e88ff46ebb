#include "cli/runs/runs.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/jobs_table.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct runs_measure runs_measures[] = {
    {"reward", {"reward/mean"}},
    {"pass rate", {"kernel/correct_rate"}},
    {"speedup", {"kernel/mean_speedup"}},
    {"held out", {"eval/correct_rate", "evaluation_loss"}},
    {"loss", {"optim/loss", "loss"}},
    {"grad norm", {"optim/grad_norm", "norm"}},
    {"mismatch", {"mismatch/mismatch_kl"}},
    {"tokens/s", {"tokens_per_s", "time/tokens_per_s"}},
};
const size_t runs_measure_count = COUNT(runs_measures);

const char *runs_measure_name(const struct runs_measure *measure, const struct run_series *series)
{
    for (size_t i = 0; i < COUNT(measure->names); i++)
        if (measure->names[i] && run_series_find(series, measure->names[i]))
            return measure->names[i];
    return NULL;
}

void runs_number(double value, char text[RUNS_NUMBER_BYTES])
{
    if (isnan(value))
        snprintf(text, RUNS_NUMBER_BYTES, "-");
    else if (value == floor(value) && fabs(value) < 1e7)
        snprintf(text, RUNS_NUMBER_BYTES, "%.0f", value);
    else if (fabs(value) >= 1e5 || fabs(value) < 1e-3)
        snprintf(text, RUNS_NUMBER_BYTES, "%.2e", value);
    else
        snprintf(text, RUNS_NUMBER_BYTES, "%.4g", value);
}

void runs_size(uint64_t bytes, char text[RUNS_NUMBER_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < COUNT(units); unit++)
        value /= 1024;
    snprintf(text, RUNS_NUMBER_BYTES, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value,
             units[unit]);
}

int runs_find(const char *word, char **path, struct err *err)
{
    *path = mem_strdup(word);
    if (run_kind_of(word) != RUN_NONE)
        return 0;
    if (!strchr(word, '/')) {
        char *there = mem_printf(RUNS_HOME "/%s", word);
        if (run_kind_of(there) != RUN_NONE) {
            mem_free(*path);
            *path = there;
            return 0;
        }
        mem_free(there);
    }
    mem_free(*path);
    *path = NULL;
    if (file_is_directory(word))
        return err_set(err, ERR_INPUT, "%s is not a training run; `warpgym runs list` shows them",
                       word);
    return err_set(err, ERR_INPUT,
                   "there is no run %s, and none in ./" RUNS_HOME
                   "; `warpgym runs list` shows them",
                   word);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

int runs_find_all(const char *directory, struct arena *arena, struct cli_words *paths,
                  struct err *err)
{
    struct dirent **entries = NULL;
    if (run_kind_of(directory) != RUN_NONE) {
        cli_words_add(paths, arena_strdup(arena, directory));
        return 0;
    }
    int count = scandir(directory, &entries, NULL, by_name);
    if (count < 0 && (errno == ENOENT || errno == ENOTDIR))
        return err_set(err, ERR_MISSING, "no such directory: %s", directory);
    if (count < 0)
        return err_sys(err, errno, "cannot read %s", directory);
    for (int i = 0; i < count; i++) {
        const char *path = arena_printf(arena, "%s/%s", directory, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && run_kind_of(path) != RUN_NONE)
            cli_words_add(paths, path);
        free(entries[i]);
    }
    free(entries);
    return 0;
}

int runs_open(struct run_view *view, const char *word, size_t tail_bytes, struct err *err)
{
    char *path;
    int result = runs_find(word, &path, err);
    if (result < 0)
        return result;
    result = run_view_open(view, path, tail_bytes, err);
    mem_free(path);
    if (result == 0 && (result = run_view_read(view, err)) < 0)
        run_view_close(view);
    return result;
}

int runs_do(struct cli_call *call, size_t tail_bytes, runs_work *work, void *arguments,
            struct err *err)
{
    struct run_view view;
    int result = runs_open(&view, call->words.items[0], tail_bytes, err);
    if (result < 0)
        return result;
    result = work(call, &view, arguments, err);
    run_view_close(&view);
    return result;
}

void runs_step_text(const struct run_view *view, char *text, size_t text_bytes)
{
    if (view->steps > 0)
        snprintf(text, text_bytes, "step %" PRIu64 " of %" PRIu64, view->step, view->steps);
    else
        snprintf(text, text_bytes, "step %" PRIu64, view->step);
}

void runs_age_text(const struct run_view *view, char *text, size_t text_bytes)
{
    char when[CLOCK_TEXT_BYTES];
    clock_text(view->changed_ms, when);
    jobs_table_age(when, clock_wall_ms() / 1000, text, text_bytes);
}

const char *runs_best_measure(const struct run_view *view, bool *lowest)
{
    *lowest = view->kind == RUN_SFT;
    return *lowest ? "evaluation_loss" : "eval/correct_rate";
}

const json_t *runs_best(const struct run_view *view, const json_t *checkpoints, const char *measure,
                        bool lowest)
{
    const json_t *best = NULL, *checkpoint;
    double best_value = 0;
    uint64_t before = 0;
    size_t i;
    json_array_foreach((json_t *)checkpoints, i, checkpoint)
    {
        uint64_t step = (uint64_t)json_integer_value(json_object_get(checkpoint, "step")), at = 0;
        double value = run_series_at(&view->series, measure, step, &at);
        bool its_own = !isnan(value) && (i == 0 || at > before);
        if (its_own && (!best || (lowest ? value < best_value : value > best_value))) {
            best = checkpoint;
            best_value = value;
        }
        before = step;
    }
    return best;
}

const json_t *runs_checkpoint(const struct run_view *view, const json_t *checkpoints,
                              const char *name, struct err *err)
{
    size_t count = json_array_size(checkpoints);
    const json_t *first = json_array_get(checkpoints, 0),
                 *last = json_array_get(checkpoints, count - 1);
    if (count > 0 && strcmp(name, "last") == 0)
        return last;
    for (size_t i = 0; i < count; i++)
        if (strcmp(json_text_at(json_array_get(checkpoints, i), "name"), name) == 0)
            return json_array_get(checkpoints, i);
    if (count == 0)
        err_set(err, ERR_INPUT, "%s has no checkpoint yet", view->path);
    else
        err_set(err, ERR_INPUT, "%s has no checkpoint %s; it has %zu, from %s to %s", view->path,
                name, count, json_text_at(first, "name"), json_text_at(last, "name"));
    return NULL;
}
