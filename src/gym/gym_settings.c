#include "gym/gym_settings.h"

#include "base/setting.h"
#include "device/gpu_facts.h"
#include "gym/prompt/checkout.h"
#include "gym/prompt/prompt.h"
#include "gym/reward/reward.h"
#include "judge/request/language.h"

#define GAMMA 0.4 /* Kevin's */

static int check_gpu(const char *name, struct err *err)
{
    struct gpu gpu;
    return gpu_model_find(name, &gpu, err);
}

#define SECTION gym
static const struct setting_row gym_rows[] = {
    SETTING_OPTIONAL_WORD(language, "auto", &language_words,
                          "Language of answers; auto: the standard one of the problem's format "
                          "(docs/reference/languages.md)"),
    SETTING_INT(turns, "4", 1, 256, "Most answers in an episode"),
    SETTING_OPTIONAL_FLOAT(gamma, "auto", "auto", 0, 1,
                           "Discount of the rewards of later turns in a turn's return; auto: that "
                           "of train.method in training, else 0.4"),
    SETTING_WORD(reward, "warpgym", &reward_words, "Preset of rewards (docs/reference/rewards.md)"),
    SETTING_WORD(coverage, "time", WORDS_IN(COVERAGE_MEASURES),
                 "Measure of the share of own kernels, in rewards and train.coverage "
                 "(docs/reference/rewards.md)"),
    SETTING_FLOAT(stop_speedup, "0", 0, 1e9,
                  "An episode ends with a correct answer that is this many times as fast as the "
                  "reference; 0: only after its turns"),
    SETTING_BOOL(stop_correct, "false", "Whether an episode ends with any correct answer"),
    SETTING_TEXT(
        style, "auto",
        "Style of prompts (docs/reference/prompts.md): warpgym, kevin, drkernel, or one of "
        "prompts.path; auto: that of the checkout in prompts.path, else warpgym",
        .absent = "auto"),
    SETTING_TEXT(gpu, "auto",
                 "GPU that prompts describe: auto: that of the workers, or of this machine where "
                 "it judges; or a model, as H100, A100-80GB, L40S",
                 .absent = "auto", .check = check_gpu),
    SETTING_INT(shots, "1", 0, 3, "Worked examples in a prompt"),
    SETTING_BOOL(thinking, "false", "Whether prompts request a block of thinking before the code"),
    SETTING_INT(token_budget, "24576", 0, 10000000,
                "Estimated tokens of a conversation above which its oldest turns are left out; 0: "
                "without limit"),
    SETTING_INT(retrieve, "0", 0, 16, "Retrieved examples in a prompt (retrieval.directory)"),
    SETTING_INT(iterations, "1", 1, 256,
                "Test-time scaling: how often an episode continues with a window of its history"),
    SETTING_INT(remain_turns, "2", 0, 255,
                "Turns of its history that each further iteration keeps"),
    SETTING_WORD(select, "last", WORDS_IN(HISTORY_SELECTS),
                 "Which turns those are: the last, the contiguous ones with the highest sum "
                 "(best), or the highest (top)"),
    SETTING_WORD(select_by, "reward", WORDS_IN(HISTORY_VALUES),
                 "Value of a turn that best and top compare"),
};

static void gym_check(const struct settings *settings, struct setting_errors *errors)
{
    const struct gym_settings *gym = gym_settings(settings);
    struct err err;
    if (gym->iterations > 1 && gym->remain_turns >= gym->turns)
        settings_refuse(errors, settings, "gym.remain_turns",
                        "gym.remain_turns (%lld) must be below gym.turns (%lld), or a further "
                        "iteration has no turns of its own",
                        (long long)gym->remain_turns, (long long)gym->turns);
    if (prompts_check_style(prompts_settings(settings)->path, gym_style(settings), &err) < 0)
        settings_refuse(errors, settings, "gym.style", "gym.style: %s", err.text);
}
SETTING_SECTION(gym, gym_rows, .check = gym_check);

double gym_gamma(const struct settings *settings)
{
    const struct gym_settings *gym = gym_settings(settings);
    return gym->gamma.given ? gym->gamma.value : GAMMA;
}

const char *gym_language(const struct settings *settings)
{
    const struct optional_word *language = &gym_settings(settings)->language;
    return language->given ? word_at(&language_words, (size_t)language->value) : "";
}

const char *gym_style(const struct settings *settings)
{
    const char *path = prompts_settings(settings)->path, *style = gym_settings(settings)->style;
    const char *checkout = !*style && *path ? checkout_style(path) : NULL;
    return *style ? style : checkout ? checkout : "warpgym";
}

const char *gym_reward(const struct settings *settings)
{
    return word_at(&reward_words, (size_t)gym_settings(settings)->reward);
}

#undef SECTION
#define SECTION prompts
static const struct setting_row prompts_rows[] = {
    SETTING_TEXT(path, "none",
                 "Directory of your own prompt templates (docs/reference/prompts.md), searched "
                 "before the installed ones; or a checkout of KernelBench or KernelGYM",
                 .absent = "none"),
};
SETTING_SECTION(prompts, prompts_rows);
