/* retry: when to repeat a request to an endpoint, and when to stop.
 *
 *   busy        the endpoint says so (429, 503), or is unreachable after it has answered before:
 *               until the retry budget, counted from the first such failure, is spent
 *   broken      a 500, a lost connection, a truncated answer: at most `attempts` of these
 *   unreached   the endpoint has never answered: the budget is RETRY_UNREACHED_MS, because the
 *               address may be mistyped
 *
 * Pauses double from `backoff_ms` to RETRY_PAUSE_MAX_MS; each is drawn at random between half of
 * that and all of it, so that requests that failed together are spread out. A Retry-After is
 * honoured, with the random part added. Pure: the caller supplies time and random number.
 */
#pragma once

#include <stdint.h>

#define RETRY_PAUSE_MAX_MS 30000
#define RETRY_UNREACHED_MS 3000

enum retry_kind { RETRY_NEVER, RETRY_BUSY, RETRY_BROKEN, RETRY_UNREACHED };

struct retry_rules {
    int64_t budget_ms, backoff_ms;
    int64_t attempts; /* attempts that may end as broken */
};

/* State of one request; zeroed at its beginning. */
struct retry {
    int64_t away_ns; /* start of the current busy or unreachable spell; 0: none */
    int64_t failures, broken;
};

#define RETRY_STOP (-1)

/* The pause before the next attempt, or RETRY_STOP. */
int64_t retry_pause_ms(struct retry *retry, const struct retry_rules *rules, enum retry_kind kind,
                       int64_t retry_after_ms, int64_t now_ns, uint64_t lot);
