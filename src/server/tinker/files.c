#include "server/tinker/files.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "lm/train/checkpoint.h"
#include "server/tinker/runs.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_BYTES ((size_t)1 << 20)

/* --- paths --- */

char *tinker_saved_directory(const struct tinker_service *service, const struct tinker_saved *saved)
{
    return mem_printf("%s/%s/%s/%s", service->directory, saved->run, saved->kind, saved->name);
}

char *tinker_unnamed_directory(const struct tinker_service *service, const char *run,
                               uint64_t number)
{
    return mem_printf("%s/%s/unnamed/%" PRIu64, service->directory, run, number);
}

/* --- runs --- */

int tinker_run_write(const struct tinker_service *service, const struct tinker_run *run,
                     struct err *err)
{
    char *directory = mem_printf("%s/%s", service->directory, run->id);
    char *path = mem_printf("%s/run.json", directory);
    json_t *record = json_pack("{s:s, s:s, s:s, s:b, s:I, s:b, s:b, s:b, s:b, s:s}",
                               "training_run_id", run->id, "base_model", service->model,
                               "model_owner", "warpgym", "is_lora", 1, "lora_rank",
                               (json_int_t)run->lora.rank, "train_mlp", run->mlp, "train_attn",
                               run->attention, "train_unembed", 0, "corrupted", 0, "session_id",
                               run->session);
    json_put(record, "last_request_time", json_time(run->created_ms));
    if (run->metadata)
        json_object_set(record, "user_metadata", run->metadata);
    int result = file_make_directories(directory, 0755, err);
    if (result == 0)
        result = json_file_write(path, record, true, err);
    json_decref(record);
    mem_free(path);
    mem_free(directory);
    return result;
}

/* The latest checkpoint of a kind. */
static json_t *latest_of(const json_t *checkpoints, const char *type)
{
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)checkpoints, i, one)
    {
        if (strcmp(json_text_at(one, "checkpoint_type"), type) == 0)
            return json_incref((json_t *)one);
    }
    return json_null();
}

int tinker_run_read(const struct tinker_service *service, const char *run, json_t **out,
                    struct err *err)
{
    if (!tinker_is_plain(run))
        return err_set(err, ERR_INPUT, "'%.120s' is no run", run);
    char *path = mem_printf("%s/%s/run.json", service->directory, run);
    int result = json_file_read(path, RECORD_BYTES, out, err);
    if (result == ERR_MISSING)
        err_set(err, ERR_MISSING, "no run '%.120s'", run);
    mem_free(path);
    if (result < 0)
        return result;
    json_t *checkpoints = tinker_checkpoints_list(service, run);
    json_put(*out, "last_checkpoint", latest_of(checkpoints, "training"));
    json_put(*out, "last_sampler_checkpoint", latest_of(checkpoints, "sampler"));
    json_decref(checkpoints);
    return 0;
}

struct listing {
    const struct tinker_service *service;
    const char *run, *kind;
    bool sizes; /* wanted: each takes a look at the checkpoint's files */
    json_t *list;
};

static void list_run(void *context, const char *name)
{
    const struct listing *listing = context;
    json_t *run = NULL;
    if (tinker_run_read(listing->service, name, &run, NULL) == 0)
        json_array_append_new(listing->list, run);
}

/* Times are texts of one length: their order is that of the bytes. */
static const char *time_of(const json_t *value)
{
    const char *time = json_text_at(value, "time");
    return time[0] ? time : json_text_at(value, "last_request_time");
}

static int compare_times(const void *one, const void *two)
{
    return strcmp(time_of(*(json_t *const *)two), time_of(*(json_t *const *)one));
}

/* Takes the list. */
static json_t *sorted(json_t *list)
{
    const size_t count = json_array_size(list);
    json_t **items = mem_alloc((count + 1) * sizeof(void *)), *out = json_array();
    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(list, i);
    qsort(items, count, sizeof(void *), compare_times);
    for (size_t i = 0; i < count; i++)
        json_array_append(out, items[i]);
    mem_free(items);
    json_decref(list);
    return out;
}

json_t *tinker_runs_list(const struct tinker_service *service)
{
    struct listing listing = {.service = service, .list = json_array()};
    tinker_names_each(service->directory, false, list_run, &listing);
    return sorted(listing.list);
}

/* --- checkpoints --- */

static char *details_path(const struct tinker_service *service, const struct tinker_saved *saved)
{
    return mem_printf("%s/%s/%s/%s.json", service->directory, saved->run, saved->kind, saved->name);
}

static void put_expiry(json_t *details, const json_t *ttl)
{
    if (json_is_integer(ttl)) {
        const int64_t at_ms = clock_wall_ms() + json_integer_value(ttl) * 1000;
        json_put(details, "expires_ms", json_integer(at_ms));
        json_put(details, "expires_at", json_time(at_ms));
    } else {
        json_object_del(details, "expires_ms");
        json_object_del(details, "expires_at");
    }
}

static int check_ttl(const json_t *ttl, struct err *err)
{
    const bool fine = !ttl || json_is_null(ttl) ||
                      (json_is_integer(ttl) && json_integer_value(ttl) > 0 &&
                       json_integer_value(ttl) <= (json_int_t)10 * 366 * 86400);
    return fine
               ? 0
               : err_set(err, ERR_INPUT, "ttl_seconds must be a whole number of at most ten years");
}

