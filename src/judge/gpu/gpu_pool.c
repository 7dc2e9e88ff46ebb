#include "judge/gpu/gpu_pool.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/gpu_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MAX_MS 3600000
#define PATTERN 0xA5
#define TICK_MS 50

void gpu_pool_init(struct gpu_pool *pool, const struct gpu_pool_options *options)
{
    *pool = (struct gpu_pool){.options = *options};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
}

static void close_unit(struct gpu_unit *unit)
{
    if (unit->opened)
        gpu_context_close(&unit->opened->context);
    while (unit->opened) {
        struct gpu_opened *opened = unit->opened;
        unit->opened = opened->before;
        mem_free(opened);
    }
    mem_free(unit->peaks_image);
}

void gpu_pool_deinit(struct gpu_pool *pool)
{
    if (!pool->options.devices)
        return;
    for (int i = 0; i < pool->count; i++) {
        if (pool->units[i].opened)
            log_write(LOG_LEVEL_INFO, "judge", "GPU %d was in use for %.1f s",
                      pool->units[i].facts.ordinal, busy_time_read(&pool->units[i].busy).busy_s);
        close_unit(&pool->units[i]);
        busy_time_deinit(&pool->units[i].busy);
    }
    mem_free(pool->units);
    nvml_close(&pool->nvml);
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    *pool = (struct gpu_pool){0};
}

/* One word of gpu.devices: an ordinal, or how a UUID begins. */
static const struct gpu *find_gpu(const struct gpu_list *list, const char *word, size_t length)
{
    char *end;
    long ordinal = strtol(word, &end, 10);
    for (int i = 0; i < list->count; i++) {
        const struct gpu *gpu = &list->items[i];
        if (end == word + length ? ordinal == gpu->ordinal
                                 : length > 4 && strncmp(gpu->uuid, word, length) == 0)
            return gpu;
    }
    return NULL;
}

static bool has_gpu(const struct gpu_pool *pool, const struct gpu *gpu)
{
    for (int i = 0; i < pool->count; i++)
        if (pool->units[i].facts.ordinal == gpu->ordinal)
            return true;
    return false;
}

static void add_gpu(struct gpu_pool *pool, const struct gpu *gpu)
{
    if (has_gpu(pool, gpu))
        return;
    struct gpu_unit *unit = &pool->units[pool->count++];
    *unit = (struct gpu_unit){.facts = *gpu};
    busy_time_init(&unit->busy);
}

static int choose_units(struct gpu_pool *pool, const struct gpu_list *list, struct err *err)
{
    const char *word = pool->options.devices;
    if (strcmp(word, "all") == 0) {
        for (int i = 0; i < list->count; i++)
            add_gpu(pool, &list->items[i]);
        return 0;
    }
    for (size_t length; *(word += strspn(word, ", ")); word += length) {
        length = strcspn(word, ", ");
        const struct gpu *gpu = find_gpu(list, word, length);
        if (!gpu)
            return err_set(err, ERR_INPUT,
                           "gpu.devices: there is no GPU '%.*s' among the %d that this process "
                           "sees (CUDA_VISIBLE_DEVICES?)",
                           (int)(length < 60 ? length : 60), word, list->count);
        add_gpu(pool, gpu);
    }
    return pool->count ? 0 : err_set(err, ERR_MISSING, "gpu.devices names no GPU");
}

static int list_gpus(struct gpu_pool *pool, struct err *err)
{
    struct gpu_list *found = mem_alloc(sizeof *found);
    int result = gpu_list(found, pool->options.driver, err);
    pool->driver_version = found->driver_version;
    if (result == 0) {
        pool->units = mem_alloc((size_t)GPU_MAX * sizeof *pool->units);
        result = choose_units(pool, found, err);
    }
    mem_free(found);
    if (result < 0) {
        pool->count = 0;
        return result;
    }
    if (nvml_open(&pool->nvml, pool->options.nvml, err) < 0)
        pool->no_nvml = *err; /* its readings are unknown then: doctor reports it */
    for (int i = 0; i < pool->count; i++) {
        struct gpu_unit *unit = &pool->units[i];
        struct gpu_health health;
        gpu_sensor_open(&unit->sensor, &pool->nvml, unit->facts.uuid);
        gpu_sensor_examine(&unit->sensor, &health);
        unit->ecc_errors = health.ecc_uncorrected;
    }
    return 0;
}

