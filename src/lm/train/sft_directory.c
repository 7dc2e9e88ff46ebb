#include "lm/train/sft_directory.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/lockfile.h"
#include "base/mem.h"
#include "lm/train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKPOINTS "checkpoints"
#define STEP "step-"
#define LINE_BYTES ((size_t)64 << 10)
#define VALUE_BYTES 120

static void short_text(const json_t *value, char text[VALUE_BYTES])
{
    char *all = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
    snprintf(text, VALUE_BYTES, "%s", all ? all : "not given");
    free(all);
}

static int check_same(const char *name, const json_t *was, const json_t *is, struct err *err)
{
    char before[VALUE_BYTES], now[VALUE_BYTES];
    json_t *all = json_copy((json_t *)was);
    const char *key;
    json_t *value;
    int result = 0;
    json_object_update_missing(all, (json_t *)is);
    json_object_foreach(all, key, value)
    {
        const json_t *old = json_object_get(was, key), *new = json_object_get(is, key);
        if (result < 0 || json_equal(old, new))
            continue;
        short_text(old, before);
        short_text(new, now);
        result = err_set(err, ERR_INPUT,
                         "%s: the run began with %s %s, now it is %s: a run goes on as it began; "
                         "name another directory",
                         name, key, before, now);
    }
    json_decref(all);
    return result;
}

/* Compared are texts that were read, not numbers that were computed. */
static int settle_run(const char *name, const json_t *run, struct err *err)
{
    json_t *is = NULL, *was = NULL;
    if (!file_exists(name))
        return json_file_write(name, run, false, err);
    char *text = json_dumps(run, JSON_REAL_PRECISION(15));
    int result = json_parse(name, text, strlen(text), &is, err);
    if (result == 0)
        result = json_file_read(name, LIMIT_LM_STATE_BYTES, &was, err);
    if (result == 0)
        result = check_same(name, was, is, err);
    free(text);
    json_decref(is);
    json_decref(was);
    return result;
}

static int lock(struct sft_directory *directory, struct err *err)
{
    char *name = mem_printf("%s/lock", directory->path);
    int result = lockfile_take(name, &directory->lock, err);
    if (result == ERR_LIMIT)
        result = err_set(err, ERR_IO,
                         "%s: another process trains there; wait for it, or name another directory",
                         directory->path);
    mem_free(name);
    return result;
}

int sft_directory_open(struct sft_directory *directory, const char *path, const json_t *run,
                       struct err *err)
{
    *directory = (struct sft_directory){.path = mem_strdup(path), .lock = -1, .metrics = -1};
    char *checkpoints = mem_printf("%s/" CHECKPOINTS, path);
    char *name = mem_printf("%s/run.json", path);
    char *metrics = mem_printf("%s/metrics.jsonl", path);
    int result = file_make_directories(checkpoints, 0755, err);
    if (result == 0)
        result = lock(directory, err);
    if (result == 0)
        result = settle_run(name, run, err);
    if (result == 0) {
        directory->metrics = open(metrics, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (directory->metrics < 0)
            result = err_sys(err, errno, "%s: cannot open", metrics);
    }
    mem_free(checkpoints);
    mem_free(name);
    mem_free(metrics);
    if (result < 0)
        sft_directory_close(directory);
    return result;
}

void sft_directory_close(struct sft_directory *directory)
{
    if (directory->metrics >= 0)
        close(directory->metrics);
    if (directory->lock >= 0)
        close(directory->lock);
    mem_free(directory->path);
    *directory = (struct sft_directory){.lock = -1, .metrics = -1};
}

char *sft_directory_checkpoint(const struct sft_directory *directory, uint64_t step)
{
    return mem_printf("%s/" CHECKPOINTS "/" STEP "%08" PRIu64, directory->path, step);
}

static bool step_of(const char *name, uint64_t *step)
{
    char *end = NULL;
    if (strncmp(name, STEP, strlen(STEP)) != 0)
        return false;
    const char *digits = name + strlen(STEP);
    errno = 0;
    *step = strtoull(digits, &end, 10);
    return *digits >= '0' && *digits <= '9' && *end == '\0' && errno == 0;
}

static int descending(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left < right) - (left > right);
}

