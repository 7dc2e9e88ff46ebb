/* value: elements between the host's f32 and a backend's memory and element type. */
#pragma once

#include "lm/ops/backend.h"

/* Elements that are moved at once: enough for speed, little enough for the host. */
#define LM_VALUE_PIECE ((size_t)1 << 18)

/* Elements first..first+count-1 of `array`, which is the backend's. */
void lm_value_put(struct lm_backend *backend, void *array, size_t first, const float *values,
                  size_t count);
void lm_value_get(struct lm_backend *backend, const void *array, size_t first, float *values,
                  size_t count);
