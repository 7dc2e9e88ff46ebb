/* batch: aggregate state of a batch's members. Implemented in api/batches.c. */
#pragma once

#include "server/internal.h"

struct batch_counts {
    size_t count, states[QUEUE_STATES];
    struct {
        char name[QUEUE_WORD_BYTES];
        size_t count;
    } outcomes[QUEUE_OUTCOMES_MAX];
    size_t outcome_count;
};

void batch_counts_add(struct batch_counts *counts, const struct queue_job *job);
bool batch_counts_ended(const struct batch_counts *counts);
/* {"id", "count", "states", "outcomes"} */
json_t *batch_counts_json(const char *id, const struct batch_counts *counts);
/* Calls `each` for every member, newest first. ERR_MISSING: no member. */
NODISCARD int batch_each(struct service *service, const char *id,
                         void (*each)(void *context, const struct queue_job *job), void *context,
                         struct err *err);
