/* retry: when to ask an endpoint again, and when to stop asking.
 *
 *   busy        it says so (429, 503), or is away after it was there: until patience is over, which
 *               is counted from when this began
 *   broken      a 500, a lost connection, an answer that broke off: `attempts` of these
 *   unreached   nobody has ever answered there: a mistyped address is not worth long patience
 *
 * Pauses double from `backoff_ms` to RETRY_PAUSE_MAX_MS; each is half of that at least and all of
 * it at most, by lot, so that questions that failed together come back apart. What the endpoint
 * asks for (Retry-After) is kept to, and the lot comes on top. Pure: the caller tells time and lot.
 */
#ifndef WARPGYM_POLICY_RETRY_H
#define WARPGYM_POLICY_RETRY_H

#include <stdint.h>

#define RETRY_PAUSE_MAX_MS 30000
#define RETRY_UNREACHED_MS 3000

enum retry_kind { RETRY_NEVER, RETRY_BUSY, RETRY_BROKEN, RETRY_UNREACHED };

struct retry_rules {
    int64_t patience_ms, backoff_ms;
    int64_t attempts; /* tries that may end as broken */
};

/* Of one question; zeroed at its beginning. */
struct retry {
    int64_t away_ns; /* since when it is busy or away without a break; 0: it is not */
    int64_t failures, broken;
};

#define RETRY_STOP (-1)

/* How long to rest before the next try, or RETRY_STOP. */
int64_t retry_pause_ms(struct retry *retry, const struct retry_rules *rules, enum retry_kind kind,
                       int64_t retry_after_ms, int64_t now_ns, uint64_t lot);

#endif
