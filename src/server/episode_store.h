/* episode_store: episodes between requests, as documents of the queue, so that any server on it
 * can continue them, and a restart loses none.
 *
 * A document is {"state": episode.h's, "notes": object, "expires_s", "expires_ms"}. A writer
 * passes the version that it read; of two writers, the second reads again.
 *
 * Threads: any, each with its own struct stored; calls block. */
#pragma once

#include "base/err.h"
#include "gym/episode/episode.h"
#include "queue/queue.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define EPISODE_EXPIRES_S 3600
#define EPISODE_EXPIRES_MOST_S 2592000

struct stored {
    struct episode *episode;
    json_t *notes; /* an object; NULL: none */
    int64_t expires_s;
    int64_t version;    /* 0: never written */
    int64_t expires_ms; /* wall clock, for people: the store measures time itself */
};

void stored_deinit(struct stored *stored);

/* `stored` is zeroed. ERR_MISSING: no such episode, it has expired, or its problem has changed. */
NODISCARD int episode_store_get(struct queue *queue, struct gym *gym, const char *id,
                                struct stored *stored, struct err *err);
/* *written false: another writer was first. Restarts its lifetime. */
NODISCARD int episode_store_put(struct queue *queue, struct stored *stored, bool *written,
                                struct err *err);
NODISCARD int episode_store_remove(struct queue *queue, const char *id, bool *removed,
                                   struct err *err);

/* An episode as the API shows it (docs/guide/gym.md), a new reference. */
json_t *episode_view(const struct stored *stored);
/* The "step" of a turn that has ended; null for any other. */
json_t *episode_step_view(const struct stored *stored, int64_t turn);
