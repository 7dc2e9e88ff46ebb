/* doctor: the parts of its report. */
#pragma once

#include "base/buf.h"
#include "judge/capabilities.h"

#include <jansson.h>
#include <stdbool.h>

struct report {
    struct buf *out;
    bool colour;
};

/* "  ok  name   text", or with "--" if something is missing. */
void doctor_line(struct report *report, bool good, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* null for "". */
json_t *doctor_text(const char *text);
/* GPUs, and NVIDIA's libraries. */
void doctor_gpus(struct report *report, const struct capabilities *found);
void doctor_gpus_json(json_t *object, const struct capabilities *found);
