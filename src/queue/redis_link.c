#include "base/array.h"
#include "base/clock.h"
#include "queue/redis.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#define IDLE_MAX 64
#define BACK_OFF_MS 20 /* doubled at each retry */
#define BACK_OFF_MAX_MS 1000

void redis_words_deinit(struct redis_words *words)
{
    mem_free(words->items);
    mem_free(words->sizes);
    arena_deinit(&words->arena);
    *words = (struct redis_words){0};
}

void redis_words_bytes(struct redis_words *words, const void *bytes, size_t count)
{
    if (words->count == words->capacity) {
        words->capacity = words->capacity ? words->capacity * 2 : 32;
        words->items = mem_resize(words->items, words->capacity * sizeof *words->items);
        words->sizes = mem_resize(words->sizes, words->capacity * sizeof *words->sizes);
    }
    words->items[words->count] = count ? bytes : "";
    words->sizes[words->count++] = count;
}

void redis_words_vadd(struct redis_words *words, const char *kinds, va_list args)
{
    for (; *kinds; kinds++) {
        const char *text = "";
        size_t count = 0;
        if (*kinds == 'i')
            text = arena_printf(&words->arena, "%lld", (long long)va_arg(args, int64_t));
        else if (*kinds == 'f')
            text = va_arg(args, int) ? "1" : "0";
        else
            text = va_arg(args, const char *);
        if (*kinds == 'b')
            count = va_arg(args, size_t);
        else if (text)
            count = strlen(text);
        redis_words_bytes(words, text, count);
    }
}

void redis_words_add(struct redis_words *words, const char *kinds, ...)
{
    va_list args;
    va_start(args, kinds);
    redis_words_vadd(words, kinds, args);
    va_end(args);
}

int redis_broken(const struct redis_store *store, const redisContext *context, struct err *err)
{
    const char *name = store->url.name;
    if (!context)
        return err_set(err, ERR_IO, "queue: %s: out of memory", name);
    if (context->err == REDIS_ERR_PROTOCOL || context->err == REDIS_ERR_OOM)
        return err_set(err, ERR_PROTOCOL, "queue: %s is not a Redis server: %s", name,
                       context->errstr);
    /* The errors of SO_RCVTIMEO and of a connect that takes too long. */
    bool late = context->err == REDIS_ERR_IO && (errno == EAGAIN || errno == ETIMEDOUT);
    if (late || strstr(context->errstr, "timed out"))
        return err_set(err, ERR_TIMEOUT, "queue: no answer from %s", name);
    return err_set(err, ERR_IO, "queue: cannot reach %s: %s", name, context->errstr);
}

static bool reply_begins(const redisReply *reply, const char *word)
{
    return strncmp(reply->str, word, strlen(word)) == 0;
}

int redis_refused(const struct redis_store *store, const redisReply *reply, struct err *err)
{
    static const struct {
        const char *word;
        int code;
        const char *text;
    } known[] = {
        {"OOM", ERR_LIMIT, "has no memory left (maxmemory); nothing was written"},
        {"MISCONF", ERR_LIMIT, "cannot save to its disk; nothing was written"},
        {"NOAUTH", ERR_INPUT, "requires a login: redis://user:password@…"},
        {"WRONGPASS", ERR_INPUT, "rejects this user and password"},
        {"NOPERM", ERR_INPUT, "does not permit this user to run scripts on " REDIS_PREFIX "*"},
        {"WRONGTYPE", ERR_PROTOCOL,
         "holds another program's data under " REDIS_PREFIX "*; use another database (…/1)"},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        if (reply_begins(reply, known[i].word))
            return err_set(err, known[i].code, "queue: %s %s", store->url.name, known[i].text);
    return err_set(err, ERR_IO, "queue: error from %s: %.300s", store->url.name, reply->str);
}

/* A transient error: the server is starting, or about to be replaced. */
static bool reply_is_transient(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           (reply_begins(reply, "LOADING") || reply_begins(reply, "READONLY") ||
            reply_begins(reply, "MASTERDOWN") || reply_begins(reply, "BUSY "));
}

static struct timeval timeval_of(int ms)
{
    ms = ms < 1 ? 1 : ms;
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};
}

static int expect_ok(const struct redis_store *store, redisContext *context, redisReply *reply,
                     struct err *err)
{
    int result = !reply                             ? redis_broken(store, context, err)
                 : reply->type == REDIS_REPLY_ERROR ? redis_refused(store, reply, err)
                                                    : 0;
    freeReplyObject(reply);
    return result;
}

static int connection_greet(struct redis_store *store, redisContext *context, struct err *err)
{
    const struct redis_url *url = &store->url;
    int result = 0;
    if (*url->user)
        result = expect_ok(store, context,
                           redisCommand(context, "AUTH %s %s", url->user, url->password), err);
    else if (*url->password)
        result = expect_ok(store, context, redisCommand(context, "AUTH %s", url->password), err);
    if (result == 0 && url->database > 0)
        result = expect_ok(store, context, redisCommand(context, "SELECT %d", url->database), err);
    return result;
}