/* Steps of the whole ones, the newest first (mem_free); what dead writers left goes where it is
 * asked for. */
static size_t steps_there(const struct sft_directory *directory, bool clean, uint64_t **out)
{
    char *parent = mem_printf("%s/" CHECKPOINTS, directory->path);
    DIR *entries = opendir(parent);
    size_t count = 0;
    *out = NULL;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        uint64_t step;
        size_t length = strlen(entry->d_name), suffix = strlen(CHECKPOINT_SAVING);
        char *path = mem_printf("%s/%s/" CHECKPOINT_STATE, parent, entry->d_name);
        if (step_of(entry->d_name, &step) && file_exists(path)) {
            *out = mem_resize(*out, (count + 1) * sizeof **out);
            (*out)[count++] = step;
        } else if (clean && strncmp(entry->d_name, STEP, strlen(STEP)) == 0 && length > suffix &&
                   strcmp(entry->d_name + length - suffix, CHECKPOINT_SAVING) == 0) {
            path[strlen(path) - strlen("/" CHECKPOINT_STATE)] = '\0';
            file_remove_tree(path);
        }
        mem_free(path);
    }
    if (entries)
        closedir(entries);
    if (count > 0)
        qsort(*out, count, sizeof **out, descending);
    mem_free(parent);
    return count;
}

char *sft_directory_newest(const struct sft_directory *directory)
{
    uint64_t *steps = NULL;
    char *path = NULL;
    if (steps_there(directory, false, &steps) > 0)
        path = sft_directory_checkpoint(directory, steps[0]);
    mem_free(steps);
    return path;
}

void sft_directory_retain(const struct sft_directory *directory, uint64_t keep)
{
    uint64_t *steps = NULL;
    size_t count = steps_there(directory, true, &steps);
    for (size_t i = keep; i < count; i++) {
        char *path = sft_directory_checkpoint(directory, steps[i]);
        checkpoint_remove(path);
        mem_free(path);
    }
    mem_free(steps);
}

static bool is_kept(const char *line, size_t count, uint64_t step)
{
    json_t *object = NULL;
    int64_t at = -1;
    struct err err;
    bool kept = json_parse("", line, count, &object, &err) == 0 &&
                json_get_int(object, "step", &at, &err) == 0 && at >= 0 && (uint64_t)at <= step;
    json_decref(object);
    return kept;
}

int sft_directory_cut(struct sft_directory *directory, uint64_t step, struct err *err)
{
    char *name = mem_printf("%s/metrics.jsonl", directory->path);
    char *text = NULL;
    size_t count, kept = 0;
    int result = file_read(name, LIMIT_LM_METRICS_BYTES, &text, &count, err);
    while (result == 0 && kept < count) {
        const char *end = memchr(text + kept, '\n', count - kept);
        if (!end || !is_kept(text + kept, (size_t)(end - text) - kept, step))
            break;
        kept = (size_t)(end - text) + 1;
    }
    if (result == 0 && ftruncate(directory->metrics, (off_t)kept) < 0)
        result = err_sys(err, errno, "%s: cannot cut it to the checkpoint's step", name);
    mem_free(text);
    mem_free(name);
    return result;
}

int sft_directory_append(struct sft_directory *directory, const json_t *line, struct err *err)
{
    struct buf text;
    buf_init(&text, LINE_BYTES);
    int result = json_line_write(line, &text, err);
    if (result == 0)
        result = file_write_fd(directory->metrics, "metrics.jsonl", text.data, text.len, err);
    buf_deinit(&text);
    return result;
}

int sft_directory_sync(struct sft_directory *directory, struct err *err)
{
    if (fdatasync(directory->metrics) < 0)
        return err_sys(err, errno, "%s/metrics.jsonl: cannot write it to the disk",
                       directory->path);
    return 0;
}
