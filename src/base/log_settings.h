/* log_settings: the section log.*. */
#pragma once

#include "base/log.h"
#include "base/settings.h"

struct log_settings {
    enum log_level level;
    enum log_format format;
};
SETTINGS_OF(log)
