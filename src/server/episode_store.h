/* episode_store: episodes between two requests: documents of the queue, so that any server on it
 * can go on with them, and a restart loses none.
 *
 * A document is {"state": episode.h's, "notes": object, "expires_s", "expires_ms"}. Who changes an
 * episode writes it under the version that he read; of two, the second one reads again.
 *
 * Threads: any, each its own struct stored; they block.
 */
#ifndef WARPGYM_SERVER_EPISODE_STORE_H
#define WARPGYM_SERVER_EPISODE_STORE_H

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
    int64_t version;    /* 0: it was never written */
    int64_t expires_ms; /* wall clock, for people: the store has a clock of its own */
};

void stored_deinit(struct stored *stored);

/* Zeroed before. ERR_MISSING: there is none (any longer), or its problem is another by now. */
NODISCARD int episode_store_get(struct queue *queue, struct gym *gym, const char *id,
                                struct stored *stored, struct err *err);
/* *written false: somebody else wrote it meanwhile. Its time begins anew. */
NODISCARD int episode_store_put(struct queue *queue, struct stored *stored, bool *written,
                                struct err *err);
NODISCARD int episode_store_remove(struct queue *queue, const char *id, bool *removed,
                                   struct err *err);

/* An episode as the API shows it (docs/guide/gym.md), a new reference. */
json_t *episode_view(const struct stored *stored);
/* Its "step" for a turn that is over; null for another. */
json_t *episode_step_view(const struct stored *stored, int64_t turn);

#endif