static int list_once(struct gpu_pool *pool, struct err *err)
{
    struct err problem = {0};
    if (!pool->listed) {
        (void)!list_gpus(pool, &problem);
        pool->problem = problem;
    }
    pool->listed = true;
    if (pool->count > 0)
        return 0;
    if (err)
        *err = pool->problem;
    return pool->problem.code;
}

int gpu_pool_list(struct gpu_pool *pool, struct err *err)
{
    pthread_mutex_lock(&pool->lock);
    int result = list_once(pool, err);
    pthread_mutex_unlock(&pool->lock);
    return result;
}

static void quarantine_unit(struct gpu_pool *pool, struct gpu_unit *unit, const struct err *why)
{
    int64_t longer = unit->pause_ms * 2 < PAUSE_MAX_MS ? unit->pause_ms * 2 : PAUSE_MAX_MS;
    unit->pause_ms = unit->pause_ms ? longer : pool->options.quarantine_ms;
    unit->until_ns = clock_now_ns() + unit->pause_ms * 1000000;
    unit->state = GPU_QUARANTINED;
    unit->why = *why;
    log_write(LOG_LEVEL_WARN, "judge", "GPU %d gets no work for %lld s: %s", unit->facts.ordinal,
              (long long)unit->pause_ms / 1000, why->text);
}

/* Whether the judge's own context still works: a fault there sticks to it. */
static int use_context(const struct gpu_context *gpu, struct err *err)
{
    struct gpu_memory memory = {0};
    unsigned char sent[64], got[64] = {0};
    memset(sent, PATTERN, sizeof sent);
    int result = gpu_context_use(gpu, err);
    if (result == 0)
        result = gpu_memory_make(&memory, gpu, sizeof sent, err);
    if (result == 0)
        result = gpu_memory_write(&memory, 0, sent, sizeof sent / 2, err);
    if (result == 0)
        result = gpu_memory_fill(&memory, sizeof sent / 2, PATTERN, sizeof sent / 2, err);
    if (result == 0)
        result = gpu_memory_read(&memory, 0, got, sizeof got, err);
    gpu_memory_free(&memory);
    if (result == 0 && memcmp(got, sent, sizeof got) != 0)
        result = err_set(err, ERR_IO, "its memory does not hold what was written");
    return result == ERR_LIMIT ? 0 : result; /* others fill it up: that is no fault */
}

static int examine_health(struct gpu_unit *unit, struct err *err)
{
    struct gpu_health health;
    gpu_sensor_examine(&unit->sensor, &health);
    const char *complaint = gpu_health_complaint(&health);
    int64_t before = unit->ecc_errors;
    unit->ecc_errors = health.ecc_uncorrected;
    if (complaint)
        return err_set(err, ERR_IO, "%s", complaint);
    if (before >= 0 && health.ecc_uncorrected > before)
        return err_set(err, ERR_IO, "its memory had an error that could not be corrected (ECC)");
    return 0;
}

static int open_context(struct gpu_pool *pool, struct gpu_unit *unit, struct err *err)
{
    struct gpu_opened *opened = mem_alloc(sizeof *opened);
    int result = examine_health(unit, err);
    if (unit->opened)
        gpu_context_close(&unit->opened->context);
    if (pool->options.give_up)
        pool->options.give_up(pool->options.context, unit);
    opened->before = unit->opened;
    unit->opened = opened;
    unit->work = (struct gpu_work){0};
    unit->no_work.until_ns = 0;
    if (result == 0)
        result = gpu_context_open(&opened->context, pool->options.driver, unit->facts.ordinal, err);
    return result < 0 ? result : use_context(&opened->context, err);
}

