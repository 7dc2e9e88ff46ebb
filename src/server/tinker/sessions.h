/* sessions: clients, each as long as its heartbeats come.
 *
 * When a session ends, by itself or after tinker.session_timeout_ms, its runs are closed and its
 * samplers go, with the weights that only they name. Sessions outlive the server: one of before a
 * restart is taken up again when it is named. "With the lock" is that of state.h.
 */
#pragma once

#include <stdbool.h>

struct tinker_service;

/* With the lock: whether there is such a session. */
bool tinker_session_find(struct tinker_service *service, const char *id);
/* Whether it is on disk. */
bool tinker_session_known(const struct tinker_service *service, const char *id);
/* Without the lock. */
void tinker_sessions_expire(struct tinker_service *service);

/* At the start: those of an earlier server that were not used for long go. */
void tinker_sessions_clean(struct tinker_service *service);
void tinker_sessions_free(struct tinker_service *service);
