#include "rl/run/run.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lockfile.h"
#include "base/mem.h"
#include "gym/episode/journal.h"
#include "rl/run/board.h"
#include "rl/run/checkpoints.h"
#include "rl/run/hparams.h"
#include "rl/run/lengths.h"
#include "rl/run/settings.h"
#include "rl/run/status.h"
#include "rl/run/tags.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run {
    char *directory;
    const struct settings *settings; /* until run_resume */
    int lock;
    bool begun; /* the files below are open */
    struct journal metrics, traces, checkpoints, log;
    struct run_board board;
    struct run_status status;
};

static int begun(const struct run *run, struct err *err)
{
    return run->begun ? 0
                      : err_set(err, ERR_INTERNAL, "%s: run_resume comes first", run->directory);
}

/* ---------------------------------------------------------------------------------- open, close */

/* Files of a run are not strewn among others: but for hidden ones, and what a run has left that
 * died at its first breath. */
static int check_place(const char *directory, struct err *err)
{
    static const char *const first[] = {".", "lock", "checkpoints", RUN_CONFIG};
    char *config = mem_printf("%s/" RUN_CONFIG, directory);
    DIR *stream = file_exists(config) ? NULL : opendir(directory);
    int result = 0;
    for (struct dirent *entry; stream && result == 0 && (entry = readdir(stream));) {
        bool known = false;
        for (size_t i = 0; i < COUNT(first) && !known; i++)
            known = strncmp(entry->d_name, first[i], strlen(first[i])) == 0;
        if (!known)
            result = err_set(err, ERR_INPUT,
                             "%s: holds something already ('%.60s'), and no run; name another "
                             "directory",
                             directory, entry->d_name);
    }
    if (stream)
        closedir(stream);
    mem_free(config);
    return result;
}

static int take_lock(struct run *run, struct err *err)
{
    char *path = mem_printf("%s/lock", run->directory);
    int result = lockfile_take(path, &run->lock, err);
    if (result == ERR_LIMIT)
        err_prefix(err, "%s: a run is under way there", run->directory);
    mem_free(path);
    return result;
}

int run_open(struct run **out, const char *directory, const struct settings *settings,
             struct err *err)
{
    struct run *run = mem_alloc(sizeof *run);
    *run = (struct run){.directory = mem_strdup(directory), .settings = settings, .lock = -1};
    for (size_t length = strlen(directory); length > 1 && run->directory[length - 1] == '/';)
        run->directory[--length] = '\0';
    char *checkpoints = mem_printf("%s/checkpoints", run->directory);
    run_status_init(&run->status, run->directory);
    int result = check_place(run->directory, err);
    if (result == 0)
        result = file_make_directories(checkpoints, 0755, err);
    if (result == 0)
        result = take_lock(run, err);
    if (result == 0)
        result = run_settings_settle(run->directory, settings, err);
    mem_free(checkpoints);
    if (result < 0)
        run_close(run);
    else
        *out = run;
    return result;
}

static void close_files(struct run *run)
{
    struct journal *const all[] = {&run->metrics, &run->traces, &run->checkpoints, &run->log, NULL};
    for (size_t i = 0; all[i]; i++)
        if (all[i]->path)
            journal_close(all[i]);
    run_board_close(&run->board);
}

void run_close(struct run *run)
{
    if (!run)
        return;
    close_files(run);
    if (run->lock >= 0)
        close(run->lock);
    run_status_deinit(&run->status);
    mem_free(run->directory);
    mem_free(run);
}

const char *run_directory(const struct run *run)
{
    return run->directory;
}

/* --------------------------------------------------------------------------------------- resume */

static int open_file(struct run *run, struct journal *journal, const char *name, bool durable,
                     journal_line read, void *context, struct err *err)
{
    struct journal opened;
    char *path = mem_printf("%s/%s", run->directory, name);
    int result = journal_open(&opened, path, durable, read, context, err);
    if (result == 0)
        *journal = opened;
    mem_free(path);
    return result;
}

static int take_last_step(void *context, const json_t *line, struct err *err)
{
    int64_t step;
    int result = json_get_int(line, "step", &step, err);
    if (result == 0)
        *(int64_t *)context = step;
    return result;
}

static int cut_checkpoints(struct run *run, off_t end, struct err *err)
{
    char *path = mem_printf("%s/" RUN_CHECKPOINTS, run->directory);
    int result = 0;
    if (truncate(path, end) < 0 && errno != ENOENT)
        result = err_sys(err, errno, "%s: cannot cut it", path);
    mem_free(path);
    return result;
}

