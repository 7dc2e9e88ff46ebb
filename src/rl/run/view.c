#include "rl/run/view.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lockfile.h"
#include "base/mem.h"
#include "rl/collect/evaluation.h"
#include "rl/run/lengths.h"
#include "rl/run/run.h"
#include "rl/run/settings.h"
#include "rl/run/status.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STATUS_BYTES ((size_t)64 << 10)

const char *const run_state_names[RUN_STATE_COUNT] = {"stopped", "running", "finished"};

static bool has(const char *path, const char *name)
{
    char *full = mem_printf("%s/%s", path, name);
    bool found = file_exists(full) || file_is_directory(full);
    mem_free(full);
    return found;
}

enum run_kind run_kind_of(const char *path)
{
    if (has(path, RUN_CONFIG) && has(path, "lock"))
        return RUN_RL;
    return has(path, "run.json") && has(path, RUN_METRICS) ? RUN_SFT : RUN_NONE;
}

int run_view_open(struct run_view *view, const char *path, size_t tail_bytes, struct err *err)
{
    enum run_kind kind = run_kind_of(path);
    if (kind == RUN_NONE)
        return err_set(err, ERR_INPUT,
                       file_is_directory(path)
                           ? "%s: no run of `warpgym train`; `warpgym runs list` shows those there "
                             "are"
                           : "%s: there is no such directory; `warpgym runs list` shows the runs",
                       path);
    *view = (struct run_view){.path = mem_strdup(path), .kind = kind};
    for (size_t length = strlen(view->path); length > 1 && view->path[length - 1] == '/';)
        view->path[--length] = '\0';
    const char *slash = strrchr(view->path, '/');
    view->name = slash && slash[1] ? slash + 1 : view->path;
    char *metrics = mem_printf("%s/" RUN_METRICS, view->path);
    run_series_init(&view->series, metrics, tail_bytes);
    mem_free(metrics);
    return 0;
}

void run_view_close(struct run_view *view)
{
    run_series_deinit(&view->series);
    mem_free(view->path);
    *view = (struct run_view){0};
}

/* -------------------------------------------------------------------------------------- reading */

/* NULL where it is not there, or no JSON: what looks on takes no offence. */
static json_t *read_object(const char *directory, const char *name)
{
    char *path = mem_printf("%s/%s", directory, name);
    char *text = NULL;
    size_t count;
    json_t *object = NULL;
    struct err ignored;
    if (file_read(path, STATUS_BYTES, &text, &count, &ignored) == 0 &&
        json_parse(path, text, count, &object, &ignored) < 0)
        object = NULL;
    mem_free(text);
    mem_free(path);
    return object;
}

static uint64_t count_at(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* False: it has not finished. */
static bool read_rl(struct run_view *view)
{
    json_t *status = read_object(view->path, RUN_STATUS);
    uint64_t step = count_at(status, "step");
    snprintf(view->phase, sizeof view->phase, "%s", json_text_at(status, "phase"));
    view->step = step > view->step ? step : view->step;
    view->steps = count_at(status, "steps");
    view->done = count_at(status, "done");
    view->all = count_at(status, "all");
    json_decref(status);
    return strcmp(view->phase, RUN_FINISHED) == 0;
}

static bool read_sft(struct run_view *view)
{
    json_t *run = read_object(view->path, "run.json");
    snprintf(view->phase, sizeof view->phase, "sft");
    view->steps = count_at(run, "steps");
    json_decref(run);
    return has(view->path, "model") || has(view->path, "adapter");
}

static int64_t changed_of(const struct run_view *view)
{
    static const char *const names[] = {RUN_METRICS, RUN_STATUS, RUN_CONFIG, "run.json"};
    int64_t latest_ms = 0;
    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = mem_printf("%s/%s", view->path, names[i]);
        struct stat status;
        int64_t ms = stat(path, &status) == 0 ? (int64_t)status.st_mtim.tv_sec * 1000 +
                                                    (int64_t)status.st_mtim.tv_nsec / 1000000
                                              : 0;
        latest_ms = ms > latest_ms ? ms : latest_ms;
        mem_free(path);
    }
    return latest_ms;
}

