#include "queue/redis.h"

#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In the order of FIELDS in redis/prelude.lua. */
const char redis_fields[] =
    "sequence id batch key needs priority state claims attempt cancel worker put_ms claimed_ms"
    " ended_ms outcome reason payload_bytes result_bytes";
#define FIELDS (size_t)18

int redis_reply_strange(const struct redis_store *store, struct err *err)
{
    return err_set(err, ERR_PROTOCOL,
                   "queue: %s: data under " REDIS_PREFIX
                   "* was not written by this version of warpgym",
                   store->url.name);
}

/* hiredis 1 and later have this type for sizes. */
#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

static void *create_array(const redisReadTask *task, element_count count)
{
    const redisReplyObjectFunctions *standard = task->privdata;
    return count > LIMIT_REDIS_ELEMENTS ? NULL : standard->createArray(task, count);
}

void redis_reply_functions(struct redis_functions *functions, const redisReader *reader)
{
    functions->standard = functions->bounded = *reader->fn;
    functions->bounded.createArray = create_array;
}

void redis_reply_bound(struct redis_functions *functions, redisReader *reader)
{
    reader->fn = &functions->bounded;
    reader->privdata = &functions->standard;
}

static bool is_text(const redisReply *reply)
{
    return reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS);
}

int64_t redis_reply_number(const redisReply *reply, int64_t other)
{
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        return reply->integer;
    if (!is_text(reply) || reply->len == 0)
        return other;
    char *end;
    errno = 0;
    long long number = strtoll(reply->str, &end, 10);
    return errno == 0 && (*end == '\0' || *end == '-') ? number : other;
}

void redis_reply_text(const redisReply *reply, char *out, size_t size)
{
    queue_copy(out, size, is_text(reply) ? reply->str : "", is_text(reply) ? reply->len : 0);
}

static char *take_body(const redisReply *reply)
{
    return is_text(reply) ? mem_copy(reply->str, reply->len) : NULL;
}

bool redis_reply_job(const redisReply *reply, unsigned bodies, struct queue_job *job)
{
    bool payload = bodies & QUEUE_PAYLOAD, result = bodies & QUEUE_RESULT;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != FIELDS + payload + result)
        return false;
    redisReply *const *at = reply->element;
    int64_t priority = redis_reply_number(at[5], -1), state = redis_reply_number(at[6], -1);
    job->sequence = redis_reply_number(at[0], 0);
    if (job->sequence < 1 || priority < 0 || priority >= QUEUE_PRIORITIES || state < 0 ||
        state >= QUEUE_STATES)
        return false;
    redis_reply_text(at[1], job->id, sizeof job->id);
    redis_reply_text(at[2], job->batch, sizeof job->batch);
    redis_reply_text(at[3], job->key, sizeof job->key);
    redis_reply_text(at[4], job->needs, sizeof job->needs);
    job->priority = (enum queue_priority)priority;
    job->state = (enum queue_state)state;
    job->claims = redis_reply_number(at[7], 0);
    job->attempt = (int)redis_reply_number(at[8], 0);
    job->cancel_requested = redis_reply_number(at[9], 0) == 1;
    redis_reply_text(at[10], job->worker, sizeof job->worker);
    job->put_ms = redis_reply_number(at[11], 0);
    job->claimed_ms = redis_reply_number(at[12], 0);
    job->ended_ms = redis_reply_number(at[13], 0);
    redis_reply_text(at[14], job->outcome, sizeof job->outcome);
    redis_reply_text(at[15], job->reason, sizeof job->reason);
    job->payload_bytes = (size_t)redis_reply_number(at[16], 0);
    job->result_bytes = (size_t)redis_reply_number(at[17], 0);
    job->payload = payload ? take_body(at[FIELDS]) : NULL;
    job->result = result ? take_body(at[FIELDS + payload]) : NULL;
    /* The sizes of the bytes that arrived are what readers rely on. */
    if (job->payload)
        job->payload_bytes = at[FIELDS]->len;
    if (job->result)
        job->result_bytes = at[FIELDS + payload]->len;
    return true;
}

bool redis_reply_document(const redisReply *reply, struct queue_document *document)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 || !is_text(reply->element[2]))
        return false;
    document->version = redis_reply_number(reply->element[0], 0);
    document->expires_ms = redis_reply_number(reply->element[1], 0);
    document->count = reply->element[2]->len;
    document->bytes = take_body(reply->element[2]);
    return document->version > 0;
}

bool redis_reply_event(const redisReply *reply, struct queue_event *event)
{
    *event = (struct queue_event){0};
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[1]->type != REDIS_REPLY_ARRAY || reply->element[1]->elements % 2)
        return false;
    event->number = redis_reply_number(reply->element[0], 0);
    int64_t state = -1;
    for (size_t i = 0; i < reply->element[1]->elements; i += 2) {
        const redisReply *key = reply->element[1]->element[i];
        const redisReply *value = reply->element[1]->element[i + 1];
        if (!is_text(key))
            return false;
        if (strcmp(key->str, "id") == 0)
            redis_reply_text(value, event->id, sizeof event->id);
        else if (strcmp(key->str, "batch") == 0)
            redis_reply_text(value, event->batch, sizeof event->batch);
        else if (strcmp(key->str, "state") == 0)
            state = redis_reply_number(value, -1);
        else if (strcmp(key->str, "outcome") == 0)
            redis_reply_text(value, event->outcome, sizeof event->outcome);
        else if (strcmp(key->str, "cancel") == 0)
            event->cancel_requested = redis_reply_number(value, 0) == 1;
    }
    event->state = (enum queue_state)state;
    return event->number > 0 && *event->id && state >= 0 && state < QUEUE_STATES;
}
