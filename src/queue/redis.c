#include "queue/redis.h"

#include "base/array.h"
#include "base/log.h"

#include <string.h>

#define SCHEMA_VERSION 1

#define PROBE_MS 1000 /* longest that a health check waits */

/* A command of a few words, separated by spaces. */
static int probe_command(struct redis_store *store, const char *command, int within_ms,
                         redisReply **reply, struct err *err)
{
    struct redis_words words = {0};
    for (const char *at = command; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        redis_words_bytes(&words, at, length);
        at += length;
    }
    int result = redis_call_within(store, &words, within_ms, reply, err);
    redis_words_deinit(&words);
    if (result == 0 && (*reply)->type == REDIS_REPLY_ERROR) {
        result = redis_refused(store, *reply, err);
        freeReplyObject(*reply);
    }
    return result;
}

static int redis_probe(struct queue *queue, struct err *err)
{
    redisReply *reply;
    int result = probe_command((struct redis_store *)queue, "PING", PROBE_MS, &reply, err);
    if (result == 0)
        freeReplyObject(reply);
    return result;
}

static int check_schema(struct redis_store *store, struct err *err)
{
    static const char *const commands[] = {"HSETNX " REDIS_PREFIX "meta schema 1",
                                           "HGET " REDIS_PREFIX "meta schema"};
    int64_t version = 0;
    for (size_t i = 0; i < COUNT(commands); i++) {
        redisReply *reply;
        int result = probe_command(store, commands[i], store->queue.options.call_ms, &reply, err);
        if (result < 0)
            return result;
        version = redis_reply_number(reply, 0);
        freeReplyObject(reply);
    }
    if (version < 1)
        return redis_reply_strange(store, err);
    if (version > SCHEMA_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "queue: %s has schema %d of a newer warpgym (this one supports up to %d)",
                       store->url.name, (int)version, SCHEMA_VERSION);
    return 0;
}

/* Only warnings: the operator may want it so. */
static void log_configuration_warnings(struct redis_store *store)
{
    static const struct {
        const char *line, *remark;
    } rows[] = {
        {"\naof_enabled:0", "this Redis keeps no append-only file: the queue does not survive its "
                            "crash (set appendonly yes, appendfsync always)"},
        {"\nmaxmemory_policy:allkeys", "this Redis evicts keys when it is short of memory, which "
                                       "loses jobs (set maxmemory-policy noeviction)"},
    };
    redisReply *reply;
    if (probe_command(store, "INFO", store->queue.options.call_ms, &reply, NULL) < 0)
        return;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (reply->type == REDIS_REPLY_STRING && strstr(reply->str, rows[i].line))
            log_event(LOG_LEVEL_WARN, "queue", rows[i].remark, "url", store->url.name, NULL);
    freeReplyObject(reply);
}

static void redis_close(struct queue *queue)
{
    struct redis_store *store = (struct redis_store *)queue;
    redis_events_stop(store);
    redis_pool_close(store);
    redis_scripts_deinit(store);
    pthread_mutex_destroy(&store->pool_lock);
    queue_deinit(&store->queue);
    mem_free(store);
}

static int redis_open(struct queue **out, const char *place, const struct queue_options *options,
                      struct err *err)
{
    struct redis_url url;
    int result = redis_url_parse(&url, place, err);
    if (result < 0)
        return result;
    struct redis_store *store = mem_alloc(sizeof *store);
    store->url = url;
    store->event_stop = -1;
    queue_init(&store->queue, &queue_redis, url.name, options);
    pthread_mutex_init(&store->pool_lock, NULL);
    redis_scripts_init(store);
    redisReader *reader = redisReaderCreate();
    if (reader)
        redis_reply_functions(&store->functions, reader);
    redisReaderFree(reader);
    result = reader ? check_schema(store, err) : err_set(err, ERR_IO, "queue: out of memory");
    if (result == 0) {
        log_configuration_warnings(store);
        result = redis_events_start(store, err);
    }
    if (result < 0)
        redis_close(&store->queue);
    else
        *out = &store->queue;
    return result;
}

const struct queue_store queue_redis = {.scheme = "redis://",
                                        .open = redis_open,
                                        .close = redis_close,
                                        .probe = redis_probe,
                                        .put = redis_put,
                                        .cancel = redis_cancel,
                                        .get = redis_get,
                                        .find = redis_find,
                                        .list = redis_list,
                                        .stats = redis_stats,
                                        .claim = redis_claim,
                                        .renew = redis_renew,
                                        .finish = redis_finish,
                                        .fail = redis_fail,
                                        .reap = redis_reap,
                                        .register_worker = redis_register,
                                        .registrations = redis_registrations,
                                        .document_put = redis_document_put,
                                        .document_get = redis_document_get,
                                        .document_remove = redis_document_remove};
