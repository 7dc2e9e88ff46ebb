#include "server/web/run_set.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "rl/run/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCAN_NS 1000000000
#define BRIEF_BYTES ((size_t)64 << 10) /* of the metrics: the last steps */

struct run_set {
    char *folder; /* NULL: none */
    pthread_mutex_t lock;
    struct web_run **runs; /* by name */
    size_t count, found;
    int64_t scanned_ns;
};

static struct web_run *make_run(const char *name, const char *path)
{
    struct web_run *run = mem_alloc(sizeof *run);
    run->name = mem_strdup(name);
    run->path = mem_strdup(path);
    run->present = true;
    pthread_mutex_init(&run->lock, NULL);
    return run;
}

static void forget_run(struct web_run *run)
{
    if (!run->is_open)
        return;
    run_view_close(&run->whole);
    trace_index_deinit(&run->traces);
    run->is_open = false;
}

static void free_run(struct web_run *run)
{
    forget_run(run);
    if (run->brief.path)
        run_view_close(&run->brief);
    pthread_mutex_destroy(&run->lock);
    mem_free(run->path);
    mem_free(run->name);
    mem_free(run);
}

/* Where the name is, or belongs. */
static size_t position_of(const struct run_set *set, const char *name, bool *is_there)
{
    size_t low = 0, high = set->count;
    *is_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strverscmp(set->runs[middle]->name, name);
        if (order == 0) {
            *is_there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_run(struct run_set *set, const char *name, const char *path)
{
    bool is_there;
    size_t at = position_of(set, name, &is_there);
    if (is_there) {
        set->runs[at]->present = true;
        return;
    }
    if (set->count == LIMIT_WEB_RUNS)
        return;
    set->runs = mem_resize(set->runs, (set->count + 1) * sizeof(struct web_run *));
    memmove(set->runs + at + 1, set->runs + at, (set->count - at) * sizeof(struct web_run *));
    set->runs[at] = make_run(name, path);
    set->count++;
}

/* Two directories of one name are NAME and NAME-2. */
static void add_given(struct run_set *set, const char *path)
{
    char *plain = file_plain(path);
    char *name = mem_strdup(file_basename(plain));
    bool is_there;
    position_of(set, name, &is_there);
    for (int i = 2; is_there; i++) {
        mem_free(name);
        name = mem_printf("%s-%d", file_basename(plain), i);
        position_of(set, name, &is_there);
    }
    add_run(set, name, plain);
    mem_free(name);
    mem_free(plain);
}

struct run_set *run_set_new(const char *folder, const char *const *paths, size_t count)
{
    struct run_set *set = mem_alloc(sizeof *set);
    set->folder = folder && *folder ? mem_strdup(folder) : NULL;
    pthread_mutex_init(&set->lock, NULL);
    for (size_t i = 0; i < count; i++)
        add_given(set, paths[i]);
    set->found = set->count;
    return set;
}

void run_set_free(struct run_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        free_run(set->runs[i]);
    mem_free(set->runs);
    pthread_mutex_destroy(&set->lock);
    mem_free(set->folder);
    mem_free(set);
}

/* With the lock. */
static int scan_folder(struct run_set *set, struct err *err)
{
    struct dirent **entries = NULL;
    int64_t now_ns = clock_now_ns();
    if (!set->folder || (set->scanned_ns && now_ns - set->scanned_ns < SCAN_NS))
        return 0;
    int count = scandir(set->folder, &entries, NULL, NULL);
    if (count < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? err_set(err, ERR_MISSING,
                             "the folder of runs, %s, does not exist (server.runs)", set->folder)
                   : err_sys(err, errno, "cannot read the folder of runs, %s", set->folder);
    for (size_t i = 0; i < set->count; i++)
        set->runs[i]->present = false;
    set->found = 0;
    for (int i = 0; i < count; i++) {
        char *path = mem_printf("%s/%s", set->folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && run_kind_of(path) != RUN_NONE) {
            add_run(set, entries[i]->d_name, path);
            set->found++;
        }
        mem_free(path);
        free(entries[i]);
    }
    free(entries);
    set->scanned_ns = now_ns;
    return 0;
}

int run_set_list(struct run_set *set, struct web_run **runs, size_t *count, size_t *found,
                 struct err *err)
{
    *count = *found = 0;
    pthread_mutex_lock(&set->lock);
    int result = scan_folder(set, err);
    for (size_t i = 0; i < set->count && result == 0; i++)
        if (set->runs[i]->present)
            runs[(*count)++] = set->runs[i];
    *found = set->found;
    pthread_mutex_unlock(&set->lock);
    return result;
}

int run_set_find(struct run_set *set, const char *name, struct web_run **run, struct err *err)
{
    bool is_there;
    pthread_mutex_lock(&set->lock);
    size_t at = position_of(set, name, &is_there);
    int result = is_there ? 0 : scan_folder(set, err);
    if (!is_there && result == 0)
        at = position_of(set, name, &is_there);
    if (is_there)
        *run = set->runs[at];
    pthread_mutex_unlock(&set->lock);
    if (result < 0 || is_there)
        return result;
    return err_set(err, ERR_MISSING, "there is no run '%.100s'", name);
}

/* Keeps few runs in memory: the one that was used longest ago goes, unless it is in use. */
static void forget_oldest(struct run_set *set, const struct web_run *except)
{
    struct web_run *oldest = NULL;
    size_t open = 0;
    pthread_mutex_lock(&set->lock);
    for (size_t i = 0; i < set->count; i++) {
        struct web_run *run = set->runs[i];
        if (run->used_ns == 0 || run == except)
            continue;
        open++;
        oldest = !oldest || run->used_ns < oldest->used_ns ? run : oldest;
    }
    if (open >= LIMIT_WEB_OPEN_RUNS && pthread_mutex_trylock(&oldest->lock) == 0) {
        forget_run(oldest);
        oldest->used_ns = 0;
        pthread_mutex_unlock(&oldest->lock);
    }
    pthread_mutex_unlock(&set->lock);
}

static void mark_used(struct run_set *set, struct web_run *run)
{
    pthread_mutex_lock(&set->lock);
    run->used_ns = clock_now_ns();
    pthread_mutex_unlock(&set->lock);
}

int web_run_brief(struct web_run *run, struct err *err)
{
    pthread_mutex_lock(&run->lock);
    int result = run->brief.path ? 0 : run_view_open(&run->brief, run->path, BRIEF_BYTES, err);
    if (result == 0)
        result = run_view_read(&run->brief, err);
    if (result < 0)
        pthread_mutex_unlock(&run->lock);
    return result;
}

int web_run_open(struct run_set *set, struct web_run *run, struct err *err)
{
    int result = 0;
    mark_used(set, run);
    forget_oldest(set, run);
    pthread_mutex_lock(&run->lock);
    if (!run->is_open) {
        char *traces = mem_printf("%s/" RUN_TRACES, run->path);
        result = run_view_open(&run->whole, run->path, RUN_SERIES_ALL, err);
        if (result == 0)
            trace_index_init(&run->traces, traces);
        run->is_open = result == 0;
        mem_free(traces);
    }
    if (result == 0)
        result = run_view_read(&run->whole, err);
    if (result < 0)
        pthread_mutex_unlock(&run->lock);
    return result;
}

void web_run_close(struct web_run *run)
{
    pthread_mutex_unlock(&run->lock);
}
