/* device: the parts of a "device" of prompts, for device.c (this machine) and fleet.c (workers).
 * Threads: pure. Ownership: arguments are taken over; new references. */
#pragma once

#include <jansson.h>

/* Facts of a GPU that this process cannot look at: nothing is known of the compilers there. */
json_t *device_gpu_elsewhere(json_t *facts);
/* Either may be null. */
json_t *device_json(json_t *cpu, json_t *gpu);