/* With the lock, which is released meanwhile. */
static void bring_up(struct gpu_pool *pool, struct gpu_unit *unit)
{
    struct err err = {0};
    bool again = unit->state == GPU_QUARANTINED;
    unit->state = GPU_BUSY;
    pthread_mutex_unlock(&pool->lock);
    int result = again ? pool->options.probe(pool->options.context, &unit->facts, &err) : 0;
    if (result == 0)
        result = open_context(pool, unit, &err);
    pthread_mutex_lock(&pool->lock);
    if (result < 0) {
        quarantine_unit(pool, unit, &err);
    } else {
        unit->state = GPU_GOOD;
        unit->pause_ms = 0;
    }
    pthread_cond_broadcast(&pool->changed);
}

static bool trial_is_due(const struct gpu_unit *unit)
{
    return unit->state == GPU_QUARANTINED && unit->evaluations == 0 &&
           clock_now_ns() >= unit->until_ns;
}

static struct gpu_unit *least_loaded(struct gpu_pool *pool, const struct gpu_unit *before)
{
    struct gpu_unit *best = NULL;
    for (int i = 0; i < pool->count; i++) {
        struct gpu_unit *unit = &pool->units[i];
        if (unit->state != GPU_GOOD && unit->state != GPU_CLOSED)
            continue;
        if (!best || unit->evaluations < best->evaluations ||
            (unit->evaluations == best->evaluations && unit == before))
            best = unit;
    }
    return best;
}

static bool any_in(const struct gpu_pool *pool, enum gpu_unit_state state)
{
    for (int i = 0; i < pool->count; i++)
        if (pool->units[i].state == state)
            return true;
    return false;
}

static int none_left(const struct gpu_pool *pool, struct err *err)
{
    const struct gpu_unit *first = &pool->units[0];
    return err_set(err, ERR_IO, "%s in quarantine (gpu.quarantine_ms); GPU %d: %.500s",
                   pool->count > 1 ? "all GPUs are" : "the GPU is", first->facts.ordinal,
                   first->why.text);
}

/* With the lock; NULL: none is left. */
static struct gpu_unit *pick_unit(struct gpu_pool *pool, const struct gpu_unit *before)
{
    for (;;) {
        for (int i = 0; i < pool->count; i++)
            if (trial_is_due(&pool->units[i]))
                bring_up(pool, &pool->units[i]);
        struct gpu_unit *unit = least_loaded(pool, before);
        if (unit && unit->state == GPU_GOOD)
            return unit;
        if (unit)
            bring_up(pool, unit);
        else if (any_in(pool, GPU_BUSY))
            pthread_cond_wait(&pool->changed, &pool->lock);
        else
            return NULL;
    }
}

static int take_unit(struct gpu_pool *pool, const struct gpu_unit *before, struct gpu_unit **unit,
                     struct err *err)
{
    *unit = NULL;
    pthread_mutex_lock(&pool->lock);
    int result = list_once(pool, err);
    if (result == 0)
        *unit = pick_unit(pool, before);
    if (*unit)
        (*unit)->evaluations++;
    else if (result == 0)
        result = none_left(pool, err);
    pthread_mutex_unlock(&pool->lock);
    return result;
}

/* One that fails now is quarantined, so this ends. */
int gpu_pool_take(struct gpu_pool *pool, const struct gpu_unit *before, struct gpu_unit **unit,
                  struct err *err)
{
    for (bool bad = true; bad;) {
        int result = take_unit(pool, before, unit, err);
        if (!*unit)
            return result;
        if (gpu_context_use(gpu_unit_context(*unit), err) == 0)
            return 0;
        bad = gpu_pool_suspect(pool, *unit, err);
        gpu_pool_give_back(pool, *unit);
        *unit = NULL;
    }
    return err->code;
}

bool gpu_pool_shared(struct gpu_pool *pool, const struct gpu_unit *unit)
{
    pthread_mutex_lock(&pool->lock);
    bool shared = unit->evaluations > 1;
    pthread_mutex_unlock(&pool->lock);
    return shared;
}

