/* registration: what the registry says of a worker, as /v1/workers shows it. */
#include "worker/internal.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "device/gpu_facts.h"
#include "judge/devices.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define SECTION_BYTES ((size_t)64 << 10)
#define IDS_BYTES ((size_t)24 << 10) /* of the registration, which has a bound */
#define ESCAPED_MOST 6               /* bytes of JSON for one byte of text */

static json_t *device_json(const struct judge_device *device)
{
    json_t *object = json_pack("{s:s, s:o, s:s}", "kind", device->gpu ? "cuda" : "cpu", "name",
                               json_text(device->name), "state",
                               device->good ? "good" : "quarantined");
    json_put(object, "busy_s", json_number(device->busy_s));
    json_put(object, "exclusive_s", json_number(device->exclusive_s));
    if (!device->gpu) {
        json_put(object, "cores", json_integer(device->cores));
        return object;
    }
    json_put(object, "uuid", json_text(device->uuid));
    json_put(object, "ordinal", json_integer(device->ordinal));
    json_put(object, "why", json_text(device->good ? NULL : device->why));
    json_put(object, "memory_bytes", json_integer((json_int_t)device->memory_bytes));
    json_put(object, "evaluations", json_integer(device->evaluations));
    json_put(object, "facts", gpu_facts_json(&device->facts));
    return object;
}

static json_t *devices_json(struct worker *worker)
{
    struct judge_device devices[JUDGE_DEVICES];
    size_t count = judge_devices(worker->judge, devices);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, device_json(&devices[i]));
    return list;
}

/* Workers with different settings may return different verdicts, so cached verdicts are keyed by
 * this hash. */
void worker_hash_settings(struct worker *worker)
{
    static const char *const sections[] = {"compile", "run",   "check",  "timing",
                                           "gpu",     "torch", "python", "languages"};
    struct hash *hash = hash_new();
    hash_update_string(hash, WARPGYM_VERSION);
    for (size_t i = 0; i < COUNT(sections); i++) {
        struct buf text;
        buf_init(&text, SECTION_BYTES);
        settings_show_section(worker->options.settings, sections[i], &text);
        hash_update(hash, text.data, text.len);
        buf_deinit(&text);
    }
    hash_finish(hash, worker->settings_hash);
}

/* With the lock. */
static json_t *jobs_json(const struct worker *worker)
{
    json_t *ended = json_object();
    json_t *ids = json_array();
    size_t running = 0, bytes = 0;
    for (size_t i = 0; i < worker->slot_count; i++) {
        const char *id = worker->slots[i].job.id;
        running += worker->slots[i].busy;
        bytes += worker->slots[i].busy ? strlen(id) * ESCAPED_MOST + 3 : 0;
        if (worker->slots[i].busy && bytes < IDS_BYTES)
            json_array_append_new(ids, json_text(id));
    }
    for (int status = 0; status < STATUS_COUNT; status++)
        if (worker->tally.ended[status] > 0)
            json_put(ended, verdict_status_name(status),
                     json_integer((json_int_t)worker->tally.ended[status]));
    return json_pack("{s:I, s:I, s:o, s:o}", "slots", (json_int_t)worker->slot_count, "running",
                     (json_int_t)running, "ids", ids, "ended", ended);
}

json_t *worker_registration(struct worker *worker)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    json_t *claims = json_array();
    for (size_t i = 0; i < worker->claim_count; i++)
        json_array_append_new(claims, json_text(worker->claims[i]));
    json_t *devices = devices_json(worker);
    pthread_mutex_lock(&worker->lock);
    json_t *registration = json_pack("{s:o, s:o, s:i, s:s, s:s, s:o, s:o, s:b, s:o, s:o, s:o}",
                                     "name", json_text(worker->name), "host", json_text(host),
                                     "pid", (int)getpid(), "version", WARPGYM_VERSION,
                                     "settings_hash", worker->settings_hash, "started_at",
                                     json_time(worker->started_ms), "heartbeat_at",
                                     json_time(clock_wall_ms()), "draining", (int)worker->draining,
                                     "jobs", jobs_json(worker), "devices", devices, "claims",
                                     claims);
    pthread_mutex_unlock(&worker->lock);
    return registration;
}
