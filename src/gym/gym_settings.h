/* gym_settings: the sections gym.* and prompts.*. */
#pragma once

#include "base/settings.h"
#include "gym/episode/history.h"
#include "gym/reward/coverage.h"

struct gym_settings {
    struct optional_word language; /* of language_words */
    int64_t turns;
    struct optional_float gamma;
    int reward; /* of reward_words */
    enum coverage_measure coverage;
    double stop_speedup;
    bool stop_correct;
    const char *style; /* "": auto */
    const char *gpu;   /* a name of gpu_facts.h; "": the one that judges */
    int64_t shots;
    bool thinking;
    int64_t token_budget, retrieve, iterations, remain_turns;
    enum history_select select;
    enum history_value select_by;
};
SETTINGS_OF(gym)

/* The discount where no training method sets one. */
double gym_gamma(const struct settings *settings);
const char *gym_language(const struct settings *settings); /* "": auto */
const char *gym_style(const struct settings *settings);
const char *gym_reward(const struct settings *settings);

struct prompts_settings {
    const char *path; /* "": none */
};
SETTINGS_OF(prompts)
