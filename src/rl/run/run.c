#include "rl/run/run.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/lockfile.h"
#include "base/mem.h"
#include "gym/episode/journal.h"
#include "rl/run/checkpoints.h"
#include "rl/run/run_settings.h"
#include "rl/run/tensorboard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STATUS_EVERY_NS 500000000
#define STATUS_BYTES 4096

/* The writer of status.json; any thread. */
struct run_status {
    char *path;
    pthread_mutex_t lock;
    const char *phase; /* the last one written */
    uint64_t steps;
    int64_t written_ns;
};

struct run {
    char *directory;
    const struct settings *settings; /* until run_resume */
    int lock;
    bool begun; /* the files below are open */
    struct journal metrics, traces, checkpoints, log;
    struct tensorboard tensorboard;
    struct run_status status;
};

static void init_status(struct run_status *status, const char *directory)
{
    *status = (struct run_status){.path = mem_printf("%s/" RUN_STATUS, directory), .phase = ""};
    pthread_mutex_init(&status->lock, NULL);
}

static void deinit_status(struct run_status *status)
{
    pthread_mutex_destroy(&status->lock);
    mem_free(status->path);
}

static int write_status(const struct run_status *status, uint64_t step, size_t done, size_t all,
                        const char *why, struct err *err)
{
    struct buf text;
    json_t *object = json_object();
    json_put(object, "phase", json_text(status->phase));
    json_put(object, "step", json_integer((json_int_t)step));
    json_put(object, "steps", json_integer((json_int_t)status->steps));
    json_put(object, "done", json_integer((json_int_t)done));
    json_put(object, "all", json_integer((json_int_t)all));
    json_put(object, "why", json_text(why));
    json_put(object, "time", json_time(clock_wall_ms()));
    buf_init(&text, STATUS_BYTES);
    int result = json_line_write(object, &text, err);
    if (result == 0)
        result = file_write_atomic(status->path, text.data, text.len, 0644, err);
    buf_deinit(&text);
    json_decref(object);
    return result;
}

static int check_resumed(const struct run *run, struct err *err)
{
    return run->begun ? 0
                      : err_set(err, ERR_INTERNAL, "%s: run_resume comes first", run->directory);
}

/* A new run takes an empty directory: only hidden files and the leftovers of a run that died at its
 * start may be in it. */
static int check_directory(const char *directory, struct err *err)
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
                             "%s is not a run and not empty (it has '%.60s'); name another "
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
        err_prefix(err, "%s: a run is in progress there", run->directory);
    mem_free(path);
    return result;
}

int run_open(struct run **out, const char *directory, const struct settings *settings,
             struct err *err)
{
    struct run *run = mem_alloc(sizeof *run);
    *run = (struct run){.directory = file_plain(directory), .settings = settings, .lock = -1};
    char *checkpoints = mem_printf("%s/checkpoints", run->directory);
    init_status(&run->status, run->directory);
    int result = check_directory(run->directory, err);
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
    tensorboard_close(&run->tensorboard);
}

void run_close(struct run *run)
{
    if (!run)
        return;
    close_files(run);
    if (run->lock >= 0)
        close(run->lock);
    deinit_status(&run->status);
    mem_free(run->directory);
    mem_free(run);
}

const char *run_directory(const struct run *run)
{
    return run->directory;
}

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

static int read_last_step(void *context, const json_t *line, struct err *err)
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
        result = err_sys(err, errno, "cannot truncate %s", path);
    mem_free(path);
    return result;
}

/* The settings that differ from the defaults, written when the run is created. */
static int write_configuration_text(struct run *run, struct err *err)
{
    json_t *changed = run_settings_changed(run->settings), *value;
    const char *path;
    struct buf text;
    buf_init(&text, LIMIT_YAML_BYTES);
    json_object_foreach(changed, path, value)
        buf_printf(&text, "    %s: %s\n", path, json_string_value(value));
    int result = event_file_text(&run->tensorboard.main, 0, RUN_CONFIGURATION, text.data, err);
    buf_deinit(&text);
    json_decref(changed);
    return result;
}

/* Event files continue after the last step that has metrics. */
static int open_files(struct run *run, struct err *err)
{
    int64_t last = -1;
    int result = open_file(run, &run->metrics, RUN_METRICS, true, read_last_step, &last, err);
    if (result == 0)
        result = open_file(run, &run->traces, RUN_TRACES, false, NULL, NULL, err);
    if (result == 0)
        result = open_file(run, &run->checkpoints, RUN_CHECKPOINTS, true, NULL, NULL, err);
    if (result == 0)
        result = open_file(run, &run->log, "train.log", false, NULL, NULL, err);
    if (result == 0)
        result = tensorboard_open(&run->tensorboard, run->directory, (uint64_t)(last + 1), err);
    if (result == 0)
        result = tensorboard_hparams(&run->tensorboard.main, run->directory, run->settings, err);
    if (result == 0 && last < 0)
        result = write_configuration_text(run, err);
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

static void read_checkpoint(const json_t *line, struct run_checkpoint *checkpoint)
{
    snprintf(checkpoint->name, sizeof checkpoint->name, "%s", json_text_at(line, "name"));
    snprintf(checkpoint->where, sizeof checkpoint->where, "%s", json_text_at(line, "where"));
    checkpoint->step = (uint64_t)json_integer_value(json_object_get(line, "step"));
    checkpoint->state = json_incref(json_object_get(line, "state"));
}

static int log_start(struct run *run, const json_t *line, struct err *err)
{
    json_t *facts = json_pack("{s:i}", "pid", (int)getpid());
    if (line) {
        json_put(facts, "checkpoint", json_text(json_text_at(line, "name")));
        json_put(facts, "step", json_incref(json_object_get(line, "step")));
    }
    return run_log(run, line ? "resumed" : "began", facts, err);
}

int run_resume(struct run *run, struct run_checkpoint *checkpoint, bool *found, struct err *err)
{
    json_t *line = NULL;
    *checkpoint = (struct run_checkpoint){0};
    if (run->begun)
        return err_set(err, ERR_INTERNAL, "%s: already resumed", run->directory);
    int result = cut_all(run, &line, err);
    if (result == 0)
        result = open_files(run, err);
    run->begun = result == 0;
    run->settings = NULL;
    if (result == 0)
        result = log_start(run, line, err);
    if (result == 0) {
        *found = line != NULL;
        read_checkpoint(line, checkpoint);
        run_status(run, "begin", checkpoint->step, 0, 0, 0);
    }
    json_decref(line);
    return result;
}

static int check_metrics(const json_t *metrics, struct err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)metrics, name, value)
    {
        if (!json_is_number(value) && !json_is_null(value))
            return err_set(err, ERR_INTERNAL, "metric %s is not a number", name);
    }
    return 0;
}

