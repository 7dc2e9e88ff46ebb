#include "server/fleet.h"

#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MODELS 1024 /* of all workers, each as often as it is there */

static const char *const needs_names[] = {"cpu", "gpu", "any"};
#define NEEDS COUNT(needs_names)

struct snapshot {
    json_t *workers;
    size_t taking, taking_gpu;
    bool claimed[NEEDS];
    char models[NEEDS][HASH_HEX_BYTES];
};

struct fleet {
    pthread_mutex_t lock;
    struct snapshot now; /* the lock */
};

struct fleet *fleet_new(void)
{
    struct fleet *fleet = mem_alloc(sizeof *fleet);
    pthread_mutex_init(&fleet->lock, NULL);
    fleet->now.workers = json_array();
    return fleet;
}

void fleet_free(struct fleet *fleet)
{
    if (!fleet)
        return;
    json_decref(fleet->now.workers);
    pthread_mutex_destroy(&fleet->lock);
    mem_free(fleet);
}

static bool holds(const json_t *list, const char *text)
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

/* Models that are there twice count once: a second card of the same kind changes no result. */
static void hash_models(const char **models, size_t count, char hex[HASH_HEX_BYTES])
{
    struct hash *hash = hash_new();
    qsort(models, count, sizeof *models, by_text);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(models[i], models[i - 1]) != 0)
            hash_update_string(hash, models[i]);
    hash_finish(hash, hex);
}

static void read_models(struct snapshot *snapshot, size_t needs)
{
    const char *models[MODELS];
    size_t count = 0, i, j;
    json_t *worker, *device;
    json_array_foreach(snapshot->workers, i, worker)
    {
        if (json_is_true(json_object_get(worker, "draining")) ||
            !holds(json_object_get(worker, "claims"), needs_names[needs]))
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

static void summarise(struct snapshot *snapshot)
{
    size_t i;
    json_t *worker;
    json_array_foreach(snapshot->workers, i, worker)
    {
        if (json_is_true(json_object_get(worker, "draining")))
            continue;
        snapshot->taking++;
        if (has_gpu(worker) && holds(json_object_get(worker, "claims"), "gpu"))
            snapshot->taking_gpu++;
    }
    for (size_t needs = 0; needs < NEEDS; needs++)
        read_models(snapshot, needs);
}

int fleet_refresh(struct fleet *fleet, struct queue *queue, struct err *err)
{
    struct queue_registration *notes = NULL;
    size_t count = 0;
    struct err bad;
    int result = queue_registrations(queue, &notes, &count, err);
    if (result < 0)
        return result;
    struct snapshot next = {.workers = json_array()};
    for (size_t i = 0; i < count; i++) {
        json_t *worker = NULL;
        if (json_parse(notes[i].name, notes[i].bytes, notes[i].count, &worker, &bad) == 0 &&
            json_is_object(worker)) {
            if (!json_is_string(json_object_get(worker, "name")))
                json_put(worker, "name", json_text(notes[i].name));
            json_array_append_new(next.workers, worker);
        } else {
            json_decref(worker);
            log_event(LOG_LEVEL_DEBUG, "server", "a note that tells of no worker", "name",
                      notes[i].name, NULL);
        }
    }
    queue_registrations_free(notes, count);
    summarise(&next);
    pthread_mutex_lock(&fleet->lock);
    json_t *old = fleet->now.workers;
    fleet->now = next;
    pthread_mutex_unlock(&fleet->lock);
    json_decref(old);
    return 0;
}

json_t *fleet_workers(struct fleet *fleet)
{
    pthread_mutex_lock(&fleet->lock);
    json_t *copy = json_deep_copy(fleet->now.workers);
    pthread_mutex_unlock(&fleet->lock);
    return copy;
}

size_t fleet_taking(struct fleet *fleet, bool gpu)
{
    pthread_mutex_lock(&fleet->lock);
    size_t count = gpu ? fleet->now.taking_gpu : fleet->now.taking;
    pthread_mutex_unlock(&fleet->lock);
    return count;
}

bool fleet_models(struct fleet *fleet, const char *needs, char hex[HASH_HEX_BYTES])
{
    bool claimed = false;
    pthread_mutex_lock(&fleet->lock);
    for (size_t i = 0; i < NEEDS; i++)
        if (strcmp(needs, needs_names[i]) == 0) {
            claimed = fleet->now.claimed[i];
            memcpy(hex, fleet->now.models[i], HASH_HEX_BYTES);
        }
    pthread_mutex_unlock(&fleet->lock);
    return claimed;
}
