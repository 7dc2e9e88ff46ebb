#include "policy/retry.h"

/* Without Retry-After: half of the longest pause plus a random part of the other half; with it:
 * Retry-After plus the random part. */
static int64_t next_pause_ms(const struct retry *retry, int64_t backoff_ms, int64_t retry_after_ms,
                             uint64_t lot)
{
    int64_t longest = backoff_ms;
    for (int64_t i = 1; i < retry->failures && longest < RETRY_PAUSE_MAX_MS; i++)
        longest *= 2;
    if (longest > RETRY_PAUSE_MAX_MS)
        longest = RETRY_PAUSE_MAX_MS;
    int64_t half = longest / 2;
    return (retry_after_ms > half ? retry_after_ms : half) +
           (int64_t)(lot % (uint64_t)(longest - half + 1));
}

int64_t retry_pause_ms(struct retry *retry, const struct retry_rules *rules, enum retry_kind kind,
                       int64_t retry_after_ms, int64_t now_ns, uint64_t lot)
{
    int64_t budget_ms = rules->budget_ms;
    if (kind == RETRY_NEVER)
        return RETRY_STOP;
    retry->failures++;
    int64_t pause = next_pause_ms(retry, rules->backoff_ms, retry_after_ms, lot);
    if (kind == RETRY_BROKEN) {
        retry->away_ns = 0;
        return ++retry->broken < rules->attempts ? pause : RETRY_STOP;
    }
    if (kind == RETRY_UNREACHED && budget_ms > RETRY_UNREACHED_MS)
        budget_ms = RETRY_UNREACHED_MS;
    if (retry->away_ns == 0)
        retry->away_ns = now_ns;
    return (now_ns - retry->away_ns) / 1000000 + pause > budget_ms ? RETRY_STOP : pause;
}