int tinker_checkpoint_describe(const struct tinker_service *service,
                               const struct tinker_saved *saved, const json_t *request,
                               struct err *err)
{
    const json_t *ttl = json_object_get(request, "ttl_seconds");
    const json_t *metadata = json_object_get(request, "user_metadata");
    int result = check_ttl(ttl, err);
    if (result < 0)
        return result;
    char *path = details_path(service, saved), *parent = file_parent(path);
    json_t *details = json_object();
    json_put(details, "time", json_time(clock_wall_ms()));
    put_expiry(details, ttl);
    if (json_is_object(metadata))
        json_put(details, "user_metadata", json_deep_copy(metadata));
    result = file_make_directories(parent, 0755, err);
    if (result == 0)
        result = json_file_write(path, details, true, err);
    json_decref(details);
    mem_free(parent);
    mem_free(path);
    return result;
}

int tinker_checkpoint_exists(const struct tinker_service *service, const struct tinker_saved *saved,
                             struct err *err)
{
    char *directory = tinker_saved_directory(service, saved);
    const bool there = file_is_directory(directory);
    mem_free(directory);
    return there ? 0
                 : err_set(err, ERR_MISSING, "no checkpoint tinker://%s/%s/%s", saved->run,
                           saved->kind, saved->name);
}

int tinker_checkpoint_delete(const struct tinker_service *service, const struct tinker_saved *saved,
                             struct err *err)
{
    int result = tinker_checkpoint_exists(service, saved, err);
    char *directory = tinker_saved_directory(service, saved),
         *details = details_path(service, saved);
    if (result == 0) {
        checkpoint_remove(directory);
        (void)!remove(details);
    }
    mem_free(details);
    mem_free(directory);
    return result;
}

int tinker_checkpoint_expire(const struct tinker_service *service, const struct tinker_saved *saved,
                             const json_t *ttl, struct err *err)
{
    char *path = details_path(service, saved);
    json_t *details = NULL;
    int result = check_ttl(ttl, err);
    if (result == 0)
        result = tinker_checkpoint_exists(service, saved, err);
    if (result == 0)
        result = json_file_read(path, RECORD_BYTES, &details, err);
    if (result == 0) {
        put_expiry(details, ttl);
        result = json_file_write(path, details, true, err);
    }
    json_decref(details);
    mem_free(path);
    return result;
}

static const char *type_of(const char *kind)
{
    return strcmp(kind, tinker_training_kind) == 0  ? "training"
           : strcmp(kind, tinker_sampler_kind) == 0 ? "sampler"
                                                    : "external";
}

static void list_checkpoint(void *context, const char *name)
{
    const struct listing *listing = context;
    struct tinker_saved saved;
    json_t *details = NULL;
    snprintf(saved.run, sizeof saved.run, "%s", listing->run);
    snprintf(saved.kind, sizeof saved.kind, "%s", listing->kind);
    snprintf(saved.name, sizeof saved.name, "%s", name);
    char *directory = tinker_saved_directory(listing->service, &saved);
    char *path = details_path(listing->service, &saved);
    /* What is being written has no record under that name. */
    if (json_file_read(path, RECORD_BYTES, &details, NULL) == 0 && file_is_directory(directory)) {
        json_put(details, "checkpoint_id", json_sprintf("%s/%s", saved.kind, name));
        json_put(details, "checkpoint_type", json_text(type_of(saved.kind)));
        json_put(details, "tinker_path",
                 json_sprintf("tinker://%s/%s/%s", saved.run, saved.kind, name));
        if (listing->sizes)
            json_put(details, "size_bytes", json_integer((json_int_t)file_tree_bytes(directory)));
        json_put(details, "public", json_false());
        json_array_append(listing->list, details);
    }
    json_decref(details);
    mem_free(path);
    mem_free(directory);
}

static void list_checkpoints(void *context, const char *name)
{
    struct listing listing = *(const struct listing *)context;
    const char *const kinds[] = {tinker_training_kind, tinker_sampler_kind, tinker_external_kind};
    listing.run = name;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        char *path = mem_printf("%s/%s/%s", listing.service->directory, name, kinds[i]);
        listing.kind = kinds[i];
        tinker_names_each(path, false, list_checkpoint, &listing);
        mem_free(path);
    }
}

json_t *tinker_checkpoints_list(const struct tinker_service *service, const char *run)
{
    struct listing listing = {.service = service, .sizes = true, .list = json_array()};
    if (run)
        list_checkpoints(&listing, run);
    else
        tinker_names_each(service->directory, false, list_checkpoints, &listing);
    return sorted(listing.list);
}

void tinker_checkpoints_expire(const struct tinker_service *service)
{
    struct listing listing = {.service = service, .list = json_array()};
    const json_t *one;
    size_t i;
    tinker_names_each(service->directory, false, list_checkpoints, &listing);
    json_array_foreach(listing.list, i, one)
    {
        const json_t *expires = json_object_get(one, "expires_ms");
        struct tinker_saved saved;
        if (json_is_integer(expires) && json_integer_value(expires) <= clock_wall_ms() &&
            tinker_saved_parse(&saved, json_text_at(one, "tinker_path"), NULL) == 0)
            (void)!tinker_checkpoint_delete(service, &saved, NULL);
    }
    json_decref(listing.list);
}
