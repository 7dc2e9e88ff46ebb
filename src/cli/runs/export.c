/* runs export: a checkpoint of a run as a directory with a model or an adapter. */
#include "cli/runs/runs.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "lm/train/checkpoint.h"
#include "lm/weights/sidecar_files.h"
#include "policy/tinker_archive.h"
#include "rl/run/checkpoints.h"
#include "rl/train/train_settings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20)

struct export
{
    const char *out, *checkpoint, *by, *tokenizer;
    bool lowest;
};

/* Only for resuming a run, not part of a model. */
static const char *const left_out[] = {CHECKPOINT_STATE, CHECKPOINT_OPTIMIZER};

static int copy_bytes(int from, int to, const char *source, const char *target, struct err *err)
{
    ssize_t got = 1;
    while (got > 0 && !cli_cancelled)
        got = sendfile(to, from, NULL, COPY_BYTES);
    if (cli_cancelled)
        return err_set(err, ERR_CANCELLED, "%s: interrupted; nothing was made", target);
    return got < 0 ? err_sys(err, errno, "cannot copy %s to %s", source, target) : 0;
}

static int copy_file(const char *from, const char *to, const char *name, struct err *err)
{
    char *source = mem_printf("%s/%s", from, name), *target = mem_printf("%s/%s", to, name);
    int in = open(source, O_RDONLY | O_CLOEXEC), out = -1, result = 0;
    if (in < 0)
        result = err_sys(err, errno, "cannot read %s", source);
    else if ((out = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0)
        result = err_sys(err, errno, "cannot write %s", target);
    else
        result = copy_bytes(in, out, source, target, err);
    if (out >= 0 && fsync(out) < 0 && result == 0)
        result = err_sys(err, errno, "cannot write %s", target);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    mem_free(source);
    mem_free(target);
    return result;
}

static bool is_left_out(const char *name)
{
    for (size_t i = 0; i < COUNT(left_out); i++)
        if (strcmp(left_out[i], name) == 0)
            return true;
    return name[0] == '.';
}

/* The regular files of a directory. */
static int copy_files(const char *from, const char *to, size_t *count, struct err *err)
{
    DIR *entries = opendir(from);
    int result = entries ? 0 : err_sys(err, errno, "cannot read %s", from);
    *count = 0;
    for (struct dirent *entry; result == 0 && entries && (entry = readdir(entries));) {
        struct stat status;
        bool wanted = !is_left_out(entry->d_name) &&
                      fstatat(dirfd(entries), entry->d_name, &status, 0) == 0 &&
                      S_ISREG(status.st_mode);
        if (wanted)
            result = copy_file(from, to, entry->d_name, err);
        *count += wanted;
    }
    if (entries)
        closedir(entries);
    return result;
}

static const json_t *choose_checkpoint(const struct run_view *view, const struct export *export,
                                       const json_t *all, struct err *err)
{
    bool lowest = export->lowest;
    const char *measure = export->by;
    if (json_array_size(all) == 0 || strcmp(export->checkpoint, "best") != 0)
        return runs_checkpoint(view, all, export->checkpoint, err);
    measure = measure ? measure : runs_best_measure(view, &lowest);
    const json_t *best = runs_best(view, all, measure, lowest);
    if (!best)
        err_set(err, ERR_INPUT,
                "%s: no checkpoint has %s, so the best one is unknown; name another measure (--by) "
                "or a checkpoint (--checkpoint last)",
                view->path, measure);
    return best;
}

/* A run's final model has its tokenizer. */
static int add_tokenizer(const struct run_view *view, const struct export *export, const char *to,
                         struct err *err)
{
    static const char *const places[] = {"model", "adapter", "tokenizer"};
    int result = 0;
    if (export->tokenizer) {
        char *file = mem_printf("%s/tokenizer.json", export->tokenizer);
        if (!file_exists(file))
            result = err_set(err, ERR_MISSING, "no tokenizer: %s", file);
        mem_free(file);
        return result < 0 ? result : lm_sidecar_files_copy(export->tokenizer, to, err);
    }
    for (size_t i = 0; i < COUNT(places) && result == 0; i++) {
        char *place = mem_printf("%s/%s", view->path, places[i]);
        result = lm_sidecar_files_copy(place, to, err);
        mem_free(place);
    }
    return result;
}

static int copy_checkpoint(const struct run_view *view, const char *where, const char *to,
                           struct err *err)
{
    char *from = file_from(view->path, where);
    size_t count;
    int result = copy_files(from, to, &count, err);
    if (result == 0 && count == 0)
        result = err_set(err, ERR_INPUT, "%s contains neither a model nor an adapter", from);
    mem_free(from);
    return result;
}

/* From the server that the run's settings name, or TINKER_BASE_URL. */
static int download_checkpoint(const struct run_view *view, const struct export *export,
                               const char *where, const char *to, struct err *err)
{
    char *file = mem_printf("%s/config.yaml", view->path);
    struct settings settings;
    bool read = cli_settings_of(&settings, file, NULL, 0);
    mem_free(file);
    if (!read)
        return err_set(err, ERR_INPUT, "%s: its settings do not fit", view->path);
    const struct train_settings *train = train_settings(&settings);
    const char *url = train->url[0] ? train->url : getenv("TINKER_BASE_URL");
    const struct tinker_archive_options options = {url, &settings, &cli_cancelled};
    int result = url && url[0]
                     ? tinker_archive_fetch(&options, where, to, err)
                     : err_set(err, ERR_INPUT,
                               "%s is on a Tinker server: set TINKER_BASE_URL to it", where);
    const char *tokenizer = train->tokenizer[0] ? train->tokenizer : train->model;
    if (result == 0 && !export->tokenizer && file_is_directory(tokenizer))
        result = lm_sidecar_files_copy(tokenizer, to, err);
    settings_deinit(&settings);
    return result;
}

static int fill_directory(const struct run_view *view, const struct export *export,
                          const char *where, const char *to, struct err *err)
{
    char *parts = mem_printf("%s.partial", to);
    file_remove_tree(parts);
    int result = file_make_directories(parts, 0755, err);
    if (result == 0)
        result = run_checkpoint_is_elsewhere(where)
                     ? download_checkpoint(view, export, where, parts, err)
                     : copy_checkpoint(view, where, parts, err);
    if (result == 0)
        result = add_tokenizer(view, export, parts, err);
    if (result == 0 && rename(parts, to) < 0)
        result = errno == ENOTEMPTY || errno == EEXIST
                     ? err_set(err, ERR_INPUT, "%s is not empty; name another directory", to)
                     : err_sys(err, errno, "cannot create %s", to);
    if (result < 0)
        file_remove_tree(parts);
    mem_free(parts);
    return result;
}

static int export_run(struct cli_call *call, struct run_view *view, void *arguments,
                      struct err *err)
{
    struct export *export = arguments;
    export->out = call->words.items[1];
    json_t *all = NULL;
    const json_t *chosen = NULL;
    int result = run_view_checkpoints(view, &all, err);
    if (result == 0 && !(chosen = choose_checkpoint(view, export, all, err)))
        result = err->code;
    if (result == 0) {
        result = fill_directory(view, export, json_text_at(chosen, "where"), export->out, err);
        if (result < 0)
            err_prefix(err, "%s", json_text_at(chosen, "name"));
    }
    if (result == 0)
        fprintf(stderr, "%s: checkpoint %s of %s, step %" JSON_INTEGER_FORMAT "\n", export->out,
                json_text_at(chosen, "name"), view->path,
                json_integer_value(json_object_get(chosen, "step")));
    json_decref(all);
    return result;
}

static int runs_export_run(struct cli_call *call, void *arguments, struct err *err)
{
    cli_catch_signals();
    return runs_do(call, RUN_SERIES_ALL, export_run, arguments, err);
}

int runs_export_main(struct cli_call *call)
{
    struct export export = {.checkpoint = "best"};
    const struct cli_option options[] = {
        OPTION_STRING('c', "checkpoint", &export.checkpoint, "NAME",
                      "the checkpoint: its name, best or last; best"),
        OPTION_STRING(0, "by", &export.by, "METRIC",
                      "the measure whose greatest value is the best; eval/correct_rate"),
        OPTION_FLAG(0, "lowest", &export.lowest, "the least of --by is the best"),
        OPTION_STRING(0, "tokenizer", &export.tokenizer, "DIR",
                      "a tokenizer to export with it; default: the run's own"),
        OPTION_END,
    };
    return cli_run(call, options, runs_export_run, &export);
}
