/* tinker_session: what there is between a client and a Tinker server for as long as it trains: what
 * the server asks for, a session, and a thread that says every ten seconds that we are still there.
 *
 * It goes on when everything else is cancelled, for a last checkpoint needs the session, too.
 * Nobody waits for that thread's calls, and they fail without a word but a warning after two
 * minutes. Threads: the numbers never change.
 */
#ifndef WARPGYM_POLICY_TINKER_SESSION_H
#define WARPGYM_POLICY_TINKER_SESSION_H

#include "policy/tinker_link.h"

struct tinker_session {
    char *id;
    size_t chunk_count, chunk_bytes; /* of one pass, at most */
    size_t context;                  /* of the model; 0: not told */
    struct tinker_heart *heart;
};

/* `options` are those of `link`; the heartbeat has a link of its own, which ends with the session
 * alone. ERR_INPUT where the server does not offer `model`: names the nearest that it does. */
NODISCARD int tinker_session_open(struct tinker_session *session, struct tinker_link *link,
                                  const struct tinker_link_options *options, const char *model,
                                  struct err *err);
/* Of one that was zeroed, too. */
void tinker_session_close(struct tinker_session *session);

#endif
