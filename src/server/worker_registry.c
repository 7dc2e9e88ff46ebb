#include "server/worker_registry.h"

#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MODELS 1024 /* of all workers, with repetitions */

static const char *const needs_names[] = {"cpu", "gpu", "any"};
#define NEEDS COUNT(needs_names)

struct snapshot {
    json_t *workers;
    size_t claiming, claiming_gpu;
    bool claimed[NEEDS];
    char models[NEEDS][HASH_HEX_BYTES];
};

struct worker_registry {
    pthread_mutex_t lock;
    struct snapshot now; /* the lock */
};

struct worker_registry *worker_registry_new(void)
{
    struct worker_registry *registry = mem_alloc(sizeof *registry);
    pthread_mutex_init(&registry->lock, NULL);
    registry->now.workers = json_array();
    return registry;
}

void worker_registry_free(struct worker_registry *registry)
{
    if (!registry)
        return;
    json_decref(registry->now.workers);
    pthread_mutex_destroy(&registry->lock);
    mem_free(registry);
}

static bool list_contains(const json_t *list, const char *text)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0)
            return true;
    }
    return false;
}

static bool has_gpu(const json_t *worker)
{
    size_t i;
    json_t *device;
    json_array_foreach(json_object_get(worker, "devices"), i, device)
    {
        if (strcmp(json_text_at(device, "kind"), "cuda") == 0 &&
            strcmp(json_text_at(device, "state"), "quarantined") != 0)
            return true;
    }
    return false;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Duplicates count once: a second card of the same kind changes no result. */
static void hash_models(const char **models, size_t count, char hex[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    qsort(models, count, sizeof *models, by_text);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(models[i], models[i - 1]) != 0)
            hash_update_string(hash, models[i]);
    hash_finish(hash, hex);
}

static void snapshot_read_models(struct snapshot *snapshot, size_t needs)
{
    const char *models[MODELS];
    size_t count = 0, i, j;
    json_t *worker, *device;
    json_array_foreach(snapshot->workers, i, worker)
    {
        if (json_is_true(json_object_get(worker, "draining")) ||
            !list_contains(json_object_get(worker, "claims"), needs_names[needs]))
            continue;
        snapshot->claimed[needs] = true;
        bool gpu = has_gpu(worker) && needs != 0;
        json_array_foreach(json_object_get(worker, "devices"), j, device)
        {
            if (count < MODELS && gpu == (strcmp(json_text_at(device, "kind"), "cuda") == 0))
                models[count++] = json_text_at(device, "name");
        }
        if (count < MODELS)
            models[count++] = json_text_at(worker, "settings_hash");
    }
    hash_models(models, count, snapshot->models[needs]);
}

static void snapshot_count_workers(struct snapshot *snapshot)
{
    size_t i;
    json_t *worker;
    json_array_foreach(snapshot->workers, i, worker)
    {
        if (json_is_true(json_object_get(worker, "draining")))
            continue;
        snapshot->claiming++;
        if (has_gpu(worker) && list_contains(json_object_get(worker, "claims"), "gpu"))
            snapshot->claiming_gpu++;
    }
    for (size_t needs = 0; needs < NEEDS; needs++)
        snapshot_read_models(snapshot, needs);
}

int worker_registry_refresh(struct worker_registry *registry, struct queue *queue, struct err *err)
{
    struct queue_registration *registrations = NULL;
    size_t count = 0;
    struct err bad;
    int result = queue_registrations(queue, &registrations, &count, err);
    if (result < 0)
        return result;
    struct snapshot next = {.workers = json_array()};
    for (size_t i = 0; i < count; i++) {
        json_t *worker = NULL;
        if (json_parse(registrations[i].name, registrations[i].bytes, registrations[i].count,
                       &worker, &bad) == 0 &&
            json_is_object(worker)) {
            if (!json_is_string(json_object_get(worker, "name")))
                json_put(worker, "name", json_text(registrations[i].name));
            json_array_append_new(next.workers, worker);
        } else {
            json_decref(worker);
            log_event(LOG_LEVEL_DEBUG, "server", "ignored an invalid worker registration", "name",
                      registrations[i].name, NULL);
        }
    }
    queue_registrations_free(registrations, count);
    snapshot_count_workers(&next);
    pthread_mutex_lock(&registry->lock);
    json_t *old = registry->now.workers;
    registry->now = next;
    pthread_mutex_unlock(&registry->lock);
    json_decref(old);
    return 0;
}

json_t *worker_registry_json(struct worker_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    json_t *copy = json_deep_copy(registry->now.workers);
    pthread_mutex_unlock(&registry->lock);
    return copy;
}

size_t worker_registry_count(struct worker_registry *registry, bool gpu)
{
    pthread_mutex_lock(&registry->lock);
    size_t count = gpu ? registry->now.claiming_gpu : registry->now.claiming;
    pthread_mutex_unlock(&registry->lock);
    return count;
}

bool worker_registry_models_hash(struct worker_registry *registry, const char *needs,
                                 char hex[HASH_HEX_BYTES])
{
    bool claimed = false;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < NEEDS; i++)
        if (strcmp(needs, needs_names[i]) == 0) {
            claimed = registry->now.claimed[i];
            memcpy(hex, registry->now.models[i], HASH_HEX_BYTES);
        }
    pthread_mutex_unlock(&registry->lock);
    return claimed;
}
