#include "queue/redis.h"

#include <string.h>

/* Sends a HMGET and releases its words. The first field of what exists is never nil. */
static int read_fields(struct redis_store *store, struct redis_words *words, const char *kind,
                       const char *name, redisReply **reply, struct err *err)
{
    int result = redis_call(store, words, reply, err);
    redis_words_deinit(words);
    if (result < 0)
        return result;
    if ((*reply)->type == REDIS_REPLY_ERROR)
        result = redis_refused(store, *reply, err);
    else if ((*reply)->type == REDIS_REPLY_ARRAY && (*reply)->elements > 0 &&
             (*reply)->element[0]->type == REDIS_REPLY_NIL)
        result = err_set(err, ERR_MISSING, "queue: no %s '%s'", kind, name);
    if (result < 0)
        freeReplyObject(*reply);
    return result;
}

/* No script: status reads are a server's most frequent call. */
int redis_get(struct queue *queue, const char *id, unsigned bodies, struct queue_job *job,
              struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words = {0};
    redisReply *reply;
    redis_words_add(&words, "ss", "HMGET", arena_printf(&words.arena, REDIS_PREFIX "job:%s", id));
    for (const char *at = redis_fields; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        redis_words_bytes(&words, at, length);
        at += length;
    }
    if (bodies & QUEUE_PAYLOAD)
        redis_words_add(&words, "s", "payload");
    if (bodies & QUEUE_RESULT)
        redis_words_add(&words, "s", "result");
    int result = read_fields(store, &words, "job", id, &reply, err);
    if (result < 0)
        return result;
    if (!redis_reply_job(reply, bodies, job))
        result = redis_reply_strange(store, err);
    freeReplyObject(reply);
    return result;
}

int redis_find(struct queue *queue, const char *key, unsigned bodies, struct queue_job *job,
               struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_FIND, &words, "si", key, (int64_t)bodies);
    int result = redis_script(store, REDIS_FIND, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    if (reply->elements == 0)
        result = err_set(err, ERR_MISSING, "queue: no result for '%s'", key);
    else if (!redis_reply_job(reply, bodies, job))
        result = redis_reply_strange(store, err);
    freeReplyObject(reply);
    return result;
}

int redis_list(struct queue *queue, const struct queue_filter *filter, struct queue_job *jobs,
               size_t limit, size_t *count, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_LIST, &words, "is", (int64_t)filter->state, filter->batch);
    if (filter->before > 0)
        redis_words_add(&words, "i", filter->before);
    else
        redis_words_add(&words, "s", "+inf");
    redis_words_add(&words, "ii", (int64_t)limit, (int64_t)filter->bodies);
    int result = redis_script(store, REDIS_LIST, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < reply->elements && *count < limit && result == 0; i++) {
        if (redis_reply_job(reply->element[i], filter->bodies, &jobs[*count]))
            (*count)++;
        else
            result = redis_reply_strange(store, err);
    }
    freeReplyObject(reply);
    return result;
}

int redis_registrations(struct queue *queue, struct queue_registration *registrations, size_t limit,
                        size_t *count, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_REGISTRATIONS, &words, "i", (int64_t)limit);
    int result = redis_script(store, REDIS_REGISTRATIONS, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i + 1 < reply->elements && *count < limit; i += 2) {
        const redisReply *bytes = reply->element[i + 1];
        struct queue_registration *registration = &registrations[(*count)++];
        redis_reply_text(reply->element[i], registration->name, sizeof registration->name);
        registration->count = bytes->type == REDIS_REPLY_STRING ? bytes->len : 0;
        registration->bytes = mem_copy(bytes->str, registration->count);
    }
    freeReplyObject(reply);
    return 0;
}

/* No script needed: one command, as in redis_get. */
int redis_document_get(struct queue *queue, const char *name, struct queue_document *document,
                       struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words = {0};
    redisReply *reply;
    redis_words_add(&words, "sssss", "HMGET",
                    arena_printf(&words.arena, REDIS_PREFIX "document:%s", name), "version",
                    "expires_ms", "bytes");
    int result = read_fields(store, &words, "document", name, &reply, err);
    if (result < 0)
        return result;
    if (!redis_reply_document(reply, document))
        result = redis_reply_strange(store, err);
    freeReplyObject(reply);
    return result;
}

#define STATS_FIELDS (2 * QUEUE_PRIORITIES + 5)

static void read_ended(const redisReply *pairs, struct queue_stats *stats)
{
    for (size_t i = 0; i + 1 < pairs->elements && stats->ended_count < QUEUE_OUTCOMES_MAX; i += 2) {
        size_t at = stats->ended_count++;
        redis_reply_text(pairs->element[i], stats->ended[at].outcome, QUEUE_WORD_BYTES);
        stats->ended[at].count = (uint64_t)redis_reply_number(pairs->element[i + 1], 0);
    }
}

int redis_stats(struct queue *queue, struct queue_stats *stats, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_STATS, &words, "");
    int result = redis_script(store, REDIS_STATS, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    if (reply->elements == STATS_FIELDS &&
        reply->element[STATS_FIELDS - 1]->type == REDIS_REPLY_ARRAY) {
        redisReply *const *at = reply->element;
        for (size_t i = 0; i < QUEUE_PRIORITIES; i++, at += 2) {
            stats->priorities[i].depth = (uint64_t)redis_reply_number(at[0], 0);
            stats->priorities[i].oldest_ms = redis_reply_number(at[1], 0);
        }
        stats->running = (uint64_t)redis_reply_number(at[0], 0);
        stats->kept = (uint64_t)redis_reply_number(at[1], 0);
        stats->lost_leases = (uint64_t)redis_reply_number(at[2], 0);
        stats->documents = (uint64_t)redis_reply_number(at[3], 0);
        read_ended(at[4], stats);
    } else {
        result = redis_reply_strange(store, err);
    }
    freeReplyObject(reply);
    return result;
}
