#include "queue/arguments.h"

#include "base/file.h"
#include "base/limits.h"

#include <inttypes.h>
#include <string.h>

static int check_text(const char *what, const char *text, size_t max_bytes, struct err *err)
{
    size_t count = strlen(text);
    if (count == 0 || count > max_bytes)
        return err_set(err, ERR_INPUT, "queue: %s has %zu bytes; 1 to %zu are allowed", what, count,
                       max_bytes);
    for (size_t i = 0; i < count; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return err_set(err, ERR_INPUT, "queue: %s has a control character at byte %zu", what,
                           i + 1);
    struct err ignored;
    if (file_check_text(what, text, count, &ignored) < 0)
        return err_set(err, ERR_INPUT, "queue: %s is blank, or not UTF-8", what);
    return 0;
}

static int check_word(const char *what, const char *word, struct err *err)
{
    size_t count = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (count == 0 || word[count] != '\0' || count >= QUEUE_WORD_BYTES)
        return err_set(err, ERR_INPUT, "queue: %s '%.40s' is not 1 to %d of a-z, 0-9, _ and -",
                       what, word, QUEUE_WORD_BYTES - 1);
    return 0;
}

int queue_check_id(const char *what, const char *id, struct err *err)
{
    return check_text(what, id, QUEUE_ID_BYTES - 1, err);
}

static int check_submission(const struct queue_submission *one, struct err *err)
{
    if (one->id && queue_check_id("id", one->id, err) < 0)
        return ERR_INPUT;
    if (one->batch && queue_check_id("batch", one->batch, err) < 0)
        return ERR_INPUT;
    if (one->key && queue_check_id("key", one->key, err) < 0)
        return ERR_INPUT;
    if ((unsigned)one->priority >= QUEUE_PRIORITIES)
        return err_set(err, ERR_INPUT, "queue: priority %d is not 0 to 3", (int)one->priority);
    if (one->payload_bytes > LIMIT_QUEUE_BODY_BYTES)
        return err_set(err, ERR_LIMIT, "queue: a payload of %zu bytes; the limit is %zu",
                       one->payload_bytes, LIMIT_QUEUE_BODY_BYTES);
    int result = check_word("needs", one->needs, err);
    return result < 0 || !one->result ? result : queue_check_result(one->result, err);
}

int queue_check_put(const struct queue_submission *submissions, size_t count, struct err *err)
{
    size_t bytes = 0;
    if (count > LIMIT_QUEUE_PUT_JOBS)
        return err_set(err, ERR_LIMIT, "queue: %zu jobs in one call; the limit is %d", count,
                       LIMIT_QUEUE_PUT_JOBS);
    for (size_t i = 0; i < count; i++) {
        int result = check_submission(&submissions[i], err);
        if (result < 0)
            return result;
        bytes += submissions[i].payload_bytes;
        if (submissions[i].result)
            bytes += submissions[i].result->count;
    }
    if (bytes > LIMIT_QUEUE_PUT_BYTES)
        return err_set(err, ERR_LIMIT, "queue: %zu bytes in one call; the limit is %zu", bytes,
                       LIMIT_QUEUE_PUT_BYTES);
    return 0;
}

int queue_check_claim(const struct queue_claim *claim, struct err *err)
{
    if (claim->needs_count == 0 || claim->needs_count > QUEUE_NEEDS_MAX)
        return err_set(err, ERR_INPUT, "queue: a claim names 1 to %d needs, not %zu",
                       QUEUE_NEEDS_MAX, claim->needs_count);
    for (size_t i = 0; i < claim->needs_count; i++)
        if (check_word("needs", claim->needs[i], err) < 0)
            return ERR_INPUT;
    if (claim->lease_ms != 0 && queue_check_lease(claim->lease_ms, err) < 0)
        return ERR_INPUT;
    return check_text("worker name", claim->worker, QUEUE_NAME_BYTES - 1, err);
}

int queue_check_lease(int64_t lease_ms, struct err *err)
{
    if (lease_ms < 1 || lease_ms > QUEUE_LEASE_MAX_MS)
        return err_set(err, ERR_INPUT, "queue: a lease of %" PRId64 " ms; 1 to %d are allowed",
                       lease_ms, QUEUE_LEASE_MAX_MS);
    return 0;
}

int queue_check_result(const struct queue_result *result, struct err *err)
{
    if (result->count > LIMIT_QUEUE_BODY_BYTES)
        return err_set(err, ERR_LIMIT, "queue: a result of %zu bytes; the limit is %zu",
                       result->count, LIMIT_QUEUE_BODY_BYTES);
    return check_word("outcome", result->outcome, err);
}
