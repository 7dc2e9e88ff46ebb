/* setting_pairs: settings from one text, "train.prompts=4 gym.turns=2". */
#pragma once

#include "base/settings.h"

#include <stdio.h>
#include <string.h>

/* Assigns each pair; stops at the first that is refused. NULL is no pair. */
static inline int setting_pairs_assign(struct settings *settings, const char *pairs,
                                       struct err *err)
{
    char copy[2048], *rest = copy;
    int result = 0;
    snprintf(copy, sizeof copy, "%s", pairs ? pairs : "");
    for (char *pair; result == 0 && (pair = strtok_r(rest, " ", &rest));)
        result = settings_assign(settings, pair, err);
    return result;
}
