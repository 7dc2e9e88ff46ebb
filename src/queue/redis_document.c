#include "base/array.h"
#include "queue/redis.h"

int redis_document_put(struct queue *queue, const char *name, const void *bytes, size_t count,
                       int64_t version, int64_t keep_ms, bool *written, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number = 0;
    redis_script_begin(store, REDIS_DOCUMENT_PUT, &words);
    redis_words_text(&words, name);
    redis_words_number(&words, version);
    redis_words_number(&words, keep_ms);
    redis_words_bytes(&words, bytes, count);
    int result = redis_script_number(store, REDIS_DOCUMENT_PUT, &words, 0, 1, &number, err);
    *written = result == 0 && number == 1;
    return result;
}

/* Without a script, like redis_get. */
int redis_document_get(struct queue *queue, const char *name, struct queue_document *document,
                       struct err *err)
{
    static const char *const fields[] = {"version", "expires_ms", "bytes"};
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words = {0};
    redisReply *reply;
    redis_words_text(&words, "HMGET");
    redis_words_text(&words, arena_printf(&words.arena, REDIS_PREFIX "document:%s", name));
    for (size_t i = 0; i < COUNT(fields); i++)
        redis_words_text(&words, fields[i]);
    int result = redis_call(store, &words, &reply, err);
    redis_words_deinit(&words);
    if (result < 0)
        return result;
    if (reply->type == REDIS_REPLY_ERROR)
        result = redis_refused(store, reply, err);
    else if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
             reply->element[0]->type == REDIS_REPLY_NIL)
        result = err_set(err, ERR_MISSING, "queue: there is no document '%s'", name);
    else if (!redis_reply_document(reply, document))
        result = redis_reply_strange(store, err);
    freeReplyObject(reply);
    return result;
}

int redis_document_remove(struct queue *queue, const char *name, bool *removed, struct err *err)
{
    struct redis_store *store = (struct redis_store *)queue;
    struct redis_words words;
    int64_t number = 0;
    redis_script_begin(store, REDIS_DOCUMENT_REMOVE, &words);
    redis_words_text(&words, name);
    int result = redis_script_number(store, REDIS_DOCUMENT_REMOVE, &words, 0, 1, &number, err);
    *removed = result == 0 && number == 1;
    return result;
}
