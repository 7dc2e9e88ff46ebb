/* fleet: the workers that live, as their notes on the queue's board tell.
 *
 * A snapshot that the keeper renews about once a second. Notes are data from other machines: what
 * they lack is taken as not there.
 *
 * Threads: any function from any thread. Ownership: JSON values handed out are the caller's.
 */
#ifndef WARPGYM_SERVER_FLEET_H
#define WARPGYM_SERVER_FLEET_H

#include "base/err.h"
#include "base/hash.h"
#include "queue/queue.h"

#include <jansson.h>
#include <stdbool.h>

struct fleet;

struct fleet *fleet_new(void);
void fleet_free(struct fleet *fleet);

/* Reads the board again. On an error the old snapshot stays. */
NODISCARD int fleet_refresh(struct fleet *fleet, struct queue *queue, struct err *err);

/* The notes, in the order of their names. */
json_t *fleet_workers(struct fleet *fleet);
/* How many workers take jobs (they do not drain), with a GPU or at all. */
size_t fleet_taking(struct fleet *fleet, bool gpu);
/* Of the device models that would judge a job of these needs; false: nobody would. */
bool fleet_models(struct fleet *fleet, const char *needs, char hex[HASH_HEX_BYTES]);

#endif
