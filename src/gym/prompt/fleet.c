/* The machine that judges, by what the workers of a server say of themselves. Their texts reach
 * models: only numbers and short printable texts are taken. */
#include "base/array.h"
#include "base/json.h"
#include "device/gpu_facts.h"
#include "gym/prompt/device.h"
#include "gym/prompt/prompt.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The next device of a worker that claims jobs; `at` walks through them, from 0. NULL: the end. */
static const json_t *next_device(const json_t *workers, size_t at[2], const json_t **worker)
{
    for (; at[0] < json_array_size(workers); at[0]++, at[1] = 0) {
        *worker = json_array_get(workers, at[0]);
        const json_t *devices = json_object_get(*worker, "devices");
        if (!json_is_true(json_object_get(*worker, "draining")) && at[1] < json_array_size(devices))
            return json_array_get(devices, at[1]++);
    }
    return NULL;
}

static bool is_gpu(const json_t *device)
{
    return strcmp(json_text_at(device, "kind"), "cuda") == 0 &&
           strcmp(json_text_at(device, "state"), "quarantined") != 0;
}

static size_t count_gpus(const json_t *workers, const char *name)
{
    size_t at[2] = {0}, count = 0;
    const json_t *device, *worker;
    while ((device = next_device(workers, at, &worker)))
        count += is_gpu(device) && strcmp(json_text_at(device, "name"), name) == 0;
    return count;
}

/* The most frequent one, as a new reference; of several the first. NULL: none, or nothing is known
 * of it. */
static json_t *common_gpu(const json_t *workers)
{
    size_t at[2] = {0}, most = 0;
    const json_t *device, *worker;
    json_t *best = NULL;
    while ((device = next_device(workers, at, &worker))) {
        json_t *facts = is_gpu(device) ? gpu_facts_read(json_object_get(device, "facts")) : NULL;
        size_t count = facts ? count_gpus(workers, json_text_at(device, "name")) : 0;
        if (count > most) {
            json_decref(best);
            best = json_incref(facts);
            most = count;
        }
        json_decref(facts);
    }
    return best;
}

/* Of workers without a GPU: the first one's CPU, as far as a registration describes it. */
static json_t *common_cpu(const json_t *workers)
{
    static const char *const unknown[] = {"simd",   "l1_kib",          "l2_kib",
                                          "l3_mib", "memory_gb_per_s", "f32_gflops"};
    size_t at[2] = {0};
    const json_t *device, *worker;
    while ((device = next_device(workers, at, &worker))) {
        json_t *name = json_object_get(device, "name"), *cores = json_object_get(device, "cores");
        if (is_gpu(device) || !json_text_is_plain(name) || !json_is_integer(cores))
            continue;
        json_t *cpu = json_pack("{s:O, s:O, s:O, s:{}}", "name", name, "cores", cores, "threads",
                                cores, "compilers");
        for (size_t i = 0; i < COUNT(unknown); i++)
            json_put(cpu, unknown[i], json_null());
        return cpu;
    }
    return json_null();
}

/* Whether one of them is on this machine, and has a GPU if `gpu`. */
static bool judged_here(const json_t *workers, bool gpu)
{
    char host[HOST_NAME_MAX + 1] = "";
    size_t at[2] = {0};
    const json_t *device, *worker;
    gethostname(host, sizeof host - 1);
    while ((device = next_device(workers, at, &worker)))
        if (strcmp(json_text_at(worker, "host"), host) == 0 && (!gpu || is_gpu(device)))
            return true;
    return false;
}

json_t *prompt_device_of(const json_t *own, const json_t *workers)
{
    json_t *own_cpu = json_object_get(own, "cpu"), *own_gpu = json_object_get(own, "gpu");
    json_t *gpu = common_gpu(workers);
    bool here = judged_here(workers, false), none = json_array_size(workers) == 0;
    if (none || (here && !gpu) || (json_is_object(own_gpu) && judged_here(workers, true))) {
        json_decref(gpu);
        return json_deep_copy(own);
    }
    return device_json(here ? json_incref(own_cpu) : common_cpu(workers),
                       gpu ? device_gpu_elsewhere(gpu) : json_null());
}