int redis_connect(struct redis_store *store, int timeout_ms, redisContext **out, struct err *err)
{
    struct timeval timeout = timeval_of(timeout_ms);
    redisContext *context = redisConnectWithTimeout(store->url.host, store->url.port, timeout);
    int result = !context || context->err ? redis_broken(store, context, err) : 0;
    if (result == 0 && (redisSetTimeout(context, timeout) != REDIS_OK ||
                        redisEnableKeepAlive(context) != REDIS_OK))
        result = redis_broken(store, context, err);
    if (result == 0 && context) {
        redis_reply_bound(&store->functions, context->reader);
        result = connection_greet(store, context, err);
    }
    if (result < 0 && context)
        redisFree(context);
    *out = result < 0 ? NULL : context;
    return result;
}

static void link_free(struct redis_link *link)
{
    redisFree(link->context);
    mem_free(link);
}

/* An idle connection has no input; if it is readable, the server has closed it. */
static bool link_is_alive(const struct redis_link *link)
{
    struct pollfd polled = {.fd = link->context->fd, .events = POLLIN};
    return poll(&polled, 1, 0) == 0;
}

static struct redis_link *link_take_idle(struct redis_store *store)
{
    pthread_mutex_lock(&store->pool_lock);
    struct redis_link *link = store->idle;
    if (link) {
        store->idle = link->next;
        store->idle_count--;
    }
    pthread_mutex_unlock(&store->pool_lock);
    return link;
}

static int link_take(struct redis_store *store, int timeout_ms, struct redis_link **out,
                     struct err *err)
{
    struct redis_link *link;
    while ((link = link_take_idle(store)) && !link_is_alive(link))
        link_free(link);
    *out = link;
    if (link) {
        if (redisSetTimeout(link->context, timeval_of(timeout_ms)) == REDIS_OK)
            return 0;
        int result = redis_broken(store, link->context, err);
        link_free(link);
        return result;
    }
    redisContext *context;
    int result = redis_connect(store, timeout_ms, &context, err);
    if (result < 0)
        return result;
    *out = mem_alloc(sizeof **out);
    (*out)->context = context;
    return 0;
}

static void link_give(struct redis_store *store, struct redis_link *link)
{
    pthread_mutex_lock(&store->pool_lock);
    bool keep = store->idle_count < IDLE_MAX;
    if (keep) {
        link->next = store->idle;
        store->idle = link;
        store->idle_count++;
    }
    pthread_mutex_unlock(&store->pool_lock);
    if (!keep)
        link_free(link);
}

void redis_pool_close(struct redis_store *store)
{
    struct redis_link *link;
    while ((link = link_take_idle(store)))
        link_free(link);
}

/* 1: retry. */
static int call_once(struct redis_store *store, const struct redis_words *words, int timeout_ms,
                     redisReply **reply, struct err *err)
{
    struct redis_link *link;
    int result = link_take(store, timeout_ms, &link, err);
    if (result < 0)
        return result == ERR_IO ? 1 : result;
    *reply = redisCommandArgv(link->context, (int)words->count, words->items, words->sizes);
    if (!*reply) {
        result = redis_broken(store, link->context, err);
        link_free(link);
        return result == ERR_IO ? 1 : result;
    }
    if (reply_is_transient(*reply)) {
        (void)!redis_refused(store, *reply, err);
        freeReplyObject(*reply);
        *reply = NULL;
        /* The address may belong to another server now than on this connection. */
        link_free(link);
        return 1;
    }
    link_give(store, link);
    return 0;
}

static void back_off(int tries, int left_ms)
{
    int ms = tries < 6 ? BACK_OFF_MS << tries : BACK_OFF_MAX_MS;
    ms = ms > BACK_OFF_MAX_MS ? BACK_OFF_MAX_MS : ms;
    /* Jitter, so that clients do not all return to a restarted server at the same instant. */
    ms = ms / 2 + (int)(clock_secret() % (uint64_t)(ms / 2));
    ms = ms < left_ms ? ms : left_ms;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

int redis_call(struct redis_store *store, const struct redis_words *words, redisReply **reply,
               struct err *err)
{
    return redis_call_within(store, words, store->queue.options.call_ms, reply, err);
}

int redis_call_within(struct redis_store *store, const struct redis_words *words, int within_ms,
                      redisReply **reply, struct err *err)
{
    int64_t deadline_ns = clock_now_ns() + (int64_t)within_ms * 1000000;
    struct err last = {0};
    *reply = NULL;
    for (int tries = 0;; tries++) {
        int result = call_once(store, words, clock_left_ms(deadline_ns), reply, &last);
        int left_ms = clock_left_ms(deadline_ns);
        if (result == 0)
            return 0;
        if (result < 0 || left_ms == 0) {
            if (err)
                *err = last;
            return last.code;
        }
        back_off(tries, left_ms);
    }
}
