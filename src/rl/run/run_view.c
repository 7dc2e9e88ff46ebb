#include "rl/run/run_view.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lines.h"
#include "base/lockfile.h"
#include "base/mem.h"
#include "rl/collect/evaluation.h"
#include "rl/run/checkpoints.h"
#include "rl/run/run.h"
#include "rl/run/run_settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS_FIRST 64

off_t run_tail(int fd, off_t size, size_t tail_bytes)
{
    char byte = 0;
    if (tail_bytes >= (size_t)size)
        return 0;
    off_t at = size - (off_t)tail_bytes;
    while (byte != '\n' && pread(fd, &byte, 1, at) == 1)
        at++;
    return at;
}

void run_series_init(struct run_series *series, const char *path, size_t tail_bytes)
{
    *series = (struct run_series){.path = mem_strdup(path), .tail_bytes = tail_bytes};
}

static void clear_series(struct run_series *series)
{
    for (size_t i = 0; i < series->column_count; i++) {
        mem_free(series->columns[i].name);
        mem_free(series->columns[i].values);
    }
    mem_free(series->columns);
    mem_free(series->steps);
    *series = (struct run_series){.path = series->path, .tail_bytes = series->tail_bytes};
}

void run_series_deinit(struct run_series *series)
{
    clear_series(series);
    mem_free(series->path);
    *series = (struct run_series){0};
}

static void grow_rows(struct run_series *series)
{
    if (series->count < series->capacity)
        return;
    series->capacity = series->capacity ? 2 * series->capacity : ROWS_FIRST;
    series->steps = mem_resize(series->steps, series->capacity * sizeof *series->steps);
    for (size_t i = 0; i < series->column_count; i++)
        series->columns[i].values = mem_resize(series->columns[i].values,
                                               series->capacity * sizeof(double));
}

static void add_row(struct run_series *series, uint64_t step)
{
    if (series->count > 0 && series->steps[series->count - 1] == step)
        return;
    grow_rows(series);
    series->steps[series->count] = step;
    for (size_t i = 0; i < series->column_count; i++)
        series->columns[i].values[series->count] = NAN;
    series->count++;
}

/* Lines mostly have the same names in the same order: *next is where the last one was found. */
static struct run_column *column_of(struct run_series *series, const char *name, size_t *next)
{
    for (size_t i = 0; i < series->column_count; i++) {
        size_t at = (*next + i) % series->column_count;
        if (strcmp(series->columns[at].name, name) == 0) {
            *next = at + 1;
            return &series->columns[at];
        }
    }
    if (series->column_count == LIMIT_RUN_METRICS)
        return NULL;
    series->columns = mem_resize(series->columns,
                                 (series->column_count + 1) * sizeof *series->columns);
    struct run_column *column = &series->columns[series->column_count++];
    *column = (struct run_column){.name = mem_strdup(name),
                                  .values = mem_alloc(series->capacity * sizeof(double))};
    for (size_t i = 0; i < series->count; i++)
        column->values[i] = NAN;
    *next = series->column_count;
    return column;
}

static int read_metrics_line(struct run_series *series, const char *text, size_t count,
                             struct err *err)
{
    json_t *line = NULL;
    const char *name;
    json_t *value;
    int64_t step = 0;
    size_t next = 0;
    int result = json_parse_line(series->path, series->number, text, count, &line, err);
    if (result == 0 && (json_get_int(line, "step", &step, err) < 0 || step < 0))
        result = err_set(err, ERR_INPUT, "%s:%zu: a line of metrics without a step", series->path,
                         series->number);
    if (result < 0) {
        json_decref(line);
        return result;
    }
    add_row(series, (uint64_t)step);
    json_object_foreach(line, name, value)
    {
        struct run_column *column = json_is_number(value) && strcmp(name, "step") != 0
                                        ? column_of(series, name, &next)
                                        : NULL;
        if (column)
            column->values[series->count - 1] = json_number_value(value);
    }
    json_decref(line);
    return 0;
}

