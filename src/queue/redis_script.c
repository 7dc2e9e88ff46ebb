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
LUA(put);
LUA(cancel);
LUA(find);
LUA(list);
LUA(stats);
LUA(claim);
LUA(renew);
LUA(finish);
LUA(fail);
LUA(reap);
LUA(register);
LUA(registrations);
LUA(document_put);
LUA(document_remove);

static const char *const bodies[REDIS_SCRIPTS] = {
    [REDIS_PUT] = redis_lua_put,
    [REDIS_CANCEL] = redis_lua_cancel,
    [REDIS_FIND] = redis_lua_find,
    [REDIS_LIST] = redis_lua_list,
    [REDIS_STATS] = redis_lua_stats,
    [REDIS_CLAIM] = redis_lua_claim,
    [REDIS_RENEW] = redis_lua_renew,
    [REDIS_FINISH] = redis_lua_finish,
    [REDIS_FAIL] = redis_lua_fail,
    [REDIS_REAP] = redis_lua_reap,
    [REDIS_REGISTER] = redis_lua_register,
    [REDIS_REGISTRATIONS] = redis_lua_registrations,
    [REDIS_DOCUMENT_PUT] = redis_lua_document_put,
    [REDIS_DOCUMENT_REMOVE] = redis_lua_document_remove,
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
    for (size_t i = 0; i < REDIS_SCRIPTS; i++) {
        store->scripts[i].text = mem_printf("%s%s", redis_lua_prelude, bodies[i]);
        script_sha(store->scripts[i].text, store->scripts[i].sha);
    }
}

void redis_scripts_deinit(struct redis_store *store)
{
    for (size_t i = 0; i < REDIS_SCRIPTS; i++)
        mem_free(store->scripts[i].text);
}

void redis_script_begin(struct redis_store *store, enum redis_script script,
                        struct redis_words *words)
{
    *words = (struct redis_words){0};
    redis_words_text(words, "EVALSHA");
    redis_words_text(words, store->scripts[script].sha);
    redis_words_text(words, "1");
    redis_words_text(words, REDIS_PREFIX);
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
