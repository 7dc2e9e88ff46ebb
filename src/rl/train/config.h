/* train_config: what settings say of training, checked, as the structs that do it. Tables bind
 * train.* to struct rl_method: a row that is empty, or -1, leaves what the preset has.
 *
 * Ownership: strings belong to the settings. Threads: read-only once it is made.
 */
#pragma once

#include "base/settings.h"
#include "policy/train_backend.h"
#include "rl/method/method.h"

enum train_measure { TRAIN_CORRECT, TRAIN_FAST_1, TRAIN_RETURN };

struct train_config {
    struct rl_method method;
    const struct loss *loss;
    struct loss_config loss_config;
    struct lm_adam adam;
    enum lm_schedule schedule, sft_schedule;
    bool ratio_trained;
    enum train_measure measure;
    struct train_backend_options backend; /* but for `cancelled` */
    struct train_backend_sampling sampling, evaluation;
};

/* ERR_INPUT names the setting, and the nearest word. */
NODISCARD int train_config_read(struct train_config *config, const struct settings *settings,
                                struct err *err);

/* Of episodes: what train.* says beside gym.*. A new reference. */
json_t *train_config_episode(const struct train_config *config, const struct settings *settings,
                             const char *reward);
