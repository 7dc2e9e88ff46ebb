#include "gym/gym.h"

#include "base/mem.h"
#include "gym/prompt.h"
#include "retrieval/retrieval.h"

int gym_open(struct gym **out, const struct gym_options *options, struct err *err)
{
    const char *index = options->settings->retrieval_directory;
    struct gym *gym = mem_alloc(sizeof *gym);
    gym->settings = options->settings;
    gym->roots = options->roots;
    gym->root_count = options->root_count;
    int result = prompts_open(&gym->prompts, options->settings, err);
    if (result == 0 && *index)
        result = retrieval_open(&gym->retrieval, index, options->settings, err);
    if (result < 0) {
        gym_close(gym);
        return result;
    }
    gym->device = prompt_device(options->settings);
    *out = gym;
    return 0;
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
