#include "queue/redis.h"

static void add_submission(struct redis_words *words, const struct queue_submission *one)
{
    static const struct queue_result none = {.outcome = "", .reason = ""};
    const struct queue_result *known = one->result ? one->result : &none;
    const char *has_result = !one->result ? "0" : known->bytes ? "2" : "1";
    redis_words_add(words, "ssssifbsssfb", one->put_id, one->batch, one->key, one->needs,
                    (int64_t)one->priority, one->force, one->payload, one->payload_bytes,
                    has_result, known->outcome, known->reason, known->answers_key, known->bytes,
                    known->bytes ? known->count : (size_t)0);
}

int redis_put(struct queue *queue, struct queue_submission *submissions, size_t count,
              struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_PUT, &words, "i", (int64_t)count);
    for (size_t i = 0; i < count; i++)
        add_submission(&words, &submissions[i]);
    int result = redis_script(store, REDIS_PUT, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count && result == 0; i++) {
        int64_t put_result = i < reply->elements ? redis_reply_number(reply->element[i], -1) : -1;
        if (put_result < QUEUE_PUT_NEW || put_result > QUEUE_PUT_REPLACED)
            result = redis_reply_strange(store, err);
        submissions[i].put_result = (enum queue_put_result)put_result;
    }
    freeReplyObject(reply);
    return result;
}

int redis_cancel(struct queue *queue, const char *id, enum queue_state *state, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number;
    redis_script_begin(store, REDIS_CANCEL, &words, "s", id);
    int result = redis_script_number(store, REDIS_CANCEL, &words, -1, QUEUE_STATES - 1, &number,
                                     err);
    if (result == 0 && number < 0)
        return err_set(err, ERR_MISSING, "queue: no job '%s'", id);
    if (result == 0)
        *state = (enum queue_state)number;
    return result;
}

int redis_claim(struct queue *queue, const struct queue_claim *claim, struct queue_job *job,
                bool *got, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_CLAIM, &words, "si", claim->worker, claim->lease_ms);
    for (size_t i = 0; i < claim->needs_count; i++)
        redis_words_add(&words, "s", claim->needs[i]);
    *got = false;
    int result = redis_script(store, REDIS_CLAIM, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    if (reply->elements > 0) {
        *got = redis_reply_job(reply, QUEUE_PAYLOAD, job);
        result = *got ? 0 : redis_reply_strange(store, err);
    }
    freeReplyObject(reply);
    return result;
}

int redis_renew(struct queue *queue, const struct queue_job *const *jobs, size_t count,
                int64_t lease_ms, enum queue_lease_state *lease_states, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_RENEW, &words, "i", lease_ms);
    for (size_t i = 0; i < count; i++)
        redis_words_add(&words, "sii", jobs[i]->id, jobs[i]->sequence, jobs[i]->claims);
    int result = redis_script(store, REDIS_RENEW, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count && result == 0; i++) {
        int64_t lease_state = i < reply->elements ? redis_reply_number(reply->element[i], -1) : -1;
        if (lease_state < QUEUE_HELD || lease_state > QUEUE_LOST)
            result = redis_reply_strange(store, err);
        lease_states[i] = (enum queue_lease_state)lease_state;
    }
    freeReplyObject(reply);
    return result;
}

int redis_finish(struct queue *queue, const struct queue_job *job,
                 const struct queue_result *result, enum queue_finish_result *finish_result,
                 struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number;
    redis_script_begin(store, REDIS_FINISH, &words, "siissffb", job->id, job->sequence, job->claims,
                       result->outcome, result->reason, result->answers_key, result->bytes != NULL,
                       result->bytes, result->bytes ? result->count : (size_t)0);
    int code = redis_script_number(store, REDIS_FINISH, &words, QUEUE_FINISHED, QUEUE_REFUSED,
                                   &number, err);
    if (code == 0)
        *finish_result = (enum queue_finish_result)number;
    return code;
}

int redis_fail(struct queue *queue, const struct queue_job *job, const char *reason, bool counts,
               struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number;
    redis_script_begin(store, REDIS_FAIL, &words, "siisfi", job->id, job->sequence, job->claims,
                       reason, counts, (int64_t)queue->options.attempts);
    return redis_script_number(store, REDIS_FAIL, &words, 0, 0, &number, err);
}

int redis_reap(struct queue *queue, struct queue_reaping *reaping, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    const struct queue_options *options = &queue->options;
    struct redis_words words;
    redisReply *reply;
    redis_script_begin(store, REDIS_REAP, &words, "iiii", (int64_t)options->attempts,
                       options->keep_ms, (int64_t)options->keep_jobs, (int64_t)options->keep_bytes);
    int result = redis_script(store, REDIS_REAP, &words, REDIS_REPLY_ARRAY, &reply, err);
    if (result < 0)
        return result;
    if (reply->elements == 5)
        *reaping =
            (struct queue_reaping){.returned = (uint64_t)redis_reply_number(reply->element[0], 0),
                                   .lost = (uint64_t)redis_reply_number(reply->element[1], 0),
                                   .removed = (uint64_t)redis_reply_number(reply->element[2], 0),
                                   .more = redis_reply_number(reply->element[3], 0) == 1,
                                   .expired = (uint64_t)redis_reply_number(reply->element[4], 0)};
    else
        result = redis_reply_strange(store, err);
    freeReplyObject(reply);
    return result;
}

int redis_register(struct queue *queue, const char *name, const void *bytes, size_t count,
                   int64_t keep_ms, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number;
    redis_script_begin(store, REDIS_REGISTER, &words, "sbi", name, bytes, count, keep_ms);
    return redis_script_number(store, REDIS_REGISTER, &words, 0, 0, &number, err);
}

int redis_document_put(struct queue *queue, const char *name, const void *bytes, size_t count,
                       int64_t version, int64_t keep_ms, bool *written, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number = 0;
    redis_script_begin(store, REDIS_DOCUMENT_PUT, &words, "siib", name, version, keep_ms, bytes,
                       count);
    int result = redis_script_number(store, REDIS_DOCUMENT_PUT, &words, 0, 1, &number, err);
    *written = result == 0 && number == 1;
    return result;
}

int redis_document_remove(struct queue *queue, const char *name, bool *removed, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number = 0;
    redis_script_begin(store, REDIS_DOCUMENT_REMOVE, &words, "s", name);
    int result = redis_script_number(store, REDIS_DOCUMENT_REMOVE, &words, 0, 1, &number, err);
    *removed = result == 0 && number == 1;
    return result;
}
