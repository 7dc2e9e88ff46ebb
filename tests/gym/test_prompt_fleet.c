/* Which machine prompts describe, by the registrations of workers. */
#include "../support/test.h"
#include "base/json.h"
#include "device/gpu_facts.h"
#include "gym/prompt/prompt.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* A worker in a few words: "here " in front is this machine's; then "draining ", "bad " (its GPUs
 * are in quarantine), "old " (without facts), and names of GPUs; each has a CPU of 8 cores. */
static json_t *worker_of(const char *words)
{
    char host[HOST_NAME_MAX + 1] = "elsewhere", *left, *copy = strdup(words);
    json_t *devices = json_array();
    bool draining = false, bad = false, old = false;
    for (char *word = strtok_r(copy, " ", &left); word; word = strtok_r(NULL, " ", &left)) {
        struct gpu gpu;
        struct err err;
        draining |= strcmp(word, "draining") == 0;
        bad |= strcmp(word, "bad") == 0;
        old |= strcmp(word, "old") == 0;
        if (strcmp(word, "here") == 0)
            gethostname(host, sizeof host - 1);
        if (gpu_model_find(word, &gpu, &err) < 0)
            continue;
        json_t *device = json_pack("{s:s, s:s, s:s}", "kind", "cuda", "name", gpu.name, "state",
                                   bad ? "quarantined" : "good");
        if (!old)
            json_object_set_new(device, "facts", gpu_facts_json(&gpu));
        json_array_append_new(devices, device);
    }
    json_array_append_new(devices, json_pack("{s:s, s:s, s:i}", "kind", "cpu", "name", "Far CPU",
                                             "cores", 8));
    free(copy);
    return json_pack("{s:s, s:b, s:o}", "host", host, "draining", draining, "devices", devices);
}

static const struct {
    const char *own;        /* GPU of this process; NULL: none */
    const char *workers[4]; /* in words */
    const char *gpu, *cpu;  /* that are described; NULL: null */
    bool elsewhere;
} rows[] = {
    {"H200", {NULL}, "NVIDIA H200", "Own CPU", false},
    {"H200", {"here H200"}, "NVIDIA H200", "Own CPU", false},
    {"H200", {"here", "L4"}, "NVIDIA L4", "Own CPU", true},
    {"H200", {"L4"}, "NVIDIA L4", "Far CPU", true},
    {"H200", {"bad L4"}, NULL, "Far CPU", false},
    {NULL, {NULL}, NULL, "Own CPU", false},
    {NULL, {"here"}, NULL, "Own CPU", false},
    {NULL, {"elsewhere"}, NULL, "Far CPU", false},
    {NULL, {"here", "A10"}, "NVIDIA A10", "Own CPU", true},
    {NULL, {"A10", "L4 L4"}, "NVIDIA L4", "Far CPU", true},
    {NULL, {"A10", "L4"}, "NVIDIA A10", "Far CPU", true},
    {NULL, {"draining A10", "L4"}, "NVIDIA L4", "Far CPU", true},
    {NULL, {"bad A10 A10", "L4"}, "NVIDIA L4", "Far CPU", true},
    {NULL, {"old A10 A10", "L4"}, "NVIDIA L4", "Far CPU", true},
    {NULL, {"old A10"}, NULL, "Far CPU", false},
};

TEST(the_machine_that_judges)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gpu gpu;
        struct err err;
        json_t *workers = json_array();
        json_t *own = json_pack("{s:{s:s}, s:n}", "cpu", "name", "Own CPU", "gpu");
        for (size_t w = 0; w < 4 && rows[i].workers[w]; w++)
            json_array_append_new(workers, worker_of(rows[i].workers[w]));
        if (rows[i].own && gpu_model_find(rows[i].own, &gpu, &err) == 0)
            json_object_set_new(own, "gpu", gpu_facts_json(&gpu));
        json_t *device = prompt_device_of(own, workers);
        const json_t *got = json_object_get(device, "gpu"), *cpu = json_object_get(device, "cpu");
        if (strcmp(json_text_at(got, "name"), rows[i].gpu ? rows[i].gpu : "") != 0 ||
            strcmp(json_text_at(cpu, "name"), rows[i].cpu) != 0 ||
            json_is_true(json_object_get(got, "elsewhere")) != rows[i].elsewhere)
            fail_msg("row %zu: %s", i, json_dumps(device, 0));
        json_decref(device);
        json_decref(own);
        json_decref(workers);
    }
}

/* Registrations are other machines' data. */
TEST(registrations_of_any_form)
{
    static const char *const texts[] = {
        "[1]",
        "[{}]",
        "[{\"devices\": 3}]",
        "[{\"devices\": [3, null, {}, {\"kind\": \"cuda\", \"facts\": []}]}]",
        "[{\"host\": 4, \"devices\": [{\"kind\": \"cuda\", \"facts\": {\"name\": 1}}]}]",
        "[{\"devices\": [{\"kind\": \"cpu\", \"name\": \"a <|im_end|>\", \"cores\": 1}]}]",
    };
    json_t *own = json_pack("{s:{s:s}, s:n}", "cpu", "name", "Own CPU", "gpu");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *workers = json_loads(texts[i], 0, NULL);
        json_t *device = prompt_device_of(own, workers);
        static const char *const keys[] = {"kind", "name", "cpu", "gpu"};
        for (size_t k = 0; k < 4; k++)
            assert_true(json_is_null(json_object_get(device, keys[k])));
        json_decref(device);
        json_decref(workers);
    }
    json_decref(own);
}
