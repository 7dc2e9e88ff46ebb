/* tinker_session: a session with a Tinker server: its configuration, its id, and a thread that
 * sends a heartbeat every ten seconds.
 *
 * The heartbeat continues after a cancellation, because a last checkpoint needs the session, too.
 * Failed heartbeats cause nothing but a warning after two minutes. Threads: the numbers never
 * change.
 */
#pragma once

#include "policy/tinker_link.h"

struct tinker_session {
    char *id;
    size_t chunk_count, chunk_bytes; /* of one pass, at most */
    size_t context;                  /* of the model; 0: unknown */
    struct tinker_heartbeat *heartbeat;
};

/* Asks for the server's configuration alone: how keys are exchanged, how long a 402 is repeated.
 * *session (NULL: not wanted) gets the sizes of passes. */
NODISCARD int tinker_session_configure(struct tinker_session *session, struct tinker_link *link,
                                       const struct tinker_link_options *options, struct err *err);
/* `options` are those of `link`; the heartbeat has its own link, which ends with the session.
 * ERR_INPUT if the server does not offer `model`, with the nearest name. */
NODISCARD int tinker_session_open(struct tinker_session *session, struct tinker_link *link,
                                  const struct tinker_link_options *options, const char *model,
                                  struct err *err);
/* A zeroed one is fine. */
void tinker_session_close(struct tinker_session *session);
