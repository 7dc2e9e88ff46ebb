#include "gym/gym.h"

#include "base/mem.h"
#include "gym/episode/config.h"
#include "gym/gym_settings.h"
#include "gym/prompt/prompt.h"
#include "retrieval/retrieval.h"
#include "retrieval/retrieval_settings.h"

int gym_open(struct gym **out, const struct settings *settings,
             const struct paths_list *search_paths, struct err *err)
{
    const char *index = retrieval_settings(settings)->directory;
    struct gym *gym = mem_alloc(sizeof *gym);
    *gym = (struct gym){.settings = settings, .search_paths = search_paths};
    int result = prompts_open(&gym->prompts, settings, err);
    if (result == 0 && *index)
        result = retrieval_open(&gym->retrieval, index, settings, err);
    if (result < 0) {
        gym_close(gym);
        return result;
    }
    gym->device = prompt_device(settings);
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