int run_metrics(struct run *run, uint64_t step, const json_t *metrics, struct err *err)
{
    int result = check_resumed(run, err);
    if (result == 0)
        result = check_metrics(metrics, err);
    if (result < 0)
        return result;
    json_t *line = json_object();
    json_put(line, "step", json_integer((json_int_t)step));
    json_object_update_missing(line, (json_t *)metrics);
    result = journal_append(&run->metrics, line, err);
    return result < 0 ? result : tensorboard_metrics(&run->tensorboard, step, metrics, err);
}

/* The keys that readers rely on; docs/schemas/trace.schema.json has all. */
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
    int result = check_resumed(run, err);
    for (size_t i = 0; i < COUNT(trace_fields) && result == 0; i++) {
        const json_t *value = json_object_get(trace, trace_fields[i].name);
        json_type type = trace_fields[i].type;
        if (!value || (type != JSON_NULL && json_typeof(value) != type))
            result = err_set(err, ERR_INTERNAL, "a trace without a valid '%s'",
                             trace_fields[i].name);
    }
    return result < 0 ? result : journal_append(&run->traces, json_incref((json_t *)trace), err);
}

int run_histogram(struct run *run, uint64_t step, const char *tag, const double *values,
                  size_t count, struct err *err)
{
    int result = check_resumed(run, err);
    return result < 0 ? result
                      : event_file_histogram(&run->tensorboard.main, step, tag, values, count, err);
}

int run_text(struct run *run, uint64_t step, const char *tag, const char *text, struct err *err)
{
    int result = check_resumed(run, err);
    return result < 0 ? result : event_file_text(&run->tensorboard.main, step, tag, text, err);
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
    int result = check_resumed(run, err);
    if (result == 0 && (strlen(name) >= RUN_NAME_BYTES || strlen(where) >= RUN_WHERE_BYTES))
        result = err_set(err, ERR_LIMIT, "a checkpoint's name or path is too long: %.60s, %.200s",
                         name, where);
    if (result == 0)
        result = run_lengths_measure(run->directory, &lengths, err);
    if (result < 0)
        return result;
    return journal_append(&run->checkpoints, checkpoint_line(name, step, where, state, lengths),
                          err);
}

int run_checkpoint_removed(struct run *run, const json_t *line, struct err *err)
{
    int result = check_resumed(run, err);
    if (result < 0 || !run_checkpoint_is_elsewhere(json_text_at(line, "where")))
        return result;
    json_t *copy = json_copy((json_t *)line);
    json_put(copy, "state", json_object());
    json_put(copy, "time", json_time(clock_wall_ms()));
    json_put(copy, "removed", json_true());
    return journal_append(&run->checkpoints, copy, err);
}

int run_log(struct run *run, const char *event, json_t *facts, struct err *err)
{
    json_t *line = json_object();
    json_put(line, "time", json_time(clock_wall_ms()));
    json_put(line, "event", json_text(event));
    json_object_update_missing(line, facts);
    json_decref(facts);
    int result = check_resumed(run, err);
    if (result == 0)
        return journal_append(&run->log, line, err);
    json_decref(line);
    return result;
}

void run_status(struct run *run, const char *phase, uint64_t step, uint64_t steps, size_t done,
                size_t all)
{
    struct run_status *status = &run->status;
    struct err ignored;
    pthread_mutex_lock(&status->lock);
    int64_t now_ns = clock_now_ns();
    if (strcmp(phase, status->phase) != 0 || now_ns - status->written_ns >= STATUS_EVERY_NS) {
        status->phase = phase;
        status->steps = steps;
        status->written_ns = now_ns;
        (void)!write_status(status, step, done, all, "", &ignored);
    }
    pthread_mutex_unlock(&status->lock);
}

int run_finish(struct run *run, uint64_t step, const char *why, struct err *err)
{
    json_t *facts = json_pack("{s:I, s:o}", "step", (json_int_t)step, "why", json_text(why));
    int result = run_log(run, "finished", facts, err);
    if (result < 0)
        return result;
    struct run_status *status = &run->status;
    pthread_mutex_lock(&status->lock);
    status->phase = RUN_FINISHED;
    status->steps = status->steps ? status->steps : step;
    result = write_status(status, step, 0, 0, why, err);
    pthread_mutex_unlock(&status->lock);
    return result;
}
