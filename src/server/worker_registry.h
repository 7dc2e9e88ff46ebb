/* worker_registry: the live workers, from their registrations on the queue.
 *
 * A snapshot that the maintenance thread refreshes about once a second. Registrations are
 * untrusted data from other machines: a missing field counts as absent.
 *
 * Threads: any function from any thread. Ownership: JSON values handed out are the caller's. */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "queue/queue.h"

#include <jansson.h>
#include <stdbool.h>

struct worker_registry;

struct worker_registry *worker_registry_new(void);
void worker_registry_free(struct worker_registry *registry);

/* Reads the registrations again. On an error the old snapshot stays. */
NODISCARD int worker_registry_refresh(struct worker_registry *registry, struct queue *queue,
                                      struct err *err);

/* The registrations, in the order of their names. */
json_t *worker_registry_json(struct worker_registry *registry);
/* Workers that claim jobs (do not drain), with a GPU or at all. */
size_t worker_registry_count(struct worker_registry *registry, bool gpu);
/* Hash of the device models that may run a job with these needs; false: no worker claims them. */
bool worker_registry_models_hash(struct worker_registry *registry, const char *needs,
                                 char hex[HASH_HEX_BYTES]);
