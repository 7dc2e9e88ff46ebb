/* What a Redis may answer: hiredis reads it, we make jobs and events of it. And the URL that says
 * where it is. */
#include "queue/redis.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const redisReply *reply, unsigned bodies)
{
    struct queue_job job = {0};
    if (redis_reply_job(reply, bodies, &job)) {
        if (job.sequence < 1 || (unsigned)job.state >= QUEUE_STATES ||
            (unsigned)job.priority >= QUEUE_PRIORITIES || memchr(job.id, 0, sizeof job.id) == NULL)
            abort();
        if (job.payload && job.payload[job.payload_bytes] != '\0')
            abort();
    }
    queue_job_deinit(&job);
}

static void check_document(const redisReply *reply)
{
    struct queue_document document = {0};
    if (redis_reply_document(reply, &document) &&
        (document.version < 1 || !document.bytes || document.bytes[document.count] != '\0'))
        abort();
    queue_document_deinit(&document);
}

static void read_reply(const redisReply *reply)
{
    struct queue_event event;
    char text[16];
    for (unsigned bodies = 0; bodies < 4; bodies++)
        check_job(reply, bodies);
    check_document(reply);
    if (redis_reply_event(reply, &event) && (event.number < 1 || event.id[0] == '\0'))
        abort();
    redis_reply_text(reply, text, sizeof text);
    if (strlen(text) >= sizeof text)
        abort();
    (void)redis_reply_number(reply, -1);
    if (reply->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i < reply->elements; i++)
            read_reply(reply->element[i]);
}

static void read_url(const uint8_t *data, size_t size)
{
    struct redis_url url;
    struct err err = {0};
    char *text = mem_copy(data, size);
    int result = redis_url_parse(&url, text, &err);
    if (result == 0 ? url.port < 1 || url.port > 65535 || url.database < 0 || !*url.host
                    : err.text[0] == '\0')
        abort();
    mem_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    redisReader *reader = redisReaderCreate();
    struct redis_functions functions;
    void *reply = NULL;
    if (!reader)
        return 0;
    redis_reply_functions(&functions, reader);
    redis_reply_bound(&functions, reader);
    redisReaderFeed(reader, (const char *)data, size);
    while (redisReaderGetReply(reader, &reply) == REDIS_OK && reply) {
        read_reply(reply);
        freeReplyObject(reply);
        reply = NULL;
    }
    redisReaderFree(reader);
    read_url(data, size);
    return 0;
}
