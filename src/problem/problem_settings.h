/* problem_settings: the section problems.*. */
#pragma once

#include "base/settings.h"

struct problems_settings {
    const char *path; /* directories, separated by colons */
};
SETTINGS_OF(problems)