int gpu_pool_take_slots(struct gpu_pool *pool, struct gpu_unit *unit, int slots,
                        const _Atomic int *cancelled, struct err *err)
{
    struct waiter self;
    int result = 0;
    pthread_mutex_lock(&pool->lock);
    waiters_join(&unit->queue, &self);
    while ((unit->queue != &self || unit->slots_used + slots > pool->options.slots) &&
           !(cancelled && *cancelled)) {
        struct timespec until = clock_in_ms(TICK_MS);
        pthread_cond_timedwait(&pool->changed, &pool->lock, &until);
    }
    if (unit->queue == &self && unit->slots_used + slots <= pool->options.slots)
        unit->slots_used += slots;
    else
        result = err_set(err, ERR_CANCELLED, "cancelled while waiting for a slot of the GPU");
    waiters_leave(&unit->queue, &self);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
    return result;
}

void gpu_pool_free_slots(struct gpu_pool *pool, struct gpu_unit *unit, int slots)
{
    pthread_mutex_lock(&pool->lock);
    unit->slots_used -= slots;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

void gpu_pool_give_back(struct gpu_pool *pool, struct gpu_unit *unit)
{
    pthread_mutex_lock(&pool->lock);
    unit->evaluations--;
    pthread_mutex_unlock(&pool->lock);
}

bool gpu_pool_suspect(struct gpu_pool *pool, struct gpu_unit *unit, struct err *err)
{
    struct err why = {0};
    int used = use_context(gpu_unit_context(unit), &why);
    pthread_mutex_lock(&pool->lock);
    bool bad = used < 0 || examine_health(unit, &why) < 0;
    if (bad && unit->state == GPU_GOOD)
        quarantine_unit(pool, unit, &why);
    bad |= unit->state == GPU_QUARANTINED; /* another evaluation has found out */
    if (bad)
        err_set(err, ERR_IO, "GPU %d failed and gets no more work for now: %s", unit->facts.ordinal,
                unit->why.text);
    pthread_mutex_unlock(&pool->lock);
    return bad;
}

bool gpu_pool_any(struct gpu_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    bool any = any_in(pool, GPU_GOOD) || any_in(pool, GPU_CLOSED) || any_in(pool, GPU_BUSY);
    pthread_mutex_unlock(&pool->lock);
    return any;
}

int gpu_pool_try(struct gpu_pool *pool, struct gpu_unit *unit, struct err *err)
{
    pthread_mutex_lock(&pool->lock);
    while (unit->state == GPU_BUSY)
        pthread_cond_wait(&pool->changed, &pool->lock);
    if (unit->state == GPU_CLOSED)
        bring_up(pool, unit);
    bool good = unit->state == GPU_GOOD;
    if (!good)
        *err = unit->why;
    pthread_mutex_unlock(&pool->lock);
    return good ? 0 : err->code;
}

const char *gpu_pool_directory(struct gpu_pool *pool)
{
    const char *directory = "";
    pthread_mutex_lock(&pool->lock);
    for (int i = 0; i < pool->count && !directory[0]; i++)
        if (pool->units[i].opened)
            directory = pool->units[i].opened->context.directory;
    pthread_mutex_unlock(&pool->lock);
    return directory;
}

void gpu_unit_peaks(struct gpu_unit *unit, const char *state_directory)
{
    const struct gpu_context *gpu = gpu_unit_context(unit);
    struct err err;
    if (unit->have_peaks)
        return;
    char *image = atomic_exchange(&unit->peaks_image, NULL);
    if (image && gpu_peaks_get(&unit->peaks, gpu, image, state_directory, &err) < 0)
        log_write(LOG_LEVEL_WARN, "judge", "the GPU's peaks are not measured: %s", err.text);
    unit->have_peaks = image || gpu_peaks_recall(&unit->peaks, gpu, state_directory);
    mem_free(image);
}
