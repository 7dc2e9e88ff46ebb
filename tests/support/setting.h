/* setting: one setting of a test. */
#pragma once

#include "base/settings.h"
#include "test.h"

static inline void set(struct settings *settings, const char *assignment)
{
    struct err err = {0};
    assert_ok(settings_assign(settings, assignment, &err), &err);
}