int run_view_read(struct run_view *view, struct err *err)
{
    int result = run_series_read(&view->series, err);
    if (result < 0)
        return result;
    char *lock = mem_printf("%s/lock", view->path);
    const struct run_series *series = &view->series;
    view->holder = lockfile_holder(lock);
    view->step = series->count > 0 ? series->steps[series->count - 1] : 0;
    bool finished = view->kind == RUN_RL ? read_rl(view) : read_sft(view);
    view->state = view->holder != LOCKFILE_NONE ? RUN_STATE_RUNNING
                  : finished                    ? RUN_STATE_FINISHED
                                                : RUN_STATE_STOPPED;
    view->changed_ms = changed_of(view);
    mem_free(lock);
    return 0;
}

/* ------------------------------------------------------------------------------------- settings */

static json_t *sft_settings(const struct run_view *view)
{
    json_t *run = read_object(view->path, "run.json"), *told = json_object(), *value;
    const char *name;
    json_object_foreach(run, name, value)
    {
        if (json_is_null(value) || json_is_object(value) || json_is_array(value))
            continue;
        char *text = json_is_string(value)
                         ? mem_strdup(json_string_value(value))
                         : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        json_put(told, name, json_text(text));
        mem_free(text);
    }
    json_decref(run);
    return told;
}

int run_view_settings(const struct run_view *view, json_t **out, struct err *err)
{
    struct settings settings;
    *out = NULL;
    if (view->kind != RUN_RL) {
        *out = sft_settings(view);
        return 0;
    }
    int result = run_settings_read(view->path, &settings, err);
    if (result == 0)
        *out = run_settings_told(&settings);
    settings_deinit(&settings);
    return result;
}

/* ---------------------------------------------------------------------------------- evaluations */

char *run_view_evaluation(const struct run_view *view, size_t row)
{
    const struct run_column *rate = run_series_find(&view->series, "eval/correct_rate");
    if (!rate || isnan(rate->values[row]))
        return NULL;
    char *path = evaluation_path(view->path, view->series.steps[row]);
    if (file_exists(path))
        return path;
    mem_free(path);
    return NULL;
}

size_t run_view_problems(const struct run_view *view, size_t row)
{
    const struct run_column *problems = run_series_find(&view->series, "eval/problems");
    return problems && problems->values[row] > 0 ? (size_t)problems->values[row] : 0;
}

/* ---------------------------------------------------------------------------------- checkpoints */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* `lm train` writes no list: a directory is whole when it has its state. */
static json_t *sft_checkpoint(const struct run_view *view, const char *name)
{
    char *where = mem_printf("checkpoints/%s", name);
    char *directory = mem_printf("%s/%s", view->path, where);
    const char *digits = strrchr(name, '-');
    char *end = NULL;
    json_t *checkpoint = NULL;
    unsigned long long step = digits ? strtoull(digits + 1, &end, 10) : 0;
    if (digits && end > digits + 1 && *end == '\0' && has(directory, "state.json")) {
        checkpoint = json_object();
        json_put(checkpoint, "name", json_text(name));
        json_put(checkpoint, "step", json_integer((json_int_t)step));
        json_put(checkpoint, "where", json_text(where));
    }
    mem_free(directory);
    mem_free(where);
    return checkpoint;
}

static int sft_checkpoints(const struct run_view *view, json_t **out, struct err *err)
{
    char *path = mem_printf("%s/checkpoints", view->path);
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, by_name);
    int result = count < 0 && errno != ENOENT ? err_sys(err, errno, "%s: cannot read", path) : 0;
    *out = result < 0 ? NULL : json_array();
    for (int i = 0; i < count; i++) {
        json_t *checkpoint = sft_checkpoint(view, entries[i]->d_name);
        if (checkpoint)
            json_array_append_new(*out, checkpoint);
        free(entries[i]);
    }
    free(entries);
    mem_free(path);
    return result;
}

int run_view_checkpoints(const struct run_view *view, json_t **out, struct err *err)
{
    return view->kind == RUN_RL ? run_checkpoints(view->path, out, err)
                                : sft_checkpoints(view, out, err);
}