/* The settings that are not the standard, once: what was told stays when the run goes on. */
static int tell_configuration(struct run *run, struct err *err)
{
    json_t *told = run_settings_told(run->settings), *value;
    const char *path;
    struct buf text;
    buf_init(&text, LIMIT_YAML_BYTES);
    json_object_foreach(told, path, value)
        buf_printf(&text, "    %s: %s\n", path, json_string_value(value));
    int result = events_text(&run->board.main, 0, RUN_CONFIGURATION, text.data, err);
    buf_deinit(&text);
    json_decref(told);
    return result;
}

/* Event files go on behind the last step that has metrics. */
static int open_files(struct run *run, struct err *err)
{
    int64_t last = -1;
    int result = open_file(run, &run->metrics, RUN_METRICS, true, take_last_step, &last, err);
    if (result == 0)
        result = open_file(run, &run->traces, RUN_TRACES, false, NULL, NULL, err);
    if (result == 0)
        result = open_file(run, &run->checkpoints, RUN_CHECKPOINTS, true, NULL, NULL, err);
    if (result == 0)
        result = open_file(run, &run->log, "train.log", false, NULL, NULL, err);
    if (result == 0)
        result = run_board_open(&run->board, run->directory, (uint64_t)(last + 1), err);
    if (result == 0)
        result = run_hparams(&run->board.main, run->directory, run->settings, err);
    if (result == 0 && last < 0)
        result = tell_configuration(run, err);
    if (result == 0)
        result = file_sync_directory(run->directory, err);
    return result;
}

static int cut_all(struct run *run, json_t **line, struct err *err)
{
    json_t *all;
    off_t end;
    int result = run_checkpoints_read(run->directory, &all, &end, err);
    if (result < 0)
        return result;
    *line = json_incref(json_array_get(all, json_array_size(all) - 1));
    json_decref(all);
    result = run_lengths_cut(run->directory, json_object_get(*line, "lengths"), err);
    return result < 0 ? result : cut_checkpoints(run, end, err);
}

static void tell_checkpoint(const json_t *line, struct run_checkpoint *checkpoint)
{
    snprintf(checkpoint->name, sizeof checkpoint->name, "%s", json_text_at(line, "name"));
    snprintf(checkpoint->where, sizeof checkpoint->where, "%s", json_text_at(line, "where"));
    checkpoint->step = (uint64_t)json_integer_value(json_object_get(line, "step"));
    checkpoint->state = json_incref(json_object_get(line, "state"));
}

static int log_beginning(struct run *run, const json_t *line, struct err *err)
{
    json_t *facts = json_object();
    json_put(facts, "pid", json_integer(getpid()));
    if (line) {
        json_put(facts, "checkpoint", json_text(json_text_at(line, "name")));
        json_put(facts, "step", json_incref(json_object_get(line, "step")));
    }
    int result = run_log(run, line ? "resumed" : "began", facts, err);
    json_decref(facts);
    return result;
}

int run_resume(struct run *run, struct run_checkpoint *checkpoint, bool *found, struct err *err)
{
    json_t *line = NULL;
    *checkpoint = (struct run_checkpoint){0};
    if (run->begun)
        return err_set(err, ERR_INTERNAL, "%s: is resumed already", run->directory);
    int result = cut_all(run, &line, err);
    if (result == 0)
        result = open_files(run, err);
    run->begun = result == 0;
    run->settings = NULL;
    if (result == 0)
        result = log_beginning(run, line, err);
    if (result == 0) {
        *found = line != NULL;
        tell_checkpoint(line, checkpoint);
        run_status(run, "begin", checkpoint->step, 0, 0, 0);
    }
    json_decref(line);
    return result;
}

/* ------------------------------------------------------------------------------------ appending */

static int check_metrics(const json_t *metrics, struct err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)metrics, name, value)
    {
        if (!json_is_number(value) && !json_is_null(value))
            return err_set(err, ERR_INTERNAL, "metric %s is no number", name);
    }
    return 0;
}

int run_metrics(struct run *run, uint64_t step, const json_t *metrics, struct err *err)
{
    int result = begun(run, err);
    if (result == 0)
        result = check_metrics(metrics, err);
    if (result < 0)
        return result;
    json_t *line = json_object();
    json_put(line, "step", json_integer((json_int_t)step));
    json_object_update_missing(line, (json_t *)metrics);
    result = journal_append(&run->metrics, line, err);
    json_decref(line);
    return result < 0 ? result : run_board_metrics(&run->board, step, metrics, err);
}

