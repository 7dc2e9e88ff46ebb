/* samplers: frozen weights under an id, the base's, a checkpoint's or unnamed ones, until their
 * session ends. They outlive the server. "With the lock" is that of state.h.
 */
#pragma once

#include "base/json.h"
#include "server/tinker/names.h"

struct tinker_service;

/* Without the lock. `number` < 0: the client gave none; path: tinker://…, or NULL; directory: of
 * the adapter, or NULL. */
NODISCARD int tinker_sampler_create(struct tinker_service *service, const char *session,
                                    int64_t number, const char *path, const char *directory,
                                    char id[TINKER_ID_BYTES], struct err *err);
/* Without the lock: copies of what is needed to sample; the caller's (mem_free), *directory NULL:
 * the base. ERR_MISSING. */
NODISCARD int tinker_sampler_find(struct tinker_service *service, const char *id, char **path,
                                  char **directory, struct err *err);

/* With the lock: those of a session. Appends directories of weights that nothing names any more. */
void tinker_samplers_end(struct tinker_service *service, const char *session, json_t *unnamed);
/* With the lock: their ids, a new list. */
json_t *tinker_samplers_of(const struct tinker_service *service, const char *session);

/* At the start: those whose session is gone go, and their unnamed weights. */
void tinker_samplers_clean(struct tinker_service *service);
void tinker_samplers_free(struct tinker_service *service);
