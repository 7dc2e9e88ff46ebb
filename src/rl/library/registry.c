/* The settings that the shared library has: those of a method, and no others. */
#include "base/setting.h"
#include "rl/method/method_settings.h"

static const struct setting_section *const sections[] = {&method_section, NULL};

const struct setting_registry setting_registry = {.sections = sections};