/* What every reader counts on; docs/schemas/trace.schema.json says more. */
static const struct field {
    const char *name;
    json_type type; /* JSON_NULL: any */
} trace_fields[] = {
    {"step", JSON_INTEGER},           {"problem", JSON_STRING}, {"rollout", JSON_INTEGER},
    {"turn", JSON_INTEGER},           {"prompt", JSON_ARRAY},   {"answer", JSON_STRING},
    {"policy_version", JSON_INTEGER}, {"verdict", JSON_NULL},   {"reward", JSON_NULL},
};

int run_trace(struct run *run, const json_t *trace, struct err *err)
{
    int result = begun(run, err);
    for (size_t i = 0; i < COUNT(trace_fields) && result == 0; i++) {
        const json_t *value = json_object_get(trace, trace_fields[i].name);
        json_type type = trace_fields[i].type;
        if (!value || (type != JSON_NULL && json_typeof(value) != type))
            result = err_set(err, ERR_INTERNAL, "a trace without a right '%s'",
                             trace_fields[i].name);
    }
    return result < 0 ? result : journal_append(&run->traces, trace, err);
}

int run_histogram(struct run *run, uint64_t step, const char *tag, const double *values,
                  size_t count, struct err *err)
{
    int result = begun(run, err);
    return result < 0 ? result : events_histogram(&run->board.main, step, tag, values, count, err);
}

int run_text(struct run *run, uint64_t step, const char *tag, const char *text, struct err *err)
{
    int result = begun(run, err);
    return result < 0 ? result : events_text(&run->board.main, step, tag, text, err);
}

static json_t *checkpoint_line(const char *name, uint64_t step, const char *where,
                               const json_t *state, json_t *lengths)
{
    json_t *line = json_object();
    json_put(line, "name", json_text(name));
    json_put(line, "step", json_integer((json_int_t)step));
    json_put(line, "where", json_text(where));
    json_put(line, "state", json_incref((json_t *)state));
    json_put(line, "lengths", lengths);
    json_put(line, "time", json_time(clock_wall_ms()));
    return line;
}

int run_checkpoint(struct run *run, const char *name, uint64_t step, const char *where,
                   const json_t *state, struct err *err)
{
    json_t *lengths = NULL;
    int result = begun(run, err);
    if (result == 0 && (strlen(name) >= RUN_NAME_BYTES || strlen(where) >= RUN_WHERE_BYTES))
        result = err_set(err, ERR_LIMIT, "a checkpoint's name or place is too long: %.60s, %.200s",
                         name, where);
    if (result == 0)
        result = run_lengths_measure(run->directory, &lengths, err);
    if (result < 0)
        return result;
    json_t *line = checkpoint_line(name, step, where, state, lengths);
    result = journal_append(&run->checkpoints, line, err);
    json_decref(line);
    return result;
}

int run_checkpoint_removed(struct run *run, const json_t *line, struct err *err)
{
    int result = begun(run, err);
    if (result < 0 || !run_checkpoint_is_elsewhere(json_text_at(line, "where")))
        return result;
    json_t *copy = json_copy((json_t *)line);
    json_put(copy, "state", json_object());
    json_put(copy, "time", json_time(clock_wall_ms()));
    json_put(copy, "removed", json_true());
    result = journal_append(&run->checkpoints, copy, err);
    json_decref(copy);
    return result;
}

/* ----------------------------------------------------------------------------- what is going on */

int run_log(struct run *run, const char *event, const json_t *facts, struct err *err)
{
    int result = begun(run, err);
    if (result < 0)
        return result;
    json_t *line = json_object();
    json_put(line, "time", json_time(clock_wall_ms()));
    json_put(line, "event", json_text(event));
    if (facts)
        json_object_update_missing(line, (json_t *)facts);
    result = journal_append(&run->log, line, err);
    json_decref(line);
    return result;
}

void run_status(struct run *run, const char *phase, uint64_t step, uint64_t steps, size_t done,
                size_t all)
{
    run_status_tell(&run->status, phase, step, steps, done, all);
}

int run_finish(struct run *run, uint64_t step, const char *why, struct err *err)
{
    json_t *facts = json_object();
    json_put(facts, "step", json_integer((json_int_t)step));
    json_put(facts, "why", json_text(why));
    int result = run_log(run, "finished", facts, err);
    json_decref(facts);
    return result < 0 ? result : run_status_finish(&run->status, step, why, err);
}
