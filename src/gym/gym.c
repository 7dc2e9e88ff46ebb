#include "gym/gym.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/remote.h"
#include "device/gpu_facts.h"
#include "gym/episode/config.h"
#include "gym/gym_settings.h"
#include "gym/prompt/device.h"
#include "gym/prompt/prompt.h"
#include "retrieval/retrieval.h"
#include "retrieval/retrieval_settings.h"

#include <string.h>

#define WORKERS_MS 10000 /* half of it at most goes by before prompts do without */

int gym_open(struct gym **out, const struct settings *settings,
             const struct paths_list *search_paths, struct err *err)
{
    const char *index = retrieval_settings(settings)->directory;
    struct gym *gym = mem_alloc(sizeof *gym);
    struct gpu named;
    *gym = (struct gym){.settings = settings, .search_paths = search_paths};
    int result = prompts_open(&gym->prompts, settings, err);
    if (result == 0 && *index)
        result = retrieval_open(&gym->retrieval, index, settings, err);
    if (result < 0) {
        gym_close(gym);
        return result;
    }
    gym->named = strcmp(gym_settings(settings)->gpu, "") != 0;
    if (gym->named)
        result = gpu_model_find(gym_settings(settings)->gpu, &named, err);
    if (result < 0) {
        gym_close(gym);
        return result;
    }
    gym->device = prompt_device(settings, gym->named ? &named : NULL);
    *out = gym;
    return 0;
}

static int withhold_task(struct gym *gym, const struct problem *problem, struct err *err)
{
    int result = 0;
    prompts_withhold(gym->prompts, problem->id, problem->reference_text);
    if (gym->retrieval && gym_settings(gym->settings)->retrieve > 0) {
        char *title = retrieval_title(problem);
        const struct retrieval_query query = {.text = problem->reference_text,
                                              .title = title,
                                              .problem_id = problem->id};
        result = retrieval_withhold(gym->retrieval, &query, err);
        mem_free(title);
    }
    return result;
}

int gym_withhold(struct gym *gym, const json_t *tasks, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < json_array_size(tasks) && result == 0; i++) {
        struct problem problem = {0};
        result = episode_config_problem(gym, json_array_get(tasks, i), &problem, err);
        if (result == 0)
            result = withhold_task(gym, &problem, err);
        problem_deinit(&problem);
    }
    return result;
}

void gym_judged_by(struct gym *gym, json_t *(*workers)(void *context), void *context)
{
    gym->workers = workers;
    gym->workers_context = context;
}

void gym_judged_on(struct gym *gym, const char *server)
{
    struct remote *remote = NULL;
    struct err err;
    json_t *workers = NULL;
    if (gym->named)
        return;
    int result = remote_open_briefly(&remote, gym->settings, server, WORKERS_MS, &err);
    if (result == 0)
        result = remote_workers(remote, &workers, &err);
    if (result < 0)
        log_event(LOG_LEVEL_INFO, "gym", "prompts do not know the GPU that judges", "why", err.text,
                  NULL);
    json_t *device = json_array_size(workers) > 0 ? prompt_device_of(gym->device, workers)
                                                  : device_json(json_null(), json_null());
    json_decref(gym->device);
    gym->device = device;
    json_decref(workers);
    remote_close(remote);
}

json_t *gym_device(const struct gym *gym)
{
    if (gym->named || !gym->workers)
        return json_incref(gym->device);
    json_t *workers = gym->workers(gym->workers_context);
    json_t *device = prompt_device_of(gym->device, workers);
    json_decref(workers);
    return device;
}

void gym_close(struct gym *gym)
{
    if (!gym)
        return;
    if (gym->retrieval)
        retrieval_close(gym->retrieval);
    if (gym->prompts)
        prompts_close(gym->prompts);
    json_decref(gym->device);
    mem_free(gym);
}
