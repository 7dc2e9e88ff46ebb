/* launch_type: what a size may be passed as, for launch.c and launch_plan.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct launch_type {
    const char *name;
    uint32_t bytes;
    bool floating;
    double low, high; /* whole numbers that it holds */
};

extern const struct launch_type launch_types[]; /* the first is size_t */
extern const uint32_t launch_type_count;
