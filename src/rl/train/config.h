/* train_config: the settings train.*, checked, as the structs of the modules that use them. A
 * setting that is `auto` leaves the method's value.
 *
 * Ownership: strings belong to the settings. Threads: read-only once it is made.
 */
#pragma once

#include "rl/method/method.h"
#include "rl/train/token_schedule.h"
#include "rl/train/train_settings.h"

#define TRAIN_NOTES_MAX 3

struct train_config {
    struct rl_method method;
    const struct loss *loss;
    struct loss_config loss_config;
    struct lm_adam adam;
    struct train_backend_options backend; /* but for `cancelled` */
    struct train_backend_sampling sampling, evaluation;
    struct token_schedule max_tokens; /* changes of their max_tokens */
    size_t problems, episodes;        /* played for a step, and of each problem */
    /* What a service cannot do, and what is done instead: static texts, NULL behind the last. */
    const char *notes[TRAIN_NOTES_MAX + 1];
};

/* Settings that contradict each other; part of settings_check. */
void train_config_check(const struct settings *settings, struct setting_errors *errors);
/* Settings that a run needs, such as train.model. */
void train_config_check_run(const struct settings *settings, struct setting_errors *errors);
/* Both; ERR_INPUT is the first error. */
NODISCARD int train_config_read(struct train_config *config, const struct settings *settings,
                                struct err *err);

/* Of episodes: what train.* says beside gym.*. A new reference. */
json_t *train_config_episode(const struct train_config *config, const struct settings *settings,
                             const char *reward);
