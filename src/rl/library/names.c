/* Names and settings of the tables, for callers of warpgym_rl.h. */
#include "rl/library/library.h"

#include "base/array.h"
#include "base/setting.h"
#include "gym/reward/reward.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "train."

int warpgym_rl_version(void)
{
    return WARPGYM_RL_VERSION;
}

int rl_library_status(int status, const struct err *err, struct warpgym_rl_error *error)
{
    if (error)
        snprintf(error->text, sizeof error->text, "%s", status < 0 ? err->text : "");
    return status < 0 ? -1 : 0;
}

int rl_library_settings(struct settings *settings, const char *const *list, struct err *err)
{
    int result = 0;
    settings_init(settings);
    for (; list && *list && result == 0; list++) {
        bool whole = strncmp(*list, PREFIX, strlen(PREFIX)) == 0;
        char *assignment = mem_printf("%s%s", whole ? "" : PREFIX, *list);
        result = settings_assign(settings, assignment, err);
        mem_free(assignment);
    }
    return result;
}

int rl_library_options_take(struct rl_library_options *options,
                            const struct method_settings *settings, double gamma,
                            const struct rl_plan *plan, struct err *err)
{
    const bool planned = plan->prompts > 0 && plan->samples > 0 && plan->turns > 0;
    *options = (struct rl_library_options){.kl = settings->kl,
                                           .kl_discount = settings->kl_discount};
    if (!planned && (plan->prompts > 0 || plan->samples > 0 || plan->turns > 0))
        return err_set(err, ERR_INPUT,
                       "the plan of a step is its prompts, samples and turns; give all three, or "
                       "none");
    method_settings_take(&options->method, settings, planned ? plan : NULL);
    if (!isnan(gamma))
        options->method.returns.gamma = gamma;
    return rl_method_check(&options->method, err);
}

int warpgym_rl_setting(size_t index, struct warpgym_rl_setting *setting)
{
    static const char *const kinds[] = {
        [KIND_WORD] = "word",
        [KIND_INT] = "whole number",
        [KIND_FLOAT] = "number",
    };
    if (index >= method_section.count)
        return -1;
    const struct setting_row *row = &method_section.rows[index];
    *setting = (struct warpgym_rl_setting){.name = row->path + strlen(PREFIX),
                                           .kind = kinds[row->kind],
                                           .standard = row->standard,
                                           .help = row->help,
                                           .low = row->low,
                                           .high = row->high};
    return 0;
}

static const struct word_table coverage_words = WORD_TABLE(coverage_names);
static const struct word_table drop_words = WORD_TABLE(rl_drop_names);

static const struct {
    const char *name;
    const struct word_table *words;
} lists[] = {
    {"reward", &reward_words},
    {"coverage_measure", &coverage_words},
    {"drop", &drop_words},
};

static const struct word_table *list_named(const char *name)
{
    for (size_t i = 0; i < COUNT(lists); i++)
        if (strcmp(lists[i].name, name) == 0)
            return lists[i].words;
    for (size_t i = 0; i < method_section.count; i++)
        if (strcmp(method_section.rows[i].path + strlen(PREFIX), name) == 0)
            return method_section.rows[i].words;
    return NULL;
}

const char *warpgym_rl_word(const char *list, size_t index)
{
    const struct word_table *words = list_named(list);
    for (size_t i = 0; words && i <= index; i++)
        if (!word_at(words, i))
            return NULL;
    return word_at(words, index);
}
