/* note: what the board says of a worker, as /v1/workers shows it. Declared in slot.h. */
#include "worker/slot.h"

#include "base/json.h"
#include "judge/devices.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static json_t *time_text(int64_t ms)
{
    char text[40];
    struct tm parts;
    time_t seconds = ms / 1000;
    gmtime_r(&seconds, &parts);
    size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, sizeof text - length, ".%03dZ", (int)(ms % 1000));
    return json_text(text);
}

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static json_t *device_json(const struct judge_device *device)
{
    json_t *object = json_pack("{s:s, s:o, s:s}", "kind", device->gpu ? "cuda" : "cpu", "name",
                               json_text(device->name), "state",
                               device->good ? "good" : "quarantined");
    if (!device->gpu) {
        json_put(object, "cores", json_integer(device->cores));
        return object;
    }
    json_put(object, "uuid", json_text(device->uuid));
    json_put(object, "ordinal", json_integer(device->ordinal));
    json_put(object, "why", json_text(device->good ? NULL : device->why));
    json_put(object, "memory_bytes", json_integer((json_int_t)device->memory_bytes));
    json_put(object, "evaluations", json_integer(device->evaluations));
    json_put(object, "used_s", json_number(device->used_s));
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

/* With the lock. */
static json_t *jobs_json(const struct worker *worker)
{
    json_t *ended = json_object();
    json_t *running = json_array();
    for (size_t i = 0; i < worker->slot_count; i++)
        if (worker->slots[i].busy)
            json_array_append_new(running, json_text(worker->slots[i].job.id));
    for (int status = 0; status < STATUS_COUNT; status++)
        if (worker->tally.ended[status] > 0)
            json_put(ended, verdict_status_name(status),
                     json_integer((json_int_t)worker->tally.ended[status]));
    return json_pack("{s:I, s:I, s:o, s:o}", "slots", (json_int_t)worker->slot_count, "running",
                     (json_int_t)json_array_size(running), "ids", running, "ended", ended);
}

json_t *worker_note(struct worker *worker)
{
    char host[HOST_NAME_MAX + 1] = "";
    gethostname(host, sizeof host - 1);
    json_t *claims = json_array();
    for (size_t i = 0; i < worker->claim_count; i++)
        json_array_append_new(claims, json_text(worker->claims[i]));
    json_t *devices = devices_json(worker);
    pthread_mutex_lock(&worker->lock);
    json_t *note = json_pack("{s:s, s:o, s:i, s:s, s:o, s:o, s:b, s:o, s:o, s:o}", "name",
                             worker->name, "host", json_text(host), "pid", (int)getpid(), "version",
                             WARPGYM_VERSION, "started_at", time_text(worker->started_ms),
                             "beat_at", time_text(wall_ms()), "draining", (int)worker->draining,
                             "jobs", jobs_json(worker), "devices", devices, "claims", claims);
    pthread_mutex_unlock(&worker->lock);
    return note;
}
