#include "base/embed.h"
#include "queue/redis.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LUA(name)                                                                                  \
    extern const char redis_lua_##name[];                                                          \
    EMBED_TEXT(redis_lua_##name, "src/queue/redis/" #name ".lua")

LUA(prelude);
LUA(attempt);
#define X(symbol, name) LUA(name);
REDIS_SCRIPTS(X)
#undef X

static const char *const bodies[] = {
#define X(symbol, name) [symbol] = redis_lua_##name,
    REDIS_SCRIPTS(X)
#undef X
};

/* The SHA-1 by which EVALSHA identifies a script. */
static void script_sha(const char *text, char sha[41])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_Digest(text, strlen(text), digest, &length, EVP_sha1(), NULL) != 1)
        abort();
    for (unsigned i = 0; i < length && i < 20; i++)
        snprintf(sha + (size_t)2 * i, 3, "%02x", digest[i]);
}

void redis_scripts_init(struct redis_store *store)
{
    for (size_t i = 0; i < REDIS_SCRIPT_COUNT; i++) {
        store->scripts[i].text = mem_printf("%s%s%s", redis_lua_prelude, redis_lua_attempt,
                                            bodies[i]);
        script_sha(store->scripts[i].text, store->scripts[i].sha);
    }
}

void redis_scripts_deinit(struct redis_store *store)
{
    for (size_t i = 0; i < REDIS_SCRIPT_COUNT; i++)
        mem_free(store->scripts[i].text);
}

void redis_script_begin(struct redis_store *store, enum redis_script script,
                        struct redis_words *words, const char *kinds, ...)
{
    va_list args;
    *words = (struct redis_words){0};
    redis_words_add(words, "ssss", "EVALSHA", store->scripts[script].sha, "1", REDIS_PREFIX);
    va_start(args, kinds);
    redis_words_vadd(words, kinds, args);
    va_end(args);
}

static bool script_is_unknown(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

int redis_script(struct redis_store *store, enum redis_script script, struct redis_words *words,
                 int type, redisReply **reply, struct err *err)
{
    int result = redis_call(store, words, reply, err);
    if (result == 0 && script_is_unknown(*reply)) {
        /* The server was restarted; EVAL also caches the script again. */
        freeReplyObject(*reply);
        words->items[0] = "EVAL";
        words->sizes[0] = 4;
        words->items[1] = store->scripts[script].text;
        words->sizes[1] = strlen(store->scripts[script].text);
        result = redis_call(store, words, reply, err);
    }
    redis_words_deinit(words);
    if (result < 0)
        return result;
    if ((*reply)->type == REDIS_REPLY_ERROR)
        result = redis_refused(store, *reply, err);
    else if ((*reply)->type != type)
        result = redis_reply_strange(store, err);
    if (result < 0) {
        freeReplyObject(*reply);
        *reply = NULL;
    }
    return result;
}

int redis_script_number(struct redis_store *store, enum redis_script script,
                        struct redis_words *words, int64_t low, int64_t high, int64_t *number,
                        struct err *err)
{
    redisReply *reply;
    int result = redis_script(store, script, words, REDIS_REPLY_INTEGER, &reply, err);
    if (result < 0)
        return result;
    *number = reply->integer;
    freeReplyObject(reply);
    return *number < low || *number > high ? redis_reply_strange(store, err) : 0;
}