/* Reads the complete lines after series->read. */
static int read_rest(struct run_series *series, int fd, struct err *err)
{
    const struct lines_options options = {.max_bytes = LIMIT_JOURNAL_LINE_BYTES,
                                          .before = series->number,
                                          .borrowed = true};
    const off_t begun = series->read;
    const char *text;
    size_t count;
    int result;
    if (lseek(fd, begun, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot read %s", series->path);
    struct lines *lines = lines_open_with(fd, series->path, &options);
    while ((result = lines_next(lines, &text, &count, err)) > 0 && lines_is_whole(lines)) {
        series->number = lines_number(lines);
        series->read = begun + lines_end(lines);
        result = read_metrics_line(series, text, count, err);
        if (result < 0)
            break;
    }
    lines_close(lines);
    return result < 0 ? result : 0;
}

int run_series_read(struct run_series *series, struct err *err)
{
    struct stat status = {0};
    int fd = open(series->path, O_RDONLY | O_CLOEXEC);
    int result = 0;
    if (fd < 0 && errno == ENOENT) {
        clear_series(series);
        return 0;
    }
    if (fd < 0 || fstat(fd, &status) < 0)
        result = err_sys(err, errno, "cannot read %s", series->path);
    if (result == 0 && status.st_size < series->read)
        clear_series(series);
    if (result == 0) {
        if (series->read == 0)
            series->read = run_tail(fd, status.st_size, series->tail_bytes);
        result = read_rest(series, fd, err);
    }
    if (fd >= 0)
        close(fd);
    return result;
}

const struct run_column *run_series_find(const struct run_series *series, const char *name)
{
    for (size_t i = 0; i < series->column_count; i++)
        if (strcmp(series->columns[i].name, name) == 0)
            return &series->columns[i];
    return NULL;
}

struct run_mean run_series_mean(const struct run_series *series, const char *name, uint64_t step,
                                size_t over)
{
    const struct run_column *column = run_series_find(series, name);
    size_t end = series->count;
    double sum = 0, squares = 0, count = 0;
    if (!column)
        return (struct run_mean){NAN, NAN, 0};
    while (end > 0 && series->steps[end - 1] > step)
        end--;
    size_t first = end > over ? end - over : 0;
    for (size_t i = first; i < end; i++)
        if (isfinite(column->values[i])) {
            sum += column->values[i];
            count++;
        }
    if (count == 0)
        return (struct run_mean){run_series_at(series, name, step, NULL), NAN, 0};
    for (size_t i = first; i < end; i++)
        if (isfinite(column->values[i]))
            squares += pow(column->values[i] - sum / count, 2);
    return (struct run_mean){sum / count, count > 1 ? sqrt(squares / (count - 1)) : NAN,
                             (size_t)count};
}

double run_series_at(const struct run_series *series, const char *name, uint64_t step, uint64_t *at)
{
    const struct run_column *column = run_series_find(series, name);
    for (size_t i = column ? series->count : 0; i-- > 0;)
        if (series->steps[i] <= step && !isnan(column->values[i])) {
            if (at)
                *at = series->steps[i];
            return column->values[i];
        }
    return NAN;
}

#define STATUS_FILE_BYTES ((size_t)64 << 10)

const char *const run_state_names[RUN_STATE_COUNT] = {"stopped", "running", "finished"};

static bool has_file(const char *path, const char *name)
{
    char *full = mem_printf("%s/%s", path, name);
    bool found = file_exists(full) || file_is_directory(full);
    mem_free(full);
    return found;
}

enum run_kind run_kind_of(const char *path)
{
    if (has_file(path, RUN_CONFIG) && has_file(path, "lock"))
        return RUN_RL;
    return has_file(path, "run.json") && has_file(path, RUN_METRICS) ? RUN_SFT : RUN_NONE;
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
    *view = (struct run_view){.path = file_plain(path), .kind = kind};
    view->name = file_basename(view->path);
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

/* NULL if missing or not JSON: a viewer ignores both. */
static json_t *read_object(const char *directory, const char *name)
{
    char *path = mem_printf("%s/%s", directory, name);
    json_t *object;
    struct err ignored;
    (void)!json_file_read(path, STATUS_FILE_BYTES, &object, &ignored);
    mem_free(path);
    return object;
}

static uint64_t count_of_key(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* False: not finished. */
static bool read_rl(struct run_view *view)
{
    json_t *status = read_object(view->path, RUN_STATUS);
    uint64_t step = count_of_key(status, "step");
    snprintf(view->phase, sizeof view->phase, "%s", json_text_at(status, "phase"));
    view->step = step > view->step ? step : view->step;
    view->steps = count_of_key(status, "steps");
    view->done = count_of_key(status, "done");
    view->all = count_of_key(status, "all");
    json_decref(status);
    return strcmp(view->phase, RUN_FINISHED) == 0;
}

static bool read_sft(struct run_view *view)
{
    json_t *run = read_object(view->path, "run.json");
    snprintf(view->phase, sizeof view->phase, "sft");
    view->steps = count_of_key(run, "steps");
    json_decref(run);
    return has_file(view->path, "model") || has_file(view->path, "adapter");
}

static int64_t last_change_ms(const struct run_view *view)
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
    view->changed_ms = last_change_ms(view);
    mem_free(lock);
    return 0;
}

static json_t *sft_settings(const struct run_view *view)
{
    json_t *run = read_object(view->path, "run.json"), *changed = json_object(), *value;
    const char *name;
    json_object_foreach(run, name, value)
    {
        if (json_is_null(value) || json_is_object(value) || json_is_array(value))
            continue;
        char *text = json_is_string(value)
                         ? mem_strdup(json_string_value(value))
                         : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        json_put(changed, name, json_text(text));
        mem_free(text);
    }
    json_decref(run);
    return changed;
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
        *out = run_settings_changed(&settings);
    settings_deinit(&settings);
    return result;
}

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

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* `lm train` writes no list: a checkpoint directory is complete when it has its state. */
static json_t *sft_checkpoint(const struct run_view *view, const char *name)
{
    char *where = mem_printf("checkpoints/%s", name);
    char *directory = mem_printf("%s/%s", view->path, where);
    const char *digits = strrchr(name, '-');
    char *end = NULL;
    json_t *checkpoint = NULL;
    unsigned long long step = digits ? strtoull(digits + 1, &end, 10) : 0;
    if (digits && end > digits + 1 && *end == '\0' && has_file(directory, "state.json")) {
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
    int count = scandir(path, &entries, NULL, compare_names);
    int result = count < 0 && errno != ENOENT ? err_sys(err, errno, "cannot read %s", path) : 0;
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
