/* arguments: validates those of queue.h's functions. ERR_INPUT or ERR_LIMIT; the text names
 * the argument and the reason. */
#pragma once

#include "queue/queue.h"

#define QUEUE_LEASE_MAX_MS 3600000

NODISCARD int queue_check_id(const char *what, const char *id, struct err *err);
NODISCARD int queue_check_put(const struct queue_submission *submissions, size_t count,
                              struct err *err);
NODISCARD int queue_check_claim(const struct queue_claim *claim, struct err *err);
NODISCARD int queue_check_lease(int64_t lease_ms, struct err *err);
NODISCARD int queue_check_result(const struct queue_result *result, struct err *err);
